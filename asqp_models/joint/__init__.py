"""The joint model: one encoding of a text, from which terms, pairs and their labels are scored together.

Importing this package makes ``AutoConfig`` and ``AutoModel`` know its checkpoints and its own encoder.
"""

from asqp_models.joint.configuration import JointConfig, UnitEncoderConfig
from asqp_models.joint.method import Joint
from asqp_models.joint.modeling import JointModel
from asqp_models.joint.settings import Settings
from asqp_models.joint.unit_encoder import UnitEncoder

__all__ = ["Joint", "JointConfig", "JointModel", "Settings", "UnitEncoder", "UnitEncoderConfig"]
