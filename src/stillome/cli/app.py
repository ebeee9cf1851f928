"""The list of verbs, and what every one of them does with mistakes and interruptions.

A new verb is a function in a file of its own, whose docstring is its help; it is added to `VERBS`.
"""

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Annotated, TextIO

import typer
from typer.exceptions import TyperException

from stillome.cli.console import complain
from stillome.cli.demo import demo
from stillome.cli.inspect import inspect
from stillome.cli.motion import motion
from stillome.exceptions import StillomeError, StillomeWarning

VERBS: tuple[Callable[..., None], ...] = (demo, inspect, motion)

SUCCESS = 0
OUR_MISTAKE = 1
USERS_MISTAKE = 2
INTERRUPTED = 130

app = typer.Typer(
    name="stillome",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        from stillome import __version__

        print(f"stillome {__version__}")
        raise typer.Exit


@app.callback()
def _stillome(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Structural connectomes without head motion."""


for _verb in VERBS:
    app.command()(_verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after ``stillome``; by default what the process was started with.

    Returns
    -------
    int
        0 when all went well, 2 after one sentence about the user's mistake, 130 after Ctrl-C. A
        fault of stillome itself is raised on; the process then ends with 1 and says where to
        report it.
    """
    sys.excepthook = _report_our_mistake
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            # Not `app(...)`, which would put a hook of its own in place of ours.
            command = typer.main.get_command(app)
            code = command.main(args=arguments, prog_name="stillome", standalone_mode=False)
        except StillomeError as error:
            complain(str(error))
            return USERS_MISTAKE
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except TyperException as error:
            # An option or argument that is missing, unknown or cannot be read.
            complain(_sentence(error))
            return USERS_MISTAKE
    if code == INTERRUPTED:
        complain("Stopped; nothing was left half-written.")
    return int(code or SUCCESS)


def _sentence(error: TyperException) -> str:
    """Say what is wrong with the arguments; without any, the help is the answer."""
    text = str(getattr(error, "format_message", error.__str__)())
    if "\n" in text:
        return text
    return f"{text.rstrip('.')}. See `stillome --help`."


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Give our own warnings as one sentence; those of libraries concern developers only."""
    if issubclass(category, StillomeWarning):
        complain(f"Note: {message}")


def _report_our_mistake(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    traceback.print_exception(kind, error, trace)
    complain(
        "This is a fault of stillome, not of your data. Please open an issue with the lines above "
        "and the output of `stillome --version`; CONTRIBUTING.md says how."
    )
