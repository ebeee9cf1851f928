"""The list of verbs, and what every one of them does with mistakes and interruptions.

A new verb is a function in a file of its own, whose docstring is its help; it is added to `VERBS`.
"""

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from types import TracebackType
from typing import Annotated, TextIO

import typer
from typer.exceptions import TyperException

from stillome.cli.adapt import adapt
from stillome.cli.adjust import adjust
from stillome.cli.bids import bids
from stillome.cli.certify import certify
from stillome.cli.compare import compare
from stillome.cli.console import Stopped, complain, log_to_stderr
from stillome.cli.convert import convert
from stillome.cli.demo import demo
from stillome.cli.fit import fit
from stillome.cli.inspect import inspect
from stillome.cli.motion import motion
from stillome.cli.option_words import in_options, speak_as
from stillome.cli.predict import predict
from stillome.cli.process import Output, stopped_by_signals
from stillome.cli.report import report
from stillome.cli.reproduce import reproduce
from stillome.cli.run import run
from stillome.cli.sample import sample
from stillome.cli.simulate import simulate
from stillome.cli.transform import transform
from stillome.exceptions import StillomeError, StillomeWarning

VERBS: tuple[Callable[..., None], ...] = (
    *(run, demo, inspect, convert, motion, simulate, fit, transform, adjust, predict, certify),
    *(compare, adapt, sample, report, bids, reproduce),
)

SUCCESS = 0
OUR_MISTAKE = 1
USERS_MISTAKE = 2
INTERRUPTED = 130
STOPPED = "Stopped; nothing was left half-written."

app = typer.Typer(
    name="stillome",
    no_args_is_help=True,
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
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", callback=log_to_stderr, help="Log what is done.")
    ] = False,
) -> None:
    """Structural connectomes without head motion."""
    verb = context.command.get_command(context, context.invoked_subcommand or "")  # type: ignore[attr-defined]
    speak_as([] if verb is None else verb.params)


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
    with warnings.catch_warnings(), stopped_by_signals(), redirect_stdout(Output(sys.stdout)):
        warnings.showwarning = _show_warning
        code = _answer(arguments)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        # Whoever read our output has had enough, or its disk is full; the work itself is done, and
        # nothing more is to be flushed at the exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _answer(arguments: Sequence[str] | None) -> int:
    try:
        # Not `app(...)`, which would put a hook of its own in place of ours.
        command = typer.main.get_command(app)
        code = command.main(args=arguments, prog_name="stillome", standalone_mode=False)
    except StillomeError as error:
        complain(in_options(str(error)))
        return USERS_MISTAKE
    except MemoryError:
        complain(
            "The memory of this machine does not suffice. Close other programs, use fewer --jobs "
            "or subjects, or a machine with more memory."
        )
        return USERS_MISTAKE
    except Stopped as how:
        complain(f"{STOPPED} {how}")
        return INTERRUPTED
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except TyperException as error:
        # An option or argument that is missing, unknown or cannot be read.
        complain(_sentence(error))
        return USERS_MISTAKE
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return SUCCESS
        raise
    if code == INTERRUPTED:
        complain(STOPPED)
    return int(code or SUCCESS)


def _sentence(error: TyperException) -> str:
    """Say what is wrong with the arguments; without any, the help is the answer."""
    text = str(getattr(error, "format_message", error.__str__)())
    if "\n" in text:
        return text
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "stillome"
    return f"{text.rstrip('.')}. See `{command} --help`."


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
        complain(f"Note: {in_options(str(message))}")


def _report_our_mistake(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    traceback.print_exception(kind, error, trace)
    complain(
        "This is a fault of stillome, not of your data. Please open an issue with the lines above "
        "and the output of `stillome --version`; CONTRIBUTING.md says how."
    )
