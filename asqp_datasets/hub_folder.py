"""A dataset folder on disk: written beside, named by its content, swapped in one step."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from asqp_datasets.errors import DataError
from asqp_datasets.sources import read_facts


def named_by_content(paths: list[Path]) -> list[Path]:
    """Rename the shards of a split to ``{stem}-of-{count}-{hash of their content}.parquet``."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    mark = whole.hexdigest()[:16]
    return [path.rename(path.with_name(f"{path.name}-of-{len(paths):05d}-{mark}.parquet")) for path in paths]


def refuse_foreign(out: Path) -> None:
    """Raise :class:`DataError` rather than write into a folder that holds something else than our dataset."""
    if out.exists() and not out.is_dir():
        raise DataError("found a file, expected a folder to write the dataset to", path=out)
    if out.is_dir() and any(out.iterdir()) and not read_facts(out):
        raise DataError("found a folder with other content, expected an empty one or a dataset built here", path=out)


def lock_path(out: Path) -> Path:
    """The lock of a file or folder that one process may write at a time; it lies outside, where nobody sees it."""
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    key = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"asqp-{owner}-{key}.lock")


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A work folder beside ``out``, for one process at a time; what a killed build left there is removed."""
    from filelock import FileLock

    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_path(out)):
        for left in out.parent.glob(f".{out.name}.building-*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.building-", dir=out.parent))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def install(work: Path, out: Path, card: str, files: Mapping[str, list[Path]]) -> bool:
    """Put the new Parquet files beside the old, swap the card, which names them, and drop the old.

    Args:
        work: The work folder; ``files`` lie in it at their place in the dataset.
        out: The dataset folder.
        card: The content of README.md.
        files: The Parquet files, by split.

    Returns:
        Whether the dataset is another than before.
    """
    new = {path.relative_to(work) for paths in files.values() for path in paths}
    old = {path.relative_to(out) for path in out.glob("**/*.parquet")}
    for name in new:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).replace(out / name)
    card_path = out / "README.md"
    changed = not card_path.is_file() or card_path.read_text(encoding="utf-8") != card
    (work / "README.md").write_text(card, encoding="utf-8")
    (work / "README.md").replace(card_path)
    for name in old - new:
        (out / name).unlink()
    return changed
