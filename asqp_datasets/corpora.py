"""The known corpora, as data: where their raw files come from and what the paper says of them.

No corpus's text is part of this package. A raw file is taken from ``ASQP_RAW_DIR/<id>/<file name>`` if that
directory is set and has it, else from its authors' repository at a fixed commit, checked and cached.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.readers.base import Issue

RAW_DIR_VARIABLE = "ASQP_RAW_DIR"


class RawFile(NamedTuple):
    """One upstream file of a corpus."""

    split: str
    name: str
    sha256: str


class Upstream(NamedTuple):
    """A public repository, at the commit whose files are known."""

    repository: str
    commit: str


@dataclass(frozen=True)
class Corpus:
    """A corpus that this package knows by name.

    Args:
        id: Its name on the command line and its folder under ``asqp/``.
        title: Its name in the literature.
        language: ``zh`` or ``en``. Lengths are counted in characters for ``zh``, in words for ``en``.
        reader: The raw format, a key of :data:`asqp_datasets.readers.READERS`.
        files: Upstream files with their official split; empty where the owner supplies the files.
        upstream, folder: Where they are published.
        paper: The corpus's row of the paper's Table 1, by the keys of ``asqp data stats``.
        paper_notes: Why a printed figure disagrees with the files.
        synthetic: Whether the text is generated.
        note: What a user should know before using it.
    """

    id: str
    title: str
    language: str
    reader: str
    files: tuple[RawFile, ...] = ()
    upstream: Upstream | None = None
    folder: str = ""
    paper: Mapping[str, float | str] = field(default_factory=dict)
    paper_notes: Mapping[str, str] = field(default_factory=dict)
    synthetic: bool = False
    note: str = ""

    @property
    def url(self) -> str:
        """The upstream folder, for people."""
        if self.upstream is None:
            return ""
        return f"https://github.com/{self.upstream.repository}/tree/{self.upstream.commit}/{self.folder}"

    @property
    def needs_owner_files(self) -> bool:
        """Whether the raw files are not public."""
        return not self.files and not self.synthetic


def _files(pattern: str, *sums: str) -> tuple[RawFile, ...]:
    splits = (("train", "train"), ("validation", "dev"), ("test", "test"))
    return tuple(RawFile(split, pattern.format(part), sha) for (split, part), sha in zip(splits, sums, strict=True))


_NO_LICENCE = "Upstream has no licence file: this package ships a loader and statistics, never the text."
_SWAPPED = (
    "The paper prints the rows EA&EO and IA&IO of the two English corpora the other way round; "
    "by the files, most quads have both terms spelled out."
)
_ACOS = Upstream("NUSTM/ACOS", "45d179a3dcc6a3dedd848d81b16f2552454805fe")
_ABSA_QUAD = Upstream("IsakZhang/ABSA-QUAD", "ce4d4a51fc5b1abf67a315e8d15296880af3c326")
_DATASTORY = Upstream("Datastory-CN/ASQP-Datasets", "73822b596e64ae08b46076adfbd78e26221150db")
_OWNER = "The raw files are not public; their owner supplies them with --raw, and they are split 7:1.5:1.5."


def _row(*values: float) -> dict[str, float | str]:
    """A column of the paper's Table 1, as printed, top to bottom; a negative value is a dash."""
    keys = [
        "samples",
        "categories_level1",
        "categories",
        "quads",
        "words_per_sample",
        "quads_per_sample",
        "words_per_aspect",
        "words_per_opinion",
        "EA&EO",
        "EA&IO",
        "IA&EO",
        "IA&IO",
        "NEG",
        "NEU",
        "POS",
    ]
    return {key: "-" if value < 0 else value for key, value in zip(keys, values, strict=True)}


PAPER_CAR = _row(10894, 24, 90, 39075, 166.88, 3.59, 3.26, 4.20, 30591, 8484, -1, -1, 4784, 18284, 16007)
PAPER_DIGITAL = _row(10580, 32, 118, 36741, 152.26, 3.47, 3.15, 3.41, 34055, 2686, -1, -1, 10396, 3710, 22635)

