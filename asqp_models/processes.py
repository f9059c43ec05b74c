"""Several processes of one command, as ``accelerate launch``, ``torchrun`` or ``mpirun`` start them."""

from __future__ import annotations

import os
from typing import Any

from asqp_datasets.errors import UsageError

_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")


def rank() -> int:
    """The number of this process, from 0."""
    return _number(_RANK, 0)


def count() -> int:
    """How many processes there are."""
    return _number(_SIZE, 1)


def local_rank() -> int:
    """The number of this process on its machine."""
    return _number(("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"), 0)


def fewer_than_asked() -> bool:
    """Whether ``accelerate launch`` was asked for several processes and started one.

    On a machine without an accelerator it does so unless told ``--multi_gpu``, which needs none.
    """
    asked = "ACCELERATE_MIXED_PRECISION" in os.environ and "MASTER_PORT" in os.environ
    return asked and not any(name in os.environ for name in _SIZE)


def from_main(value: Any = None) -> Any:
    """What the main process hands to all of them; each waits until it has it.

    Args:
        value: The main process's; that of the others does not matter.
    """
    from accelerate.utils import broadcast_object_list

    _join()
    values = [value]
    broadcast_object_list(values)
    return values[0]


def wait_for_all() -> None:
    """Wait until all processes have come here."""
    _join().wait_for_everyone()


def _join() -> Any:
    import torch
    from accelerate import PartialState

    return PartialState(cpu=not torch.accelerator.is_available())  # else it takes a CPU's processes for unrelated ones


def _number(names: tuple[str, ...], default: int) -> int:
    for name in names:
        if name in os.environ:
            try:
                return int(os.environ[name])
            except ValueError:
                raise UsageError(f"{name}: found {os.environ[name]!r:.40}, expected a number") from None
    return default
