"""`stillome reproduce`: the paper's figures and claims, study by study."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.console import StepDisplay, heading, steps, table
from stillome.cli.options import Overwrite, Quiet, Seed
from stillome.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from stillome.studies.study import Claim, Options

CLAIMS = "CLAIMS.md"


@runs_on_cluster
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME|all", help="section4, traits …, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Small cohorts, few epochs.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="A folder of HCP or ABCD data; by default simulated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("reproduction"),
    group: Annotated[
        str | None,
        typer.Option(help="The column of families in the tables of --data: kept together."),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's studies, and say which of its claims hold.

    Each study gets a folder OUT/NAME: figures (PDF and PNG), every number they show (TSV), claims
    and a manifest; all of them together also CLAIMS.md. Most studies fit inv-VAE and GATE, which
    need torch; motion_effects and outliers do not.

    Example: stillome reproduce section4 --quick
    """
    from stillome.studies.catalogue import EVERYTHING, check_installed, chosen_studies, load_study

    names = chosen_studies(name)
    check_installed(names)
    from stillome.persistence import check_replaceable
    from stillome.studies.study import MANIFEST, Options, manifest_of, write_outcome

    places: list[tuple[Path, str | None]] = [(out / each, MANIFEST) for each in names]
    places += [(out / CLAIMS, None)] if name == EVERYTHING else []
    # Looked at before hours of fitting, not after.
    for place, marker in places:
        check_replaceable(place, overwrite=overwrite, marker=marker)
    if group is not None and data is None:
        raise InputError("--group needs --data: simulated cohorts have no families.")
    command = _command(name, quick, data, group, seed)
    options = Options(seed=seed, quick=quick, data=data, group=group)
    claims: dict[str, list[Claim]] = {}
    with steps(len(names), quiet=quiet) as step:
        for each in names:
            step(each)
            told = _reporting(options, step, each)
            outcome = write_outcome(
                out / each, each, load_study(each), told, command=command, overwrite=overwrite
            )
            claims[each] = list(outcome.claims)
    if name == EVERYTHING:
        _write_page(out / CLAIMS, claims, manifest_of(options, command=command), overwrite)
    if quiet:
        print(out)
        return
    print(heading("Claims"))
    print(table(_verdicts(claims)))
    print(heading("\nResults"))
    print("\n".join(f"  {place}" for place, _ in places))


def _reporting(options: "Options", step: StepDisplay, study: str) -> "Options":
    """Return the options of one study, whose steps are shown beside its name."""

    def say(what: str) -> None:
        step.say(f"{study}: {what}")

    return replace(options, step=say)


def _command(name: str, quick: bool, data: Path | None, group: str | None, seed: int) -> str:
    words = ["stillome", "reproduce", name, *(["--quick"] if quick else [])]
    words += ["--data", str(data)] if data is not None else []
    words += ["--group", group] if group is not None else []
    return shlex.join([*words, "--seed", str(seed)])


def _write_page(
    path: Path, claims: "dict[str, list[Claim]]", manifest: dict[str, Any], overwrite: bool
) -> None:
    from stillome.persistence import written_aside
    from stillome.studies.claims import claims_page

    with written_aside(path, overwrite=overwrite) as aside:
        aside.write_text(claims_page(claims, manifest), encoding="utf-8")


def _verdicts(claims: "dict[str, list[Claim]]") -> "pd.DataFrame":
    import pandas as pd

    rows = [
        {"study": each, "verdict": claim.verdict, "claim": claim.claim}
        for each, found in claims.items()
        for claim in found
    ]
    return pd.DataFrame(rows, columns=["study", "verdict", "claim"])
