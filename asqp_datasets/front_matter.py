"""What a dataset folder's card says about its files, read with care: a card may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asqp_datasets.errors import DataError
from asqp_datasets.splits import SPLITS

SPLIT_NAMES = {"train": "train", "dev": "validation", "valid": "validation", "validation": "validation", "test": "test"}
"""What files call the splits, and what ``datasets`` calls them."""

_PLAIN_NAME = re.compile(r"(?!\.)[\w.\-]{1,96}")


def is_plain_name(name: object) -> bool:
    """Whether a corpus's name can be a folder's: letters, digits, ``_``, ``-`` and ``.``, and no path."""
    return isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None


def read_front_matter(folder: Path) -> dict[str, Any]:
    """The YAML at the head of the folder's README.md; empty if there is none.

    Raises:
        DataError: It is not YAML in UTF-8.
    """
    import yaml

    card = folder / "README.md"
    if not card.is_file():
        return {}
    try:
        parts = card.read_text(encoding="utf-8").split("\n---\n", 1)
        if len(parts) != 2 or not parts[0].startswith("---\n"):
            return {}
        data = yaml.safe_load(parts[0][4:])
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"the front matter is not YAML in UTF-8 ({type(error).__name__})", path=card) from None
    return data if isinstance(data, dict) else {}


def read_facts(folder: Path) -> dict[str, Any]:
    """The ``asqp`` block that the builder wrote into the card, without whatever is not of its types.

    Returns:
        Some of ``corpus``, ``language``, ``synthetic``, ``split``, ``files``, ``generator``, ``views``; empty if the
        folder was not built here.
    """
    block = read_front_matter(folder).get("asqp")
    if not isinstance(block, dict):
        return {}
    split, files, generator = block.get("split"), block.get("files"), block.get("generator")
    kept = {
        "corpus": block.get("corpus") if is_plain_name(block.get("corpus")) else None,
        "language": block.get("language") if block.get("language") in ("zh", "en") else None,
        "synthetic": block.get("synthetic") is True,
        "split": split
        if split == "official" or (isinstance(split, dict) and {"ratio", "seed"} <= set(split))
        else None,
        "files": files if isinstance(files, list) and all(map(_is_file, files)) else None,
        "generator": generator if isinstance(generator, dict) else None,
        "views": block.get("views") if isinstance(block.get("views"), list) else None,
    }
    return {key: value for key, value in kept.items() if value is not None}


def _is_file(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("name", "sha256"))


def data_files(folder: Path) -> list[tuple[str | None, Path]]:
    """The Parquet files of the card's first configuration, with their splits.

    Raises:
        DataError: A pattern leads out of the folder, or a split is none of the three.
    """
    configs = read_front_matter(folder).get("configs")
    if not configs:
        return [(name, path) for name in SPLITS for path in sorted(folder.glob(f"data/{name}-*.parquet"))]
    return list(_listed(folder, configs[0] if isinstance(configs, list) else configs))


def listed_files(folder: Path) -> set[Path]:
    """The Parquet files of all of the card's configurations, relative to the folder."""
    configs = read_front_matter(folder).get("configs")
    found = (_listed(folder, config) for config in (configs if isinstance(configs, list) else []))
    return {path.relative_to(folder) for files in found for _, path in files}


def _listed(folder: Path, config: Any) -> Iterator[tuple[str | None, Path]]:
    for split, pattern in _patterns(folder, config.get("data_files") if isinstance(config, dict) else None):
        if not isinstance(pattern, str) or not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
            raise DataError(f"found {pattern!r:.120}, expected a path in the folder", path=folder, field="data_files")
        for path in sorted(folder.glob(f"{pattern}/*" if pattern.endswith("**") else pattern)):
            name = split or next((s for word, s in SPLIT_NAMES.items() if re.search(rf"\b{word}\b", path.stem)), None)
            if name not in (None, *SPLITS):
                found = f"found the split {name!r:.60}, expected one of {', '.join(SPLITS)}"
                raise DataError(found, path=folder, field="data_files")
            if path.suffix == ".parquet":
                yield name, path


def _patterns(folder: Path, value: Any) -> Iterator[tuple[str | None, Any]]:
    """The forms that ``datasets`` takes: a pattern, a list of them, patterns by split, a list of split and path."""
    if isinstance(value, dict):
        value = [{"split": split, "path": path} for split, path in value.items()]
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict) and "path" in entry:
            split = SPLIT_NAMES.get(str(entry.get("split")), str(entry.get("split")))
            for path in entry["path"] if isinstance(entry["path"], list) else [entry["path"]]:
                yield split, path
        elif isinstance(entry, str):
            yield None, entry
        else:
            found = f"found {entry!r:.120}, expected a path, or a split and its path"
            raise DataError(found, path=folder / "README.md", field="data_files")
