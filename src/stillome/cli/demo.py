"""`stillome demo`: exactly `stillome run`, on a simulated study whose truth is known."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.options import Jobs, OverwriteRun, Quiet, Repeats, Report, Resume, Verbose
from stillome.cli.run import perform

if TYPE_CHECKING:
    from stillome.run import RunSettings

N_SUBJECTS = 400
N_TRAITS = 2
REGIME = "thinning"


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for the results; what goes in stands beside it.")
    ] = Path("stillome-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another cohort.")] = 0,
    repeats: Repeats = 2,
    jobs: Jobs = 2,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    report: Report = True,
    resume: Resume = False,
    overwrite: OverwriteRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Simulate a realistic study and run everything on it.

    400 subjects, 68 regions, two traits; every streamline survives with a probability that falls
    with motion and length. The study is written to files first, as MRtrix3 would, and then read
    like any other; its motion-free truth is known and compared with.

    Example: stillome demo --out demo --open
    """
    from stillome.persistence import check_replaceable
    from stillome.run import command_line
    from stillome.run.run_files import FILES
    from stillome.run.stepping import check_writable

    check_writable(out)
    if not resume:
        check_replaceable(out, overwrite=overwrite, marker=FILES["header"].name)
    settings = write_study(out, seed, repeats, overwrite=overwrite or resume)
    if not quiet:
        print(
            f"A simulated study, as if you had said\n  {command_line(settings, out)}\n", flush=True
        )
    again = f"stillome demo --out {shlex.quote(str(out))} --seed {seed} --jobs {jobs}"
    again += f" --repeats {repeats}"
    perform(
        settings,
        out,
        jobs=jobs,
        report=report,
        resume=resume,
        overwrite=overwrite,
        quiet=quiet,
        again=again,
    )
    if show:
        typer.launch(str(out / "report.html"))


def write_study(out: Path, seed: int, repeats: int, *, overwrite: bool) -> "RunSettings":
    """Write the simulated study beside the results, and return how to run it."""
    from stillome.io.write_cohort import write_cohort
    from stillome.run import RunSettings
    from stillome.simulate import simulate_cohort

    simulated = simulate_cohort(N_SUBJECTS, REGIME, n_traits=N_TRAITS, random_state=seed)
    files = write_cohort(
        # An empty name and ".." have no name of their own to put something beside.
        out.parent / f"{out.resolve().name}-input",
        simulated.cohort,
        motion_free=simulated.motion_free,
        description=f"simulated fibre counts ({REGIME})",
        random_state=seed,
        overwrite=overwrite,
    )
    return RunSettings(
        connectomes=(str(files.connectomes),),
        motion=(str(files.motion),),
        traits=(str(files.participants),),
        trait=tuple(simulated.cohort.traits.columns),
        confounds=simulated.confound_columns,
        labels=str(files.regions),
        lengths=str(files.lengths),
        truth=(str(files.truth),),
        repeats=repeats,
        seed=seed,
    )
