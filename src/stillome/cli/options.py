"""Options that several verbs share, each with its name and help in one place."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import log_to_stderr

Connectomes = Annotated[
    list[str],
    typer.Option(help="A folder, files or a quoted pattern; repeat for several."),
]
Motion = Annotated[
    list[str],
    typer.Option(help="A motion table, or folders of eddy, QSIPrep, FLIRT …; repeat for several."),
]
MotionIfKnown = Annotated[
    list[str] | None,
    typer.Option("--motion", help="As for fit; inv-fa infers the motion of subjects without."),
]
Traits = Annotated[
    list[str] | None,
    typer.Option(help="Tables of subjects (participants.tsv) or a BIDS folder."),
]
TraitsNeeded = Annotated[
    list[str], typer.Option("--traits", help="Tables of subjects (participants.tsv).")
]
TraitsOfModel = Annotated[
    list[str] | None,
    typer.Option("--traits", help="Tables with the site or the like that the model removes."),
]
Trait = Annotated[
    list[str] | None, typer.Option(help="A column of the traits to predict; repeat for several.")
]
Confound = Annotated[
    list[str] | None,
    typer.Option(
        help="Any column of numbers in the motion tables (by default the first usual name that is "
        "there, such as rms_mm or mean_fd), or a column of the traits (site); repeat for several."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of the traits, numbers or text (age, sex), whose effect on connectomes must "
        "stay although it is correlated with motion; repeat for several."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        "--keep-together",
        help="A column of the traits (family) whose members are never divided; scans of a person "
        "never are.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="inv-fa (factor analysis without motion), inv-vae (graph VAE on the same stages; "
        "with --set preset=published the paper's own), gate, "
        "combat, sog, pca-regression, edgewise or raw (nothing is removed)."
    ),
]
Baseline = Annotated[
    list[str], typer.Option(help="A method to compare with; repeat for several, or none.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE, a parameter of the method; repeat for several."),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="How much of the dependence between latents and motion is removed; a number, or "
        "auto. Short for --set invariance_weight=…"
    ),
]
Reference = Annotated[
    list[str],
    typer.Option(
        help="What to adjust to: 0.1, one for each measure of motion, or NAME=VALUE for each "
        "confound: rms_mm=0.1, site=B."
    ),
]
Labels = Annotated[
    str | None, typer.Option(help="A file with the regions' names, or dk68, where files have none.")
]
Lengths = Annotated[str | None, typer.Option(help="Fibre lengths in mm: a matrix or a folder.")]
Atlas = Annotated[str | None, typer.Option(help="Which atlas, if files hold several.")]
Measure = Annotated[str | None, typer.Option(help="Which measure, if files hold several.")]
Symmetrize = Annotated[
    str | None, typer.Option(help="max, mean or upper, for matrices that are not symmetric.")
]
Session = Annotated[
    str | None, typer.Option(help="One session, where subjects have several; else all are scans.")
]
Subjects = Annotated[
    list[str] | None,
    typer.Option(
        "--subjects",
        "--subject",
        help="An id, or a file with one id per line; repeat for several. By default everybody.",
    ),
]
Dropped = Annotated[
    Path | None, typer.Option(help="A table (dropped.tsv) for who was left out, and why.")
]
Truth = Annotated[
    list[str] | None, typer.Option(help="Motion-free connectomes, of simulated subjects.")
]
Repeats = Annotated[
    int,
    typer.Option(
        min=0,
        max=1000,
        help="How often subjects are divided anew to measure the motion left in subjects the "
        "model has not seen; 0: not measured.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int, typer.Option(min=1, max=1000, help="How many fits run at a time.")]
Report = Annotated[bool, typer.Option(help="Draw the figures and write the report.")]
WithSubjects = Annotated[
    bool,
    typer.Option(
        "--with-subjects",
        help="Show ids, rows and connectomes of single subjects in the report, which is then not "
        "for everybody.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue where a run was stopped.")]
OverwriteRun = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print the name of the result only.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", callback=log_to_stderr, help="Log what is done.")
]
ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="What `stillome fit` wrote, or RUN/model.")
]


class AdjustedForm(StrEnum):
    """Formats in which adjusted connectomes are written."""

    same = "same"
    relmat = "relmat"


AdjustedFormat = Annotated[
    AdjustedForm,
    typer.Option("--format", help="Adjusted connectomes as BIDS (relmat), or as they came (same)."),
]


class CouplingName(StrEnum):
    """How counts at the reference depend on the observed ones, in draws and bounds."""

    thinning = "thinning"
    quantile = "quantile"


class CohortForm(StrEnum):
    """Formats in which whole cohorts are written."""

    mrtrix = "mrtrix"
    relmat = "relmat"
    npz = "npz"
    hdf5 = "hdf5"
    mat = "mat"


CohortFormat = Annotated[
    CohortForm,
    typer.Option(
        "--format",
        help="Plain matrices (mrtrix), BIDS (relmat), or one stack (npz, hdf5, mat).",
    ),
]
