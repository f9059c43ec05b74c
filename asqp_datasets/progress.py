"""A progress bar on stderr for long work, over tqdm."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """A bar that is shown only when asked for; numbers are counted all the same.

    Args:
        title: What is being done.
        total: How much there is, if known.
        unit: What is counted.
        show: Whether to show it.
        done: How much was done before; it does not count for the speed.
    """

    def __init__(self, title: str, total: int | None, unit: str, show: bool, *, done: int = 0) -> None:
        from tqdm import tqdm

        self._bar: Any = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit=f" {unit}",
            disable=not show,
            dynamic_ncols=True,
            leave=False,
            mininterval=0.2,
        )

    def advance(self, amount: int = 1, **facts: Any) -> None:
        """Move on; ``facts`` are shown beside the bar."""
        if facts:
            self._bar.set_postfix(facts, refresh=False)
        self._bar.update(amount)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
