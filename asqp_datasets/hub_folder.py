"""A dataset folder on disk: written beside, named by its content, swapped in one step."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from asqp_datasets.errors import DataError
from asqp_datasets.front_matter import listed_files, read_facts

_OURS = re.compile(r"[a-z]+-[0-9]{5}-of-[0-9]{5}-[0-9a-f]{16}\.parquet")


def named_by_content(paths: list[Path]) -> list[Path]:
    """Rename the shards of a split to ``{stem}-of-{count}-{hash of their content}.parquet``."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    mark = whole.hexdigest()[:16]
    return [path.rename(path.with_name(f"{path.name}-of-{len(paths):05d}-{mark}.parquet")) for path in paths]


def refuse_foreign(out: Path, *, views: bool = False) -> None:
    """Raise rather than write into a folder that holds something else than what is to be replaced.

    Args:
        out: The folder to write.
        views: Whether sub-task views are to be written; they do not replace a dataset, nor a dataset them.

    Raises:
        DataError: The folder holds something else.
    """
    if out.exists() and not out.is_dir():
        raise DataError("found a file, expected a folder to write the dataset to", path=out)
    if not out.is_dir() or not any(out.iterdir()):
        return
    facts = read_facts(out)
    if not facts and _is_half_installed(out):
        return
    if not facts:
        raise DataError("found a folder with other content, expected an empty one or a dataset built here", path=out)
    if ("views" in facts) != views:
        found, expected = ("views", "a dataset of quads") if "views" in facts else ("a dataset of quads", "views")
        raise DataError(f"found {found}, expected a new folder, or {expected} to replace", path=out)


def _is_half_installed(out: Path) -> bool:
    """Whether the folder is what a build leaves that was killed while it put a first dataset in its place."""
    return all(path.is_dir() or _OURS.fullmatch(path.name) for path in out.rglob("*"))


def lock_path(out: Path) -> Path:
    """The lock of a file or folder that one process may write at a time; it lies outside, where nobody sees it."""
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    key = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"asqp-locks-{owner}")
    folder.mkdir(exist_ok=True)
    return folder / f"{key}.lock"


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A work folder beside ``out``, for one process at a time; what a killed build left there is removed."""
    from filelock import FileLock

    out = out.resolve()  # a link is followed, so that the work folder is on the same disk
    out.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_path(out)):
        for left in out.parent.glob(f".{out.name}.building-*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.building-", dir=out.parent))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def fill_folder(new: Path, out: Path, last: str) -> None:
    """Put a complete folder in its place; in one that is there, files of other names stay.

    Args:
        new: The folder, on the same disk.
        out: Its place. It may be somebody's working directory, so it is never renamed.
        last: The file without which the rest counts for nothing; it comes last.
    """
    out = out.resolve()
    if not out.exists():
        new.chmod(0o755)  # work folders are private
        new.rename(out)
        return
    files = sorted((path for path in new.rglob("*") if path.is_file()), key=lambda path: (path.name == last, path))
    for path in files:
        target = out / path.relative_to(new)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def install(work: Path, out: Path, card: str, files: Mapping[str, list[Path]]) -> bool:
    """Put a dataset in its place in one step; whoever reads it sees the old one or the new.

    A new folder is renamed into place. In a folder that is there, the new Parquet files are put beside the old, the
    card that names them is swapped, and what only the old card named is dropped; nothing else is touched.

    Args:
        work: The work folder; ``files`` lie in it at their place in the dataset.
        out: The dataset folder.
        card: The content of README.md.
        files: The Parquet files, by split.

    Returns:
        Whether the dataset is another than before.
    """
    out = out.resolve()
    new = {path.relative_to(work) for paths in files.values() for path in paths}
    if not (out / "README.md").is_file():
        complete = work / "complete"
        for name in new:
            (complete / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).rename(complete / name)
        (complete / "README.md").write_text(card, encoding="utf-8")
        fill_folder(complete, out, "README.md")
        return True
    card_path = out / "README.md"
    old = listed_files(out)
    changed = card_path.read_text(encoding="utf-8") != card
    for name in new:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).replace(out / name)
    (work / "README.md").write_text(card, encoding="utf-8")
    (work / "README.md").replace(card_path)
    # What a build left that was killed right here is named as ours are, but by no card.
    left = {path for name in new for path in (out / name).parent.glob("*.parquet") if _OURS.fullmatch(path.name)}
    for path in {out / name for name in old} | left:
        if path.relative_to(out) not in new:
            path.unlink(missing_ok=True)
    return changed
