"""What the studies share: what a study is given, what it returns, what becomes of it.

How a study is written
----------------------
A study is a module of `stillome.studies` that `catalogue.STUDIES` names with
the packages it needs. Its docstring says which part of the paper it reproduces; it uses public
names of stillome and of the modules beside it
(``from stillome.studies.study import Claim, Options, Outcome``). It has one function::

    def run(options: Options) -> Outcome: ...

- `Options` holds what the user asked for. Everything random is drawn from ``options.seed``;
  ``options.quick`` means small and under 20 seconds; ``options.data`` is a folder of real data
  (`studies.real_data.load_cohort`), None for simulated cohorts. ``options.step("Fitting GATE")``
  names the step that begins, for the progress bar.
- `Outcome` holds figures by file name (written as PDF and PNG), tables of every number they show
  by file name (written as TSV), the claims that were tested, the files read, and notes.
- A `Claim` is one row of ``CLAIMS.md``. Figures are text with an interval, as `with_interval`
  writes them, ``NOT_TESTED`` where a method has none. A claim that fails is reported like one that
  holds.

``stillome/studies/claims.py`` makes one page of all claims, ``claims_page(claims: Mapping[str,
Sequence[Claim]], manifest: Mapping[str, Any]) -> str``, from the claims by study and the entries
that `manifest_of` gives; `stillome reproduce all` writes it to ``OUT/CLAIMS.md``.

The methods that claims compare are made by `methods` and fitted by `fit_quietly`: the paper's graph
variational auto-encoder with the paper's settings (`InvVAE.as_published`) and trained to
convergence, GATE in the same two ways, and inv-FA (`InvFA`), which is stillome's default and no
variational auto-encoder. A verdict is given by intervals, not by the point; a claim whose answer
was put into a simulation is `UNTESTABLE` on it.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from stillome import InvFA, StillomeWarning
from stillome.cohort.edges import edge_indices
from stillome.io.write import provenance
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import make_method
from stillome.persistence import write_json, write_table, written_aside
from stillome.plot import save_figure
from stillome.studies.judged import Judged, to_text
from stillome.studies.network_training import CONVERGED_TRAINING, published_training
from stillome.studies.source_commit import source_commit

MANIFEST = "manifest.json"
AS_PUBLISHED, GATE, INV_FA = "inv-VAE (published)", "GATE", "inv-FA"
CONVERGED, GATE_CONVERGED = "inv-VAE (converged)", "GATE (converged)"
ALL_COLUMNS = (AS_PUBLISHED, CONVERGED, GATE, GATE_CONVERGED, INV_FA)
NOT_TESTED = "–"
Verdict = Literal[
    "holds",
    "holds only for inv-FA",
    "does not hold here",
    "not testable on simulated data",
    "no verdict",
]
HOLDS: Verdict = "holds"
ONLY_INV_FA: Verdict = "holds only for inv-FA"
FAILS: Verdict = "does not hold here"
UNTESTABLE: Verdict = "not testable on simulated data"  # its answer was put into the simulation
NO_VERDICT: Verdict = "no verdict"
QUICK_EPOCHS = 5
QUICK_NOTE = f"quick: {AS_PUBLISHED} and {GATE} were not trained to convergence"
# Whom a claim is about; the page counts each apart.
MODEL, OF_GATE, DATA = "the paper's model", "GATE", "the data"


@dataclass(frozen=True)
class Options:
    """What the user asked for; `group` is the column of families in tables of real data."""

    seed: int = 0
    quick: bool = False
    data: Path | None = None
    group: str | None = None
    step: Callable[[str], None] = field(default=lambda _: None, repr=False)

    def size(self, full: int, quick: int) -> int:
        """Return one number for full runs, another for quick ones."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what became of it.

    Attributes
    ----------
    claim : str
        In our words, one sentence.
    section : str
        Where the paper makes it: "Section 4, Figure 3 B".
    tested : str
        On what, and by which statistic.
    as_published, gate, inv_fa : str
        The statistic with its interval, for each method; `in_columns` names the fields.
    verdict : str
    why : str
        One sentence that explains the verdict.
    converged, gate_converged : str
        The statistic for the same networks trained to convergence; not in quick runs.
    about : str
        Whom the claim is about.
    judged : tuple of Judged
        The figures that decide, for runs with several seeds; none where a rule cannot be written
        so: then every seed must give the verdict.
    """

    claim: str
    section: str
    tested: str
    as_published: str
    gate: str
    inv_fa: str
    verdict: Verdict
    why: str
    converged: str = NOT_TESTED
    gate_converged: str = NOT_TESTED
    about: str = MODEL
    judged: tuple[Judged, ...] = ()

    def as_row(self) -> dict[str, str]:
        """Return the row of ``claims.tsv``."""
        return vars(self) | {"judged": to_text(self.judged)}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a study found; the keys of figures and numbers are file names without a suffix."""

    figures: Mapping[str, Figure]
    numbers: Mapping[str, pd.DataFrame]
    claims: Sequence[Claim] = ()
    inputs: Sequence[str] = ()
    notes: Sequence[str] = ()
    dropped: Mapping[str, Sequence[str]] = field(default_factory=dict)  # ids by reason


