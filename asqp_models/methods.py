"""The methods by name: what trains them, and what loads their checkpoints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.schema import Quad, Sample
from asqp_models.hub.locate import locate


class ScoredQuad(NamedTuple):
    """A predicted quad, and how sure the model is of it, in [0, 1]."""

    quad: Quad
    score: float


class Model(Protocol):
    """What every trained method can do."""

    @property
    def config(self) -> dict[str, Any]:
        """The checkpoint's configuration, with an ``asqp`` block that names the method."""

    def predict_batch(self, texts: Sequence[str]) -> list[list[Quad]]:
        """The quads of some texts, with offsets into the untouched text."""

    def predict_scored(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of some texts with their scores; those that reach a threshold, by default the checkpoint's."""

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a checkpoint folder."""


class Method(Protocol):
    """A class that trains and loads a :class:`Model`."""

    keeps_checkpoints: bool
    """Whether ``train`` has epochs: it takes a ``folder`` for the checkpoints from which it goes on, several processes,
    and ``on_best``, called with the model at each epoch that is the best so far."""

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise :class:`UsageError` about a setting that the method does not have, or a value that it cannot have."""

    def train(
        self,
        train: Sequence[Sample],
        validation: Sequence[Sample],
        *,
        language: str,
        seed: int,
        progress: bool,
        **settings: Any,
    ) -> Model:
        """Fit to train, choose on validation."""

    def from_pretrained(self, folder: str | Path) -> Model:
        """Read a checkpoint folder."""


_HOMES = {
    "lexicon": "asqp_models.lexicon:LexiconModel",
    "extract-classify": "asqp_models.extract_classify:ExtractClassify",
    "joint": "asqp_models.joint:Joint",
}

METHODS = tuple(_HOMES)
"""The methods that can be trained, the floor first."""


def get_method(name: str) -> Method:
    """The method of that name.

    Raises:
        UsageError: There is none, or it needs libraries that are not installed.
    """
    if name not in _HOMES:
        raise UsageError(f"method: found {name!r}, expected one of {', '.join(METHODS)}")
    module, attribute = _HOMES[name].split(":")
    try:
        method: Method = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"method: found no {error.name}, which {name} needs, expected it after pip install 'asqp[train]'"
        ) from error
    return method


def checkpoint_folder(folder: str | Path) -> Path:
    """A checkpoint folder, or the one in a run folder."""
    path = Path(folder)
    return path / "checkpoint" if not (path / "config.json").is_file() or (path / "checkpoint").is_dir() else path


def name_of(folder: str | Path) -> str:
    """What a checkpoint is called in predictions: its method and the hash of its files, wherever it lies.

    Args:
        folder: A checkpoint folder that can be loaded, or a run folder.
    """
    path = checkpoint_folder(folder)
    whole = hashlib.sha256()
    for file in sorted(each for each in path.iterdir() if each.suffix in (".json", ".safetensors")):
        with file.open("rb") as content:
            whole.update(file.name.encode() + hashlib.file_digest(content, "sha256").digest())
    method = json.loads((path / "config.json").read_text(encoding="utf-8"))["asqp"]["method"]
    return f"{method}@{whole.hexdigest()[:12]}"


def load_model(folder: str | Path, *, revision: str | None = None) -> Model:
    """Load a checkpoint of any method; a run folder stands for the checkpoint in it.

    Args:
        folder: A checkpoint or run folder, or a model on the Hub: ``namespace/name`` or ``namespace/name@revision``.
        revision: A branch, tag or commit of a model on the Hub.

    Raises:
        DataError: The folder holds no checkpoint of this package, or the Hub gives none.
    """
    path = checkpoint_folder(locate(folder, revision=revision))
    config = path / "config.json"
    try:
        block = json.loads(config.read_text(encoding="utf-8"))["asqp"]
        name = block["method"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise DataError(
            "found no checkpoint, expected a folder whose config.json has an 'asqp' block with its method", path=folder
        ) from None
    if not isinstance(name, str) or name not in _HOMES:
        raise DataError(f"found the method {name!r:.60}, expected one of {', '.join(METHODS)}", path=config)
    return get_method(name).from_pretrained(path)
