"""Options and output that several commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from asqp_datasets.readers import Record
    from asqp_datasets.sources import Source

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Random seed."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress bars.")


def not_nan(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse ``nan``, which is in every range of numbers."""
    if value is not None and value != value:
        raise click.BadParameter("nan is no number.", context, option)
    return value


def source_options(command: Command) -> Command:
    """The options by which any command opens a corpus, raw files or a dataset."""
    for option in reversed(
        (
            click.argument("spec", metavar="DATASET"),
            click.argument("more", nargs=-1, metavar="[FILE]..."),
            click.option(
                "--raw",
                multiple=True,
                metavar="FILE",
                help="The owner's raw files in place of the public ones; train=FILE and so on keeps a split.",
            ),
            click.option("--format", "format_", metavar="NAME", help="Raw format; default: the corpus's, or guessed."),
            click.option("--language", type=click.Choice(["zh", "en"]), help="Default: the corpus's, or guessed."),
            click.option("--size", type=click.IntRange(min=1), help="Samples of a synthetic corpus."),
            click.option("--revision", metavar="REV", help="Revision of a dataset on the Hub."),
        )
    ):
        command = option(command)
    return command


def open_from(
    spec: str,
    more: Sequence[str],
    raw: Sequence[str],
    format_: str | None,
    language: str | None,
    size: int | None,
    revision: str | None,
    *,
    seed: int = 0,
    progress: bool = False,
) -> Source:
    """The source that :func:`source_options` describe. Files after the first one of ``--raw`` are its too."""
    from asqp_datasets.errors import UsageError
    from asqp_datasets.sources import open_source

    if more and not raw:
        raise UsageError(
            f"arguments: found {' '.join(more)!r} after {spec!r}, expected one dataset (files go after --raw)"
        )
    return open_source(
        spec,
        raw=(*raw, *more),
        format=format_,
        language=language,
        size=size,
        seed=seed,
        revision=revision,
        progress=progress,
    )


def show_progress(quiet: bool) -> bool:
    """Bars are for people: none when asked for, none where nobody watches."""
    return not quiet and sys.stderr.isatty()


class Rejected:
    """Counts the lines that a command could not read, and says so at the end."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def __call__(self, record: Record) -> None:
        """Take note of one."""
        if not self.count:
            self.first = f"{record.path}:{record.line}: {record.issues[0].message}"
        self.count += 1

    def report(self) -> None:
        """If there were any, name the first on stderr and end with exit code 1."""
        if self.count:
            click.echo(
                f"asqp: {self.count} lines could not be read and are left out; the first: {self.first}", err=True
            )
            click.get_current_context().exit(1)


def print_json(value: Any) -> None:
    """JSON to stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", wrap: int = -1) -> None:
    """A table to stdout; cells are plain text, whatever they hold. Numbers stand on the right, nothing is cut off.

    Args:
        columns: Column heads.
        rows: Cells, one sequence a row.
        title: A line above.
        wrap: The column that is folded over several lines where the terminal is narrow.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    wrap %= max(1, len(columns))
    heads, cells = [_cell(name) for name in columns], [[_cell(value) for value in row] for row in rows]
    widths = [
        max(cell_len(line) for text in (head, *(row[index] for row in cells)) for line in text.split("\n"))
        for index, head in enumerate(heads)
    ]
    # Borders and padding take 3 a column and 1; what is left over goes to the column that folds, 24 at least.
    others = sum(widths) - widths[wrap] + 3 * len(widths) + 1
    widths[wrap] = min(widths[wrap], max(24, terminal_width() - others))
    table = Table(title=Text(_cell(title)) if title else None, title_justify="left", header_style="bold")
    for index, (head, width) in enumerate(zip(heads, widths, strict=True)):
        numeric = bool(rows) and all(isinstance(row[index], int | float) or row[index] in ("", "-") for row in rows)
        table.add_column(Text(head), justify="right" if numeric else "left", width=width, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(width=max(others + widths[wrap], terminal_width())).print(table)


def terminal_width() -> int:
    """The columns of the terminal; a fixed number where the output goes to a file or pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 140


def printable(text: str) -> str:
    """Text without control characters: they could steer a terminal. New lines stay."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _cell(value: object) -> str:
    return printable(f"{value:.2f}" if isinstance(value, float) else str(value))