_ALL = (
    Corpus(
        "restaurant-acos",
        "Restaurant-ACOS",
        "en",
        "acos",
        _files(
            "rest16_quad_{}.tsv",
            "91ced9328d5992d3715ec70d7cc08a6ccd9dea79136ffdd70556fe54b217edda",
            "9a019761afce0eec4d8d027dcdffa28e3a2677d90e6a17b64f409daa5eccfca9",
            "59969ab711c7a6b984ffe2ac1ec2f9ef8aaee54587fc195fe1ace6728ecb3644",
        ),
        folder="data/Restaurant-ACOS",
        paper=_row(2286, 13, -1, 3661, 15.11, 1.60, 1.46, 1.20, 350, 350, 530, 2431, 1007, 151, 2503),
        paper_notes={
            "samples": "The three files hold 2284 lines; 2286 matches no count of them.",
            "categories_level1": "The 13 are full category names, over 6 first-level ones.",
            "categories": "The paper prints a dash; the files hold 13.",
            "EA&EO": _SWAPPED,
            "IA&IO": _SWAPPED,
            "words_per_sample": "Averaged over distinct texts; over all samples it is 15.07.",
        },
        upstream=_ACOS,
        note=_NO_LICENCE,
    ),
    Corpus(
        "laptop-acos",
        "Laptop-ACOS",
        "en",
        "acos",
        _files(
            "laptop_quad_{}.tsv",
            "75572e18961f15d6624c037cf4ccc8964744b59a6be4249132229a4dbd967320",
            "824d748567199e76c7ad647610127e5f129649d90c0ca78218c18a3b82054c20",
            "8c745fa5df9dd4ccf2c269f2e1e305b8d3bf63bf83ce2df608fe43c2ca9404d3",
        ),
        folder="data/Laptop-ACOS",
        paper=_row(4076, 23, 121, 5773, 15.73, 1.42, 1.40, 1.09, 342, 1241, 912, 3278, 1879, 316, 3578),
        paper_notes={
            "categories": "The paper's remark that 121 reduce to 60 above ten quads matches no threshold.",
            "EA&EO": _SWAPPED,
            "IA&IO": _SWAPPED,
            "words_per_sample": "Averaged over distinct texts; over all samples it is 15.67.",
        },
        upstream=_ACOS,
        note=_NO_LICENCE,
    ),
    Corpus(
        "asqp-rest15",
        "ASQP-Rest15",
        "en",
        "absa_quad",
        _files(
            "{}.txt",
            "8ce2f371dbcaeea632b06789370cc26505650bc608b3b20def1e606065004a47",
            "c041892e72e38d870854346acfd121f110e4aa5886c3840398d1902967ccce5c",
            "80e694ed244e8731864df3ff18ba61c10ebf557f6357d6f8b4917c843560e05a",
        ),
        folder="data/rest15",
        upstream=_ABSA_QUAD,
        note=_NO_LICENCE,
    ),
    Corpus(
        "asqp-rest16",
        "ASQP-Rest16",
        "en",
        "absa_quad",
        _files(
            "{}.txt",
            "8706e9b597669f4743396c9a82cc90a5cc12064de646bfe64646f64317018e9e",
            "aa11dc6f4b75b2a3c624c853434c7495cf2cd160d3e897d99ba91662996528da",
            "a090e7323c1c64daa95d524a00f5bf814cc4f5675c124724bb699c3a9bd842e1",
        ),
        folder="data/rest16",
        upstream=_ABSA_QUAD,
        note=_NO_LICENCE,
    ),
    Corpus(
        "en-phone",
        "en-Phone",
        "en",
        "datastory",
        _files(
            "{}.txt",
            "81e29f4475a00ff288543281bd71c29de95b4534aec2dcefbc46d5d7fa70e8ea",
            "32c0d39fb061124a2081fd62354811bf797423a04c95064782d47faa7f0ff87e",
            "082c8b519a9199f583dc299507096609145ed7f0dac0d53eebabb9c03f848185",
        ),
        folder="en-Phone",
        upstream=_DATASTORY,
        note=_NO_LICENCE,
    ),
    Corpus(
        "zh-food-beverage",
        "zh-FoodBeverage",
        "zh",
        "datastory",
        _files(
            "{}.txt",
            "155e6bd38cae48aff6bbdc7d9593a0014d669aa1618faa432558e320f37ca5c7",
            "e7d79aa9306b69e2f4f3af6df71098c192ef6ce4365082e851081387ee0e9ce7",
            "13bbd2e145525ff6747d6f3725c3e8a9d229cd9f85a4186a558b7041e2b49c49",
        ),
        folder="zh-FoodBeverage",
        upstream=_DATASTORY,
        note=_NO_LICENCE,
    ),
    Corpus("car", "Car-ASQP", "zh", "datastory", paper=PAPER_CAR, note=_OWNER),
    Corpus("digital", "Digital-ASQP", "zh", "datastory", paper=PAPER_DIGITAL, note=_OWNER),
    Corpus(
        "synthetic-car",
        "Synthetic-Car",
        "zh",
        "",
        paper=PAPER_CAR,
        synthetic=True,
        note="Generated from a grammar, no person wrote it; after the proportions of Car-ASQP.",
    ),
    Corpus(
        "synthetic-digital",
        "Synthetic-Digital",
        "zh",
        "",
        paper=PAPER_DIGITAL,
        synthetic=True,
        note="Generated from a grammar, no person wrote it; after the proportions of Digital-ASQP.",
    ),
)

