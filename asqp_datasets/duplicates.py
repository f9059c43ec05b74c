"""Texts that say the same: exact copies, copies up to punctuation and form, near copies.

Near copies are found by MinHash over character trigrams with banding (Broder 1997). It is written here over
whole batches with numpy, because one text at a time, as in the packages for it, a million reviews take
minutes and gigabytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

HASHES = 32
"""Hash functions of the trigrams; of each, the least and the greatest value of a text are kept."""
VALUES = 2 * HASHES
"""MinHash values a text, 16 bits each."""
BANDS = 16
"""Two texts are compared when all values of one of so many bands are equal."""
NEAR = 54
"""Texts are near copies when so many of the 64 values are equal: an estimated Jaccard of about 0.85."""

_SHINGLE = 3
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_PUNCTUATION = re.compile(r"[\s!-/:-@\[-`{-~，。！？、；：…～·（）“”‘’《》【】—]+")  # what most texts have of it
_RANDOM = np.random.default_rng(20260101)
_MULTIPLIERS = _RANDOM.integers(1, 2**32, HASHES, dtype=np.uint64).astype(np.uint32) | np.uint32(1)
_OFFSETS = _RANDOM.integers(0, 2**32, HASHES, dtype=np.uint64).astype(np.uint32)
_MIX = _RANDOM.integers(1, 2**63, _SHINGLE, dtype=np.uint64) | np.uint64(1)


def fold(text: str) -> str:
    """NFKC, case folded, letters and digits only: what copies have in common."""
    # Full normalisation takes most of the time, and most texts need none once the usual punctuation is out.
    text = _PUNCTUATION.sub("", text)
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    text = text.casefold()
    return text if text.isalnum() else _NOT_ALPHANUMERIC.sub("", text)


def digest(text: str) -> int:
    """64 bits of the text, the same in every process."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Signatures:
    """What is kept of n texts to find copies: 144 bytes each.

    Args:
        exact: Digests of the texts, shape (n,).
        folded: Digests of the folded texts, shape (n,).
        values: MinHash values, shape (n, 64).
    """

    exact: npt.NDArray[np.uint64]
    folded: npt.NDArray[np.uint64]
    values: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Signatures:
        """The signatures of some texts."""
        forms = [fold(text) for text in texts]
        exact = np.fromiter((digest(text) for text in texts), np.uint64, len(forms))
        # A text with no letter or digit has no folded form to share with others: it stands for itself.
        folded = np.fromiter(
            (digest(form or text) for form, text in zip(forms, texts, strict=True)), np.uint64, len(forms)
        )
        return cls(exact, folded, _values(forms, folded))

    @classmethod
    def concatenate(cls, parts: list[Signatures]) -> Signatures:
        """The signatures of several batches in a row; the list is emptied."""
        if not parts:
            return cls.of([])
        if len(parts) == 1:
            return parts[0]
        total = sum(len(part.exact) for part in parts)
        whole = cls(np.empty(total, np.uint64), np.empty(total, np.uint64), np.empty((total, VALUES), np.uint16))
        start = 0
        while parts:  # the parts go as the whole grows
            part = parts.pop(0)
            end = start + len(part.exact)
            whole.exact[start:end], whole.folded[start:end], whole.values[start:end] = (
                part.exact,
                part.folded,
                part.values,
            )
            start = end
        return whole

    def groups(self, *, near: bool = True) -> npt.NDArray[np.int64]:
        """A group number for each text, shape (n,): copies, and near copies if asked for, and theirs, share one."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        count = len(self.exact)
        first, second = runs(self.folded)
        if near:
            first, second = (np.concatenate(ends) for ends in zip((first, second), self._near_pairs(), strict=True))
        graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(count, count))
        return connected_components(graph, directed=False)[1].astype(np.int64)

    def _near_pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        rows = VALUES // BANDS
        firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for band in range(BANDS):
            key = np.zeros(len(self.values), np.uint64)
            for column in range(band * rows, (band + 1) * rows):
                key = (key ^ self.values[:, column]) * _MIX[0]
                key ^= key >> np.uint64(29)
            first, second = runs(key)
            for start in range(0, len(first), 1 << 18):
                a, b = first[start : start + (1 << 18)], second[start : start + (1 << 18)]
                near = (self.values[a] == self.values[b]).sum(axis=1) >= NEAR
                firsts.append(a[near])
                seconds.append(b[near])
        return np.concatenate(firsts), np.concatenate(seconds)


def _values(forms: Sequence[str], folded: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """MinHash values of folded texts; one shorter than a shingle has its digest for its only shingle."""
    result = np.empty((len(forms), VALUES), np.uint16)
    lengths = np.fromiter(map(len, forms), np.int64, len(forms))
    long = np.flatnonzero(lengths >= _SHINGLE)
    if len(long):
        codes = np.frombuffer("".join(forms[i] for i in long.tolist()).encode("utf-32-le", "surrogatepass"), np.uint32)
        windows = len(codes) - _SHINGLE + 1
        mixed = np.zeros(windows, np.uint64)
        for position in range(_SHINGLE):
            mixed = (mixed ^ codes[position : position + windows]) * _MIX[position]
            mixed ^= mixed >> np.uint64(31)
        ends = np.cumsum(lengths[long])
        inside = np.ones(windows, np.bool_)
        for back in range(1, _SHINGLE):
            inside[ends[:-1] - back] = False
        shingles = (mixed >> np.uint64(16)).astype(np.uint32)[inside]
        starts = np.concatenate([[0], np.cumsum(lengths[long] - _SHINGLE + 1)[:-1]])
        for column in range(HASHES):
            hashed = shingles * _MULTIPLIERS[column] + _OFFSETS[column]
            # The low bits: the high ones of a minimum say little.
            result[long, 2 * column] = np.minimum.reduceat(hashed, starts).astype(np.uint16)
            result[long, 2 * column + 1] = np.maximum.reduceat(hashed, starts).astype(np.uint16)
    short = np.flatnonzero(lengths < _SHINGLE)
    hashed = folded[short, None].astype(np.uint32) * _MULTIPLIERS + _OFFSETS
    result[short] = np.repeat(hashed, 2, axis=1).astype(np.uint16)
    return result


def runs(keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Pairs (first of its run, other) of the positions that hold equal keys."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    leader = order[np.maximum.accumulate(np.where(new, np.arange(len(keys)), 0))] if len(keys) else order
    return leader[~new], order[~new]
