"""Where a model lies: a folder on this disk, or the cached files of a repository on the Hub."""

from __future__ import annotations

from pathlib import Path

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.hub_client import chosen_revision, parse_hub_id, snapshot

WANTED = ("*.json", "*.safetensors", "tokenizer.model", "spiece.model", "vocab.txt", "merges.txt")
"""The files that a checkpoint is loaded from. No code and no pickle is ever fetched."""


def locate(model: str | Path, *, revision: str | None = None) -> Path:
    """The folder of a model.

    Args:
        model: A checkpoint or run folder, which goes first; or a repository on the Hub as ``namespace/name`` or
            ``namespace/name@revision``. Its files are cached; without a network the cache is used.
        revision: A branch, tag or commit of the repository.

    Returns:
        A folder; a path that is neither there nor an id comes back as it is.

    Raises:
        UsageError: A revision of a folder, or two different ones.
        DataError: The Hub gives no such repository or revision, or cannot be reached and the cache does not hold it.
    """
    path = Path(model)
    on_hub = None if path.exists() or isinstance(model, Path) else parse_hub_id(model)
    if on_hub is None:
        if revision and path.exists():
            raise UsageError(f"revision: found {revision!r} for the folder {path}, expected none: folders have none")
        return path
    try:
        return snapshot(on_hub.repo, "model", chosen_revision(on_hub, revision), WANTED)
    except DataError as error:
        why = f"found no folder of that name, and the Hub gave none: {error.message}"
        raise DataError(why, path=on_hub.repo) from None
