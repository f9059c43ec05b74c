"""The ``asqp`` command: one thin module a group, over the rooms; nothing is computed here.

Commands are imported when they run, so that ``asqp --help`` answers at once.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from asqp_models.cli.options import printable


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed.

    Args:
        lazy: For each command its home as ``module:name`` and its line in the list of commands.
    """

    def __init__(self, *args: object, lazy: dict[str, tuple[str, str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the work, not of the alphabet."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self.lazy:
            return None
        module, name = self.lazy[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"asqp_models.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.lazy.items()])


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from asqp_datasets.cards import package_version

        click.echo(f"asqp {package_version()}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    lazy={
        "demo": ("demo:demo", "The main job on the embedded default: build, load, train, predict, score, report."),
        "data": ("data:data", "Corpora: list, fetch, build, check, describe, split, sub-task views."),
        "train": ("train:train", "Train a method on a dataset."),
        "predict": ("predict:predict", "Predict the quads of reviews."),
        "score": ("score:score", "Score predictions against gold quads."),
        "compare": ("score:compare", "Test whether two systems differ."),
        "errors": ("score:errors", "Name what is wrong with predictions."),
        "metric": ("metric:metric", "Where evaluate.load finds the metric."),
        "publish": ("publish:publish", "Put a dataset, model, metric or predictions on the Hub."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done; 1 the check or comparison says no; 2 bad input or usage.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """Aspect sentiment quad prediction: datasets, baselines and scores.

    \b
    Example:
      asqp demo
      asqp data build car --raw reviews.txt
      asqp train --method lexicon --dataset asqp/car --output runs/car
      asqp predict reviews.csv --model runs/car/checkpoint --out quads.jsonl
      asqp score quads.jsonl asqp/car
    """


def main() -> None:
    """Run the command; every mistake of the user's ends in one line and exit code 2."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("asqp: interrupted", err=True)
        code = 130
    except (ValueError, OSError) as error:
        message = _known(error)
        if message is None:
            raise
        click.echo(f"asqp: {printable(message)}", err=True)
        code = 2
    except SystemExit as gone:
        # click ends with 1 when whoever reads the output has gone; 1 is for a check that says no
        code = 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else gone.code
    sys.exit(code if isinstance(code, int) else 0)


def _known(error: ValueError | OSError) -> str | None:
    """The message of an error that a user can mend; None for one that is a fault of this program."""
    from asqp_datasets.errors import AsqpError
    from asqp_f1 import ScoreError

    if isinstance(error, AsqpError | ScoreError):
        return str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return None
