"""Batches of items of similar length, divided among the processes that train together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices

from asqp_datasets.errors import UsageError


class Batches(Sampler[list[int]]):
    """The share of one process in batches of items of similar length, every item once an epoch.

    A last batch with fewer items than there are processes is joined to the one before.

    Args:
        lengths: Of the items.
        batch_size: Items of a batch, in all processes together.
        seed: With the epoch, decides the order.
        rank: The number of the process.
        processes: How many there are.

    Raises:
        UsageError: There are fewer items, or a batch has fewer, than there are processes.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int, rank: int = 0, processes: int = 1) -> None:
        if min(batch_size, len(lengths)) < processes:
            raise UsageError(
                f"batch_size: found {batch_size} of {len(lengths)} windows for {processes} processes, expected one a "
                "process at least"
            )
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0
        self.rank, self.processes = rank, processes
        full, rest = divmod(len(lengths), batch_size)
        self.count = full + (rest >= processes)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + self.epoch) % 2**63)
        order = get_length_grouped_indices(self.lengths, self.batch_size, generator=generator)
        for i in range(self.count):
            start, end = i * self.batch_size, (i + 1) * self.batch_size if i + 1 < self.count else len(order)
            yield order[start:end][self.rank :: self.processes]

    def set_epoch(self, epoch: int) -> None:
        """Take the order of another epoch."""
        self.epoch = epoch


class BatchLoader(DataLoader[Any]):
    """A loader that hands the epoch to its batches, as ``Trainer`` expects."""

    def set_epoch(self, epoch: int) -> None:
        """Take the batches of another epoch."""
        self.batch_sampler.set_epoch(epoch)
