"""What is never published: secrets, pickle, a dataset that fails its checks, texts that are not the publisher's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets.checks import RULES, check_source
from asqp_datasets.corpora import CORPORA, Corpus
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.front_matter import data_files, read_front_matter
from asqp_datasets.sources import open_source

if TYPE_CHECKING:
    import pyarrow as pa

SECRETS = {
    "a Hugging Face token": r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY",
    "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})",
    "an API key": r"\bsk-(?:[a-z]+-)*[A-Za-z0-9_\-]{20,}",
    "a Google key": r"\bAIza[0-9A-Za-z_\-]{35}",
    "a Slack token": r"\bxox[abprs]-[0-9A-Za-z\-]{10,}",
}
"""What secrets look like."""

_SECRET_NAMES = re.compile(r"\.env(\..+)?|\.netrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|.+\.(pem|p12|pfx|key)")
_PICKLE_NAMES = re.compile(r".+\.(pkl|pickle|pt|pth|ckpt|bin|joblib|dill)")
_PICKLE = re.compile(rb"\x80[\x02-\x05](?:[\x95c}(\]]|ctorch)")
_SKIPPED = {".git", ".cache", "__pycache__"}
_CHUNK, _OVERLAP = 1 << 22, 400


def refuse_files(folder: Path) -> None:
    """Look through a folder, whether its files are to be published or not.

    Raises:
        DataError: A file is or holds a secret, is pickle, or is a link that leads out of the folder. The secret itself
            is not said.
    """
    root = folder.resolve()
    for path in sorted(each for each in folder.rglob("*") if not _SKIPPED & set(each.relative_to(folder).parts)):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise DataError("found a link that leads out of the folder, expected files", path=path)
        if path.is_file():
            refuse_file(path)


def refuse_file(path: Path) -> None:
    """Raise :class:`DataError` if a file is or holds a secret, or is pickle."""
    if _SECRET_NAMES.fullmatch(path.name):
        raise DataError("found a file that is made for secrets, expected none where something is published", path=path)
    with path.open("rb") as file:
        head = file.read(16)
    if _PICKLE_NAMES.fullmatch(path.name) or _PICKLE.match(head) or (head[:2] == b"PK" and _is_torch_archive(path)):
        raise DataError("found pickle, which can run code where it is loaded, expected safetensors", path=path)
    where = _in_parquet(path) if head[:4] == b"PAR1" else _in_bytes(path)
    for kind, place in where:
        raise DataError(
            f"found what looks like {kind}{place}, expected no secret where something is published", path=path
        )


def refuse_text(text: str, path: str) -> None:
    """Raise :class:`DataError` if a text that was made for the Hub holds a secret."""
    for kind, pattern in _patterns():
        if re.search(pattern, text):
            raise DataError(f"found what looks like {kind}, expected no secret where something is published", path=path)


def refuse_dataset(folder: Path, facts: dict[str, Any], repo: str, *, may_republish: bool) -> None:
    """Look at a dataset folder as a whole.

    Args:
        folder: The dataset folder, of quads or of sub-task views.
        facts: What its card says of how it was built.
        repo: Where it is to go.
        may_republish: Whether the owner says that the texts may be published.

    Raises:
        DataError: Its checks find errors, or a view's offsets are wrong.
        UsageError: It is synthetic and the repository's name does not say so, or its licence is not known to allow it.
    """
    corpus = str(facts.get("corpus", ""))
    tags = read_front_matter(folder).get("tags") or []
    synthetic = bool(facts.get("synthetic") or "generator" in facts or "synthetic" in tags)
    refuse_texts(repo, corpus, synthetic, may_republish, [file["sha256"] for file in facts.get("files", [])])
    if "views" in facts:
        from asqp_datasets.front_matter import listed_files

        for name in sorted(listed_files(folder)):
            _refuse_view(folder / name)
        return
    _refuse_other_files(folder)
    report = check_source(open_source(str(folder)), examples=1)
    for finding in report.findings:
        if RULES[finding.rule].severity == "error":
            first = finding.examples[0]
            mend = "; `asqp data build` mends it by --repair" if RULES[finding.rule].repairable else ""
            raise DataError(
                f"found {report.errors} errors by its checks, expected none (see `asqp data check`{mend}); the first: "
                f"{first.message} ({finding.rule})",
                path=first.file,
                line=first.line,
            )
    if not report.samples:
        raise DataError("found no samples, expected one at least", path=folder)


def _refuse_other_files(folder: Path) -> None:
    """Raise :class:`DataError` unless the files are those of the card: ``load_dataset`` reads it and no other."""
    import pyarrow.parquet as pq

    told = read_front_matter(folder).get("dataset_info")
    splits = told.get("splits") if isinstance(told, dict) else None
    rows: dict[str, int] = {}
    for split, path in data_files(folder):
        rows[str(split)] = rows.get(str(split), 0) + pq.read_metadata(path).num_rows
    for split in splits if isinstance(splits, list) else []:
        name, count = str(split.get("name")), split.get("num_examples")
        if rows.get(name) != count:
            raise DataError(
                f"found {rows.get(name, 0)} samples in {name}, expected {count}, as its card says", path=folder
            )


def refuse_texts(
    repo: str, corpus: str, synthetic: bool, may_republish: bool, sums: Iterable[str] = (), *, texts: bool = True
) -> None:
    """Refuse synthetic texts under another name, and texts whose licence is not known to allow it.

    Args:
        repo: Where they are to go.
        corpus: The corpus that they are of.
        synthetic: Whether they are generated.
        may_republish: Whether the owner says that they may be published.
        sums: The SHA-256 of the raw files; they tell a corpus under another name.
        texts: Whether it is texts that are published; a model may have any name that is not a real corpus's.

    Raises:
        UsageError: They are refused.
    """
    known = CORPORA.get(corpus)
    name = repo.partition("/")[2].lower()
    if (synthetic or (known and known.synthetic)) and not re.search(r"(^|[-_.])synthetic($|[-_.])", name):
        real = [each for each in CORPORA if re.search(rf"(^|[-_.]){re.escape(each)}($|[-_.])", name)]
        if texts or real:
            raise UsageError(
                f"repo: found {repo!r} for synthetic reviews, expected a name that says so, such as "
                f"{repo.partition('/')[0]}/synthetic-{corpus.removeprefix('synthetic-') or name}"
            )
    closed = _closed(known, set(sums)) if texts and not synthetic else None
    if closed and not may_republish:
        raise UsageError(
            f"licence: found none for the texts of {closed.id} ({closed.url}), expected its owner to confirm with "
            "--i-may-republish that they may be published"
        )


def _closed(known: Corpus | None, sums: set[str]) -> Corpus | None:
    """The public corpus without a licence that the texts are of."""
    if known and known.upstream:
        return known
    return next(
        (each for each in CORPORA.values() if each.upstream and sums & {file.sha256 for file in each.files}), None
    )


def _refuse_view(path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(5000, columns=["id", "text", "labels"]):
            for row in batch.to_pylist():
                for label in row["labels"]:
                    for term in ("aspect", "opinion"):
                        start, end = label.get(f"{term}_start", -1), label.get(f"{term}_end", -1)
                        if start >= 0 and row["text"][start:end] != label[term]:
                            raise DataError(
                                f"sample {row['id']!r:.60}: found {row['text'][start:end]!r:.60} at the place of "
                                f"{label[term]!r:.60}",
                                path=path,
                            )


def _patterns() -> list[tuple[str, str]]:
    from huggingface_hub import get_token

    token = get_token()
    return [*SECRETS.items(), *([("the token of this login", rf"\b{re.escape(token)}\b")] if token else [])]


def _in_bytes(path: Path) -> Iterator[tuple[str, str]]:
    """The secrets in a file, with their lines; of weights, the header alone is text."""
    patterns = [(kind, re.compile(pattern.encode())) for kind, pattern in _patterns()]
    with path.open("rb") as file:
        left = _header_of(file.read(8), path) if path.suffix == ".safetensors" else None
        file.seek(0)
        lines, tail = 1, b""
        while chunk := file.read(_CHUNK if left is None else min(left, _CHUNK)):
            left = None if left is None else left - len(chunk)
            block = tail + chunk
            for kind, pattern in patterns:
                found = pattern.search(block)
                if found:
                    yield kind, f" in line {lines + block[: found.start()].count(10)}"
            tail = block[-_OVERLAP:]
            lines += block[: len(block) - len(tail)].count(10)


def _header_of(first: bytes, path: Path) -> int:
    return min(8 + int.from_bytes(first, "little"), path.stat().st_size)


def _in_parquet(path: Path) -> Iterator[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            notes = json.dumps([[str(k), str(v)] for k, v in (file.schema_arrow.metadata or {}).items()])
            for kind, pattern in _patterns():
                if re.search(pattern, notes):
                    yield kind, " in its metadata"
            for batch in file.iter_batches(10_000):
                for column in _strings(batch):
                    for kind, pattern in _patterns():
                        if pc.any(pc.match_substring_regex(column, pattern)).as_py():
                            yield kind, ""
    except pa.ArrowException as error:
        raise DataError(f"cannot be read as Parquet: {str(error).splitlines()[0][:200]}", path=path) from error


def _strings(batch: pa.RecordBatch) -> Iterator[Any]:
    import pyarrow as pa

    waiting = list(batch.columns)
    while waiting:
        column = waiting.pop()
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            waiting.append(column.flatten())
        elif pa.types.is_struct(column.type):
            waiting += column.flatten()
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            yield column


def _is_torch_archive(path: Path) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith((".pkl", ".pickle")) for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