Study = Callable[[Options], Outcome]


def write_outcome(
    folder: Path,
    name: str,
    run: Study,
    options: Options,
    *,
    command: str,
    overwrite: bool = False,
) -> Outcome:
    """Run a study and write what it found; nothing is left of a study that fails.

    Raises
    ------
    FileError
        Before the study runs, if the folder may not be replaced.
    """
    with written_aside(folder, overwrite=overwrite, marker=MANIFEST) as aside:
        begun = time.perf_counter()
        outcome = run(options)
        options.step(f"Writing {name}")
        aside.mkdir()
        for title, figure in outcome.figures.items():
            save_figure(figure, aside / title, dpi=options.size(200, 80))
        for title, table in outcome.numbers.items():
            write_table(aside / f"{title}.tsv", table)
        write_table(
            aside / "claims.tsv", pd.DataFrame([claim.as_row() for claim in outcome.claims])
        )
        seconds = round(time.perf_counter() - begun, 1)
        told = manifest_of(options, command=command, inputs=outcome.inputs)
        what = {"Study": name, "Figures": list(outcome.figures), "Numbers": list(outcome.numbers)}
        write_json(
            aside / MANIFEST,
            what
            | told
            | {"Notes": list(outcome.notes), "Dropped": dict(outcome.dropped), "Seconds": seconds},
        )
    return outcome


def manifest_of(options: Options, *, command: str, inputs: Sequence[str] = ()) -> dict[str, Any]:
    """Return Command, Quick, Data, Seed, Versions, Inputs (with hashes) and Commit."""
    data = None if options.data is None else str(options.data)
    told = {"Command": command, "Quick": options.quick, "Data": data}
    commit = {"Commit": source_commit()}
    return told | provenance(inputs=inputs, random_state=options.seed) | commit


def methods(
    options: Options, *, simulation: bool = False, lengths: ArrayLike | None = None, **common: Any
) -> dict[str, ConnectomeMethod]:
    """Return the methods that claims compare, unfitted, by the names used in figures.

    They are inv-VAE and GATE with the paper's settings, both trained to convergence (in full runs),
    and inv-FA. `fit_quietly` fits them.

    Parameters
    ----------
    options : Options
        In quick runs the networks get `QUICK_EPOCHS` epochs; say so with `QUICK_NOTE`.
    simulation : bool, default=False
        Whether the paper's learning rate is that of its simulations.
    lengths : array of shape (V, V), optional
        Fibre lengths in mm.
    **common
        Parameters that all three take, as ``n_components``.

    Raises
    ------
    MissingExtraError
        If torch is not installed.
    """
    from stillome import InvVAE

    published = published_training(simulation=simulation)
    published |= {"max_epochs": QUICK_EPOCHS} if options.quick else {}
    common |= {"lengths": lengths, "random_state": options.seed}
    found: dict[str, ConnectomeMethod] = {
        AS_PUBLISHED: InvVAE.as_published(**(published | common)),
        GATE: make_method("gate", **published, **common),
    }
    if not options.quick:
        from stillome.studies.converged_networks import ConvergedGATE, ConvergedInvVAE

        found[CONVERGED] = ConvergedInvVAE.as_published(**(CONVERGED_TRAINING | common))
        found[GATE_CONVERGED] = ConvergedGATE(**CONVERGED_TRAINING, **common)
    return found | {INV_FA: InvFA(**common)}


def fit_quietly(model: ConnectomeMethod, X: ArrayLike, **given: Any) -> ConnectomeMethod:
    """Fit without warnings: the tables of every study show whether a latent collapsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StillomeWarning)
        return model.fit(X, **given)


def verdict(*, published: bool, inv_fa: bool) -> Verdict:
    """Return the verdict on a claim of the paper, from which of the two methods fulfils it.

    Examples
    --------
    >>> verdict(published=False, inv_fa=True)
    'holds only for inv-FA'
    """
    if published:
        return HOLDS
    return ONLY_INV_FA if inv_fa else FAILS


def in_columns(shown: Mapping[str, str]) -> dict[str, Any]:
    """Return one text per method, by the fields of `Claim`.

    Examples
    --------
    >>> in_columns({AS_PUBLISHED: "0.3", GATE: "0.5", INV_FA: "0.9"})
    {'as_published': '0.3', 'gate': '0.5', 'inv_fa': '0.9'}
    """
    fields = {
        "as_published": AS_PUBLISHED,
        "gate": GATE,
        "inv_fa": INV_FA,
        "converged": CONVERGED,
        "gate_converged": GATE_CONVERGED,
    }
    return {field: shown[name] for field, name in fields.items() if name in shown}


def edge_table(matrices: Mapping[str, NDArray[Any]], regions: pd.DataFrame) -> pd.DataFrame:
    """Return matrices (V, V) as a table with one row per edge and one column each."""
    rows, columns = edge_indices(len(regions))
    names = regions["name"].to_numpy()
    ends = {"region_a": names[rows], "region_b": names[columns]}
    values = {title: np.asarray(matrix)[rows, columns] for title, matrix in matrices.items()}
    return pd.DataFrame(ends | values)
