"""The three methods applied to the cohort they were fitted on, as in the paper, and measured.

- leakage: largest cross-fitted R² of any probe that reads motion, from z and from A*; ``passes``
  when no probe beats permuted motion. Intervals by Fisher's transformation.
- group difference: Frobenius norm of large − small motion, after / before (the paper's figure as a
  number). A perfect method does not reach 0: see the row of the truth.
- fidelity: R² of A* against the same subjects' motion-free networks, log1p scale, about the mean
  network: 1 is the person's own network, 0 the same mean network for everybody; identified: how
  often the nearest motion-free network is the person's own. Where no truth is known (real data),
  both are against the observed networks, which contain the effect of motion.
- KL, active units: how much information z carries about a person; an empty z has no motion either.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.base import clone

from stillome import StillomeWarning, leakage_certificate
from stillome.cohort.groups import group_levels, held_out
from stillome.cohort.motion_groups import MotionGroups
from stillome.evaluate import fidelity_r2, identification_rate, probe_scores
from stillome.evaluate.compare.comparison_fits import FEWEST_PROBED
from stillome.methods.contract import ConnectomeMethod
from stillome.plot.component_plane import Projection
from stillome.studies.intervals import jackknife, two_decimals, with_interval
from stillome.studies.study import (
    ALL_COLUMNS,
    Options,
    fit_quietly,
    in_columns,
)

Array = NDArray[Any]
OBSERVED, TRUTH = "observed", "motion-free truth"
PERMUTATIONS = 200


@dataclass(frozen=True, eq=False)
class Applied:
    """What a method made of a cohort: z (n, K), A* (n, E), and how it was trained.

    `unseen` has figures of subjects whom a second model, fitted to the others, has not seen.
    """

    Z: Array
    adjusted: Array
    kl: float
    active_units: int
    epochs: int
    unseen: Mapping[str, float] = field(default_factory=dict)


def apply_method(
    model: ConnectomeMethod,
    X: Array,
    confounds: Array,
    truth: Array | None,
    options: Options,
    families: Array | None = None,
) -> Applied:
    """Fit, and decode everybody without motion (c = 0); full runs also decode unseen subjects."""
    fitted = fit_quietly(clone(model), X, confounds=confounds, groups=families)
    Z, adjusted = _decoded(fitted, X, confounds)
    told = fitted.diagnostics_
    return Applied(
        Z,
        adjusted,
        float(told.kl),
        int(told.active_units),
        len(getattr(fitted, "history_", ())),
        {} if options.quick else unseen_figures(model, X, confounds, truth, options.seed, families),
    )


def unseen_figures(
    model: ConnectomeMethod,
    X: Array,
    confounds: Array,
    truth: Array | None,
    seed: int,
    families: Array | None = None,
) -> dict[str, float]:
    """Fit to 70 % of the subjects, and measure what is made of the others; families stay whole."""
    order = np.random.default_rng(seed).permutation(len(X))
    levels = None if families is None else group_levels(families, len(X))
    test, train = held_out(order, round(0.7 * len(X)), levels)  # the first of the order learn
    if len(test) < FEWEST_PROBED:
        return {}
    learning, tested = (None if levels is None else levels[part] for part in (train, test))
    fitted = fit_quietly(clone(model), X[train], confounds=confounds[train], groups=learning)
    moved, target = confounds[test], (X if truth is None else truth)[test]
    Z, adjusted = _decoded(fitted, X[test], moved)
    given: dict[str, Any] = {"groups": tested, "random_state": seed}
    scores = {"leakage_z": probe_scores(Z, moved, **given)} if np.ptp(Z) else {}
    scores["leakage_adjusted"] = probe_scores(adjusted, moved, kind="counts", **given)
    return {name: max(found.values()) for name, found in scores.items()} | {
        "fidelity": fidelity_r2(adjusted, target),
        "identified": identification_rate(adjusted, target),
    }


def _decoded(fitted: ConnectomeMethod, X: Array, confounds: Array) -> tuple[Array, Array]:
    with warnings.catch_warnings():
        # No subject has zero motion: c = 0 is an extrapolation, which the paper makes as well.
        warnings.simplefilter("ignore", StillomeWarning)
        adjusted = fitted.adjust(X, confounds=confounds, reference=[0.0] * confounds.shape[1])
        return np.asarray(fitted.transform(X, confounds=confounds)), np.asarray(adjusted)


def measures(
    applied: Mapping[str, Applied],
    X: Array,
    confounds: Array,
    groups: Mapping[str, MotionGroups],
    truth: Array | None,
    options: Options,
) -> pd.DataFrame:
    """Return one row for what was observed, for the truth if known, and for each method.

    Parameters
    ----------
    groups : mapping of str to MotionGroups
        By measure of motion; each has a column of group differences.
    options : Options
        Quick runs do not probe A*, which takes longest.
    """
    seed = options.seed
    target = X if truth is None else truth
    plain = {OBSERVED: X} | ({} if truth is None else {TRUTH: truth})
    rows = []
    for name, edges in [*plain.items(), *((n, a.adjusted) for n, a in applied.items())]:
        row: dict[str, Any] = {"method": name, "subjects": len(X)}
        if name in applied:
            found = applied[name]
            row |= {"epochs": found.epochs, "kl_nats": found.kl, "active_units": found.active_units}
            row |= _leakage("leakage_z", found.Z, confounds, "features", seed)
        if not options.quick and name != TRUTH:
            row |= _leakage("leakage_adjusted", edges, confounds, "counts", seed)
        for measure, members in groups.items():
            row |= _difference(f"difference_{measure}", edges, X, members, seed)
        row |= _fidelity(edges, target, seed)
        if name in applied:
            row |= {f"{figure}_unseen": value for figure, value in applied[name].unseen.items()}
        rows.append(row)
    return pd.DataFrame(rows)[list(dict.fromkeys(c for row in rows[::-1] for c in row))]


def component_table(
    networks: Mapping[str, Array], latents: Mapping[str, Array], motion: pd.DataFrame
) -> pd.DataFrame:
    """Return the scores that `plot_components` draws, one row per subject."""
    table = {str(column): motion[column].to_numpy() for column in motion}
    shared = Projection.of(np.asarray(next(iter(networks.values())), dtype=float), 2)
    for title, features in ({**networks, **latents}).items():
        axes = shared if title in networks else Projection.of(np.asarray(features, dtype=float), 2)
        for k, scores in enumerate(axes.scores(features).T, start=1):
            table[f"{title}, PC{k}"] = scores
    return pd.DataFrame(table)


def correction_table(X: Array, adjusted: Array, groups: MotionGroups) -> pd.DataFrame:
    """Return the share of edges changed by so many fibres in both groups, as `plot_correction`."""
    bounds = [-np.inf, -1000, -100, -10, -0.5, 0.5, 10, 100, 1000, np.inf]
    table = pd.DataFrame({"fibres_from": bounds[:-1], "fibres_to": bounds[1:]})
    for size, members in zip(("small", "large"), groups[:2], strict=True):
        change = (adjusted[members] - X[members].astype(float)).ravel()
        table[f"share_{size}_motion"] = np.histogram(change, bounds)[0] / len(change)
        table[f"mean_{size}_motion"] = change.mean()
    return table


def _leakage(name: str, features: Array, confounds: Array, kind: Any, seed: int) -> dict[str, Any]:
    if not np.ptp(features, axis=0).any():  # collapsed: carries no information at all
        return dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_p"), np.nan) | {
            f"{name}_passes": False
        }
    found = leakage_certificate(
        features, confounds, kind=kind, n_permutations=PERMUTATIONS, random_state=seed
    )
    r = np.sign(found.worst_r2) * np.sqrt(abs(found.worst_r2))
    half = 1.96 / np.sqrt(len(features) - 3)
    low, high = np.tanh(np.arctanh(np.clip(r, -0.999999, 0.999999)) + np.array([-half, half]))
    return {
        name: found.worst_r2,
        f"{name}_low": low * abs(low),
        f"{name}_high": high * abs(high),
        f"{name}_p": found.table["p_holm"].min(),
        f"{name}_passes": found.passed,
    }


def _difference(
    name: str, edges: Array, X: Array, groups: MotionGroups, seed: int
) -> dict[str, Any]:
    def ratio(kept: NDArray[np.intp]) -> float:
        small, large = (np.intersect1d(members, kept) for members in groups[:2])
        after, before = (
            np.linalg.norm(part[large].mean(axis=0) - part[small].mean(axis=0))
            for part in (edges, X)
        )
        return float(after / before)

    return _with_bounds(name, ratio, len(X), seed)


def _fidelity(edges: Array, truth: Array, seed: int) -> dict[str, Any]:
    rate = identification_rate(edges, truth)
    hits = binomtest(round(rate * len(edges)), len(edges)).proportion_ci(method="wilson")
    found = _with_bounds(
        "fidelity", lambda kept: fidelity_r2(edges[kept], truth[kept]), len(edges), seed
    )
    return found | {"identified": rate, "identified_low": hits.low, "identified_high": hits.high}


def _with_bounds(name: str, statistic: Any, n_subjects: int, seed: int) -> dict[str, Any]:
    value, (low, high) = jackknife(statistic, n_subjects, seed)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def shown(table: pd.DataFrame, method: str, name: str) -> str:
    """Write one figure of `measures` with its interval."""
    row = table.set_index("method").loc[method]
    if pd.isna(row[name]):
        return "empty: the same for everybody"
    text = with_interval(row[name], (row[f"{name}_low"], row[f"{name}_high"]))
    if f"{name}_passes" in row:
        text += ", passes" if row[f"{name}_passes"] else f", fails (p = {row[f'{name}_p']:.2g})"
    if f"{name}_unseen" in row and not pd.isna(row[f"{name}_unseen"]):
        text += f"; unseen people {two_decimals(row[f'{name}_unseen'])}"
    return text


def figures_of(table: pd.DataFrame, name: str) -> dict[str, Any]:
    """Return one figure of the methods that were applied, by the fields of `Claim`."""
    there = [m for m in ALL_COLUMNS if m in set(table["method"])]
    return in_columns({m: shown(table, m, name) for m in there})


def person_figures(table: pd.DataFrame, best: float = 1.0) -> dict[str, Any]:
    """Return how much of a person A* keeps: R² as a share of the best, and who is identified."""
    found = table.set_index("method")

    def told(name: str, row: "pd.Series[Any]", scale: float) -> str:
        value, low, high = (row[f"{name}{end}"] / scale for end in ("", "_low", "_high"))
        text = with_interval(value, (low, high))
        unseen = row.get(f"{name}_unseen", np.nan) / scale
        return text if pd.isna(unseen) else f"{text}, unseen {two_decimals(unseen)}"

    cells = {}
    for m in ALL_COLUMNS:
        if m in found.index:
            row = found.loc[m]
            cells[m] = f"{told('fidelity', row, best)}; identified {told('identified', row, 1.0)}"
    return in_columns(cells)
