"""The exceptions that bad input raises.

Every one says where the fault is, what was found and what was expected, in one line; the command line
prints that line and exits with 2.
"""

from __future__ import annotations

import os
from pathlib import Path


def shown(path: str | Path) -> str:
    """A path as text that can be printed and written, whatever bytes its name holds."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class AsqpError(ValueError):
    """Bad input or usage. The base of everything this project raises on purpose."""


class DataError(AsqpError):
    """A file, or a record in it, that cannot be read as ASQP data.

    Args:
        message: What was found and what was expected.
        path: The file, if the fault is in one.
        line: The line in it, counted from 1.
        field: The field of the record.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message, self.path, self.line, self.field = message, path, line, field
        where = "" if path is None else shown(path)
        if line is not None:
            where += f":{line}" if where else f"line {line}"
        if field is not None:
            where += f" [{field}]" if where else f"[{field}]"
        super().__init__(f"{where}: {message}" if where else message)


class UsageError(AsqpError):
    """An argument, an option or a configuration key that cannot be meant."""


def first_line(error: BaseException) -> str:
    """The first line of another library's message, at most 200 characters; its name if it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
