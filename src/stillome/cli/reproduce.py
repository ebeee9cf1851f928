"""`stillome reproduce`: the paper's figures and claims, study by study."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.console import heading, steps, table
from stillome.cli.options import Overwrite, Quiet, Seed
from stillome.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

EVERYTHING = "all"
CLAIMS = "CLAIMS.md"


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME|all", help="section4, traits …, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Small cohorts, few epochs.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="A folder of HCP or ABCD data; by default simulated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("reproduction"),
    seed: Seed = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's studies anew, and say which of its claims hold.

    Each study gets a folder OUT/NAME: figures (PDF and PNG), every number they show (TSV), claims
    and a manifest; all of them together also CLAIMS.md.

    Example: stillome reproduce section4 --quick
    """
    from stillome.studies import study

    names = chosen_studies(name, study.STUDIES)
    from stillome.persistence import check_replaceable

    places = [(out / each, study.MANIFEST) for each in names]
    places += [(out / CLAIMS, None)] if name == EVERYTHING else []
    # Looked at before hours of fitting, not after.
    for place, marker in places:
        check_replaceable(place, overwrite=overwrite, marker=marker)
    command = _command(name, quick, data, seed)
    options = study.Options(seed=seed, quick=quick, data=data)
    claims = {}
    with steps(len(names), quiet=quiet) as step:
        for each in names:
            step(each)
            told = replace(options, step=lambda what, each=each: step.say(f"{each}: {what}"))
            run = import_module(f"stillome.studies.{each}").run
            outcome = study.write_outcome(
                out / each, each, run, told, command=command, overwrite=overwrite
            )
            claims[each] = list(outcome.claims)
    if name == EVERYTHING:
        _write_page(out / CLAIMS, claims, study.manifest_of(options, command=command), overwrite)
    if quiet:
        print(out)
        return
    print(heading("Claims"))
    print(table(_verdicts(claims)))
    print(heading("\nResults"))
    print("\n".join(f"  {place}" for place, _ in places))


def chosen_studies(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the studies meant by one name, or by ``all``.

    Examples
    --------
    >>> chosen_studies("all", ["section4", "traits"])
    ('section4', 'traits')
    """
    if name == EVERYTHING:
        return tuple(known)
    if name not in known:
        raise InputError(f"There is no study {name!r}; choose among {', '.join(known)}, or all.")
    return (name,)


def _command(name: str, quick: bool, data: Path | None, seed: int) -> str:
    words = ["stillome", "reproduce", name, *(["--quick"] if quick else [])]
    words += ["--data", str(data)] if data is not None else []
    return shlex.join([*words, "--seed", str(seed)])


def _write_page(
    path: Path, claims: dict[str, list[Any]], manifest: dict[str, Any], overwrite: bool
) -> None:
    from stillome.persistence import written_aside

    page = import_module("stillome.studies.claims").claims_page(claims, manifest)
    with written_aside(path, overwrite=overwrite) as aside:
        aside.write_text(page, encoding="utf-8")


def _verdicts(claims: dict[str, list[Any]]) -> "pd.DataFrame":
    import pandas as pd

    rows = [
        {"study": each, "verdict": claim.verdict, "claim": claim.claim}
        for each, found in claims.items()
        for claim in found
    ]
    return pd.DataFrame(rows, columns=["study", "verdict", "claim"])
