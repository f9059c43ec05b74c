"""The pipeline baseline Extract-Classify (Cai et al., ACL 2021) over any encoder, as a Hugging Face model.

Importing this package makes ``AutoConfig`` and ``AutoModel`` know its checkpoints.
"""

from asqp_models.extract_classify.configuration import ExtractClassifyConfig
from asqp_models.extract_classify.method import ExtractClassify
from asqp_models.extract_classify.modeling import ExtractClassifyModel
from asqp_models.extract_classify.settings import Settings

__all__ = ["ExtractClassify", "ExtractClassifyConfig", "ExtractClassifyModel", "Settings"]
