"""Where the terms of a dictionary stand in texts.

A token is one Chinese or Japanese character, a run of letters and digits, one punctuation mark, or a run
of white space; a term is a sequence of tokens, so it never begins or ends inside a word. Many texts are
handled as one row of tokens, with two edges before each text, so that every step is an array operation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from asqp_datasets.errors import DataError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

UNKNOWN, EDGE, FIRST = 0, 1, 2
"""Token ids: a token outside the vocabulary, the border of a text, the first token of the vocabulary."""

MOST_ENTRIES = 1_000_000
"""Tokens and terms a dictionary can hold: keys of a term and two tokens must fit 64 bits."""

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"\s+|[^\W_{HAN}]+|[\s\S]")
_COMMAS = frozenset(",、;:~-()[]\"'…") | {" "}
_STOPS = frozenset(".!?。;\n")


def split(text: str) -> list[str]:
    """The tokens of a text, white space included: joined, they are the text."""
    return _TOKEN.findall(text)


def normalise(token: str) -> str:
    """What tokens are compared by: NFKC, lower case, every number 0, white space a blank or a line end."""
    if token.isspace():
        return "\n" if "\n" in token else " "
    token = unicodedata.normalize("NFKC", token).lower()
    return "0" if token.isdigit() else token


class Stream(NamedTuple):
    """Texts as one row of tokens.

    Args:
        ids: Token ids, ``EDGE`` between texts. Shape (tokens,), as for the next five.
        start: Code point of its text at which each token begins, -1 for an edge.
        end: Code point after it.
        text: Index of its text.
        commas: Weak clause borders up to and with it.
        stops: Sentence ends up to and with it.
        first: Index of the first token of each text. Shape (texts,).
        size: Tokens of each text. Shape (texts,).
    """

    ids: Ints
    start: Ints
    end: Ints
    text: Ints
    commas: Ints
    stops: Ints
    first: Ints
    size: Ints


class Spans(NamedTuple):
    """Occurrences of terms, ordered by place, then length. All of shape (spans,).

    Args:
        at: Index of the first token.
        length: Tokens.
        term: Index of the term.
        text: Index of the text.
    """

    at: Ints
    length: Ints
    term: Ints
    text: Ints


class Dictionary:
    """A vocabulary of tokens and a trie of terms.

    Args:
        tokens: Normalised tokens; the first has id ``FIRST``.
        terms: Each a sequence of token ids.
        spaced: Whether words are set apart by white space. If not, as in Chinese, white space is a token
            and borders clauses.

    Raises:
        DataError: There are more than ``MOST_ENTRIES`` tokens or terms.
    """

    def __init__(self, tokens: Sequence[str], terms: Sequence[Sequence[int]], *, spaced: bool) -> None:
        if max(len(tokens), len(terms)) > MOST_ENTRIES:
            raise DataError(f"found {len(tokens)} tokens and {len(terms)} terms, expected at most {MOST_ENTRIES}")
        self.tokens, self.terms, self.spaced = list(tokens), [tuple(t) for t in terms], spaced
        self.size = len(tokens) + FIRST
        self._ids = {token: i for i, token in enumerate(tokens, FIRST)}
        self._comma = np.array([False, False, *(t in _COMMAS for t in tokens)])
        self._stop = np.array([False, True, *(t in _STOPS for t in tokens)])
        self.longest = max(map(len, self.terms), default=0)
        children: dict[int, int] = {}
        term_at = [-1]
        for i, term in enumerate(self.terms):
            node = 0
            for token in term:
                key = node * self.size + token
                node = children.setdefault(key, len(term_at))
                if node == len(term_at):
                    term_at.append(-1)
            term_at[node] = i
        self._edges = np.array(sorted(children), np.int64)
        self._children = np.array([children[key] for key in self._edges.tolist()], np.int64)
        self._term_at = np.array(term_at, np.int64)

    def read(self, texts: Sequence[str]) -> Stream:
        """Tokenise texts."""
        edge, nowhere = np.full(2, EDGE, np.int64), np.full(2, -1, np.int64)
        ids, starts, ends, sizes = [], [], [], []
        for text in texts:
            tokens = split(text)
            row = np.fromiter((self._ids.get(t, -1) for t in tokens), np.int64, len(tokens))
            for i in np.flatnonzero(row < 0).tolist():
                row[i] = self._ids.get(normalise(tokens[i]), UNKNOWN)
            end = np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)))
            start = np.concatenate([end[:0], [0], end[:-1]])[: len(tokens)]
            if self.spaced:
                keep = np.fromiter((not t.isspace() or "\n" in t for t in tokens), np.bool_, len(tokens))
                row, start, end = row[keep], start[keep], end[keep]
            ids += [edge, row]
            starts += [nowhere, start]
            ends += [nowhere, end]
            sizes.append(len(row))
        size = np.array(sizes, np.int64)
        tail = self.longest + 2
        all_ids = np.concatenate([*ids, np.full(tail, EDGE, np.int64)])
        return Stream(
            ids=all_ids,
            start=np.concatenate([*starts, np.full(tail, -1, np.int64)]),
            end=np.concatenate([*ends, np.full(tail, -1, np.int64)]),
            text=np.concatenate([np.repeat(np.arange(len(texts)), size + 2), np.full(tail, len(texts))]),
            commas=np.cumsum(self._comma[all_ids]),
            stops=np.cumsum(self._stop[all_ids]),
            first=np.cumsum(size + 2) - size,
            size=size,
        )

    def find(self, stream: Stream) -> Spans:
        """Every occurrence of every term, overlaps included."""
        at = np.flatnonzero(stream.ids >= FIRST)
        node = np.zeros(len(at), np.int64)
        found = []
        for length in range(1, self.longest + 1):
            keys = node * self.size + stream.ids[at + length - 1]
            edge = np.minimum(np.searchsorted(self._edges, keys), len(self._edges) - 1)
            hit = self._edges[edge] == keys
            at, node = at[hit], self._children[edge[hit]]
            if not len(at):
                break
            term = self._term_at[node]
            is_term = term >= 0
            found.append((at[is_term], np.full(int(is_term.sum()), length), term[is_term]))
        if not found:
            return Spans(*(np.zeros(0, np.int64) for _ in Spans._fields))
        places, lengths, terms = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((lengths, places))
        places = places[order]
        return Spans(places, lengths[order], terms[order], stream.text[places])
