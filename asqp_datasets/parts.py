"""Cutting a stream into parts of bounded size, so that memory stays bounded however long the stream is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PART = 5000
"""Samples that are read, checked and written together."""

PART_CHARACTERS = 8_000_000
"""A part ends after so many characters, however few samples it has."""

Item = TypeVar("Item")


def in_parts(items: Iterable[Item], length: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Cut a stream into lists of at most 5000 items, fewer where they are long, so that memory stays bounded.

    Args:
        items: The stream.
        length: The characters of an item.
    """
    part: list[Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += length(item)
        if len(part) == PART or total >= PART_CHARACTERS:
            yield part
            part, total = [], 0
    if part:
        yield part
