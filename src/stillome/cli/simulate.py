"""`stillome simulate`: a simulated study in files, with its motion-free truth."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.console import heading, steps
from stillome.cli.options import CohortForm, CohortFormat, Overwrite, Quiet, Seed

if TYPE_CHECKING:
    from stillome.io.write_cohort import CohortFiles


class RegimeName(StrEnum):
    """How motion acts: regimes of `simulate_cohort`, then head motion of `simulate_scans`.

    Nuisances that are no head motion are not here: `stillome run` needs a motion table.
    """

    loglinear = "loglinear"
    saturating = "saturating"
    interaction = "interaction"
    heteroscedastic = "heteroscedastic"
    confounded = "confounded"
    curved = "curved"
    thinning = "thinning"
    motion = "motion"
    thinned = "thinned"
    lost_volumes = "lost-volumes"


def simulate(
    out: Annotated[Path, typer.Option(help="The folder for the study.")],
    subjects: Annotated[int, typer.Option(min=1, max=10**6, help="How many subjects.")] = 400,
    regime: Annotated[
        RegimeName,
        typer.Option(
            help="How motion acts on a scan. With motion, thinned and lost-volumes, counts look "
            "like those of a real pipeline: none below 3, and half of them 0."
        ),
    ] = RegimeName.thinning,
    seed: Seed = 0,
    form: CohortFormat = CohortForm.mrtrix,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a simulated study into files: connectomes, motion, traits, and the motion-free truth.

    68 regions, five traits. The folder gets connectomes, motion.tsv, participants.tsv, the names
    of the regions, fibre lengths, and in truth the same scans without motion.

    Example: stillome simulate --subjects 200 --out study
    """
    from stillome.io.write import DESCRIPTION
    from stillome.io.write_cohort import write_cohort
    from stillome.persistence import check_replaceable
    from stillome.simulate import NUISANCES, REGIMES, simulate_cohort, simulate_scans

    check_replaceable(out, overwrite=overwrite, marker=DESCRIPTION)
    with steps(2, quiet=quiet) as step:
        step("Simulating")
        simulate_family = simulate_scans if regime in NUISANCES else simulate_cohort
        simulated = simulate_family(subjects, regime.value, random_state=seed)
        step("Writing")
        files = write_cohort(
            out,
            simulated.cohort,
            form=form.value,
            motion_free=simulated.motion_free,
            description=f"simulated fibre counts ({regime.value})",
            random_state=seed,
            overwrite=overwrite,
        )
    if quiet:
        print(out)
        return
    print(f"{subjects} simulated subjects, {simulated.cohort.n_regions} regions, in {out}")
    print(f"{regime.value}: {(REGIMES | NUISANCES)[regime].meaning}")
    print(heading("\nNow run"))
    print(f"  {run_command(files, list(simulated.cohort.traits.columns)[:1])}")


def run_command(files: "CohortFiles", traits: list[str]) -> str:
    """Return the command that takes these files from raw connectomes to a report."""
    words = ["stillome", "run", "--connectomes", files.connectomes]
    for option in ("motion", "lengths", "truth"):
        place = getattr(files, option)
        words += [f"--{option}", place] if place is not None else []
    words += ["--labels", files.regions]
    if files.participants is not None and traits:
        words += ["--traits", files.participants]
        words += [word for trait in traits for word in ("--trait", trait)]
    return shlex.join([*map(str, words), "--out", f"{files.connectomes.parent}-results"])