CORPORA: dict[str, Corpus] = {corpus.id: corpus for corpus in _ALL}


def get_corpus(name: str) -> Corpus:
    """The corpus of that id.

    Raises:
        UsageError: There is none.
    """
    if name not in CORPORA:
        raise UsageError(f"corpus: found {name!r}, expected one of {', '.join(CORPORA)}")
    return CORPORA[name]


def fetch(corpus: Corpus, *, progress: bool = False) -> dict[str, Path]:
    """The raw files of a public corpus on this machine, by split; downloaded and checked if need be.

    Args:
        corpus: A corpus with upstream files.
        progress: Whether to show a bar for each download.

    Raises:
        UsageError: The corpus has no public files.
        DataError: A file can neither be found nor downloaded, or is not what upstream published.
    """
    if not corpus.files:
        raise UsageError(f"corpus {corpus.id}: found no public raw files. {corpus.note}")
    raw_dir = os.environ.get(RAW_DIR_VARIABLE)
    found = {}
    for file in corpus.files:
        local = Path(raw_dir, corpus.id, file.name) if raw_dir else None
        found[file.split] = local if local and local.is_file() else _download(corpus, file, progress)
    return found


def check_files(corpus: Corpus, files: Mapping[str, Path]) -> list[tuple[Path, Issue]]:
    """Which of a public corpus's files, by split, are not what upstream published."""
    found = {split: sha256_of(path) for split, path in files.items()}
    return [
        (
            files[file.split],
            Issue("checksum-differs", f"SHA-256 is {found[file.split][:12]}…, upstream's is {file.sha256[:12]}…"),
        )
        for file in corpus.files
        if found[file.split] != file.sha256
    ]


def _download(corpus: Corpus, file: RawFile, progress: bool) -> Path:
    import pooch

    url = corpus.url.replace("github.com", "raw.githubusercontent.com").replace("/tree/", "/") + f"/{file.name}"
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=30)
    folder = Path(os.environ.get("ASQP_CACHE_DIR") or pooch.os_cache("asqp")) / "raw" / corpus.id
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(url, f"sha256:{file.sha256}", file.name, folder, downloader=downloader))
    except (OSError, ValueError) as error:
        # A failed connection explains itself in a paragraph; a hash that differs, in a line.
        reason = type(error).__name__ if isinstance(error, OSError) else str(error).splitlines()[0][:200]
        raise DataError(
            f"cannot be fetched ({reason}). Without a network, set {RAW_DIR_VARIABLE} to a directory that holds "
            f"{corpus.id}/{file.name}",
            path=url,
        ) from None


def sha256_of(path: Path) -> str:
    """The file's SHA-256 as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
