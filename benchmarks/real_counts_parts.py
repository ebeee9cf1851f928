"""The parts of `real_counts.py`: each measures one cohort with one seed and returns rows.

The limit that theory gives (part "training")
---------------------------------------------
Suppose that a method knows everything of the generator except each edge's own deviation of the
motion effect. These deviations are independent of each other, so that each can be estimated from
its own edge only. Let s² be the variance of the deviation per standard deviation of motion. Let v
be the sampling variance of the edge's slope: the residual variance of its log counts, given motion
and 60 components, divided by the number of training subjects. The best estimate then has an error
δ with the posterior variance v s² / (v + s²), and adjusted counts contain this error in proportion
to motion. The limit is the R² of the ridge probe on log(1 + truth · exp(δ · standardised motion)).

It is an approximation, not a bound that was proved. The variance s² and all shared effects are
taken as known. Counts near 0 change less on the scale of log(1 + count) than on the log scale: v is
divided by the squared mean of count / (1 + count). The residual variance is that of the largest
training sample.
"""

import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from real_counts_cohorts import (
    USES,
    Outcome,
    Split,
    is_binary,
    outcome,
    ridge_r2,
    ridge_scores,
    scores_of_probes,
    simulate,
)
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.cohort.residuals import residualised
from stillome.evaluate.fidelity import fidelity_r2
from stillome.evaluate.graph_measures import GRAPH_MEASURES, graph_measures
from stillome.evaluate.identity import identification_rate
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.registry import make_method
from stillome.simulate import SimulatedCohort
from stillome.simulate.scan_oracle import ScanOracle

Row = dict[str, Any]
VIEWS = ("zeros", "summary", "graph measures", "regions")
EDGE_PROBES = ("ridge", "svr", "trees", "distance correlation")
RATIOS = ("density", "clustering", "efficiency")
COUPLINGS = {
    "thinning": "thinning",
    "loglinear": "quantile",
    "scans-thinned": "thinning",
    "scans-motion": "thinning",
}
KEPT_TRAITS = 2
LARGE = 10  # fibres
LEVEL = 0.9
# Standard deviation of an edge's own part of the motion effect, relative to the mean effect
# (`simulate.population`) and on the log scale (`simulate.scan_population`).
_OWN_STRENGTH_SD, _OWN_LOSS_SD = 0.12, 0.25
_LIMIT_COMPONENTS = 60


def leakage(name: str, seed: int, options: Namespace) -> list[Row]:
    """Probes, fidelity, identification and traits of every method, fitted and unseen subjects."""
    split = Split.draw(name, options.n, seed)
    rows = []
    for method in options.methods:
        made = outcome(method, split)
        for use in USES:
            row = {"method": method, "use": use, "scale": "R²"}
            if is_binary(split.motion(use)):
                row["scale"] = "AUC"
            rows.append(row | _probed(made, split, use) | _kept(made, split, use))
    return rows


def _probed(made: Outcome, split: Split, use: str) -> Row:
    motion = split.motion(use)
    z = scores_of_probes(made.z[use], motion, "features", split.seed)
    counts = scores_of_probes(made.adjusted[use], motion, "counts", split.seed)
    row = {"z": z.max()} | {probe: counts[probe] for probe in EDGE_PROBES}
    for view in VIEWS:
        row[view] = counts[counts.index.str.startswith(f"{view}, ")].max()
    row["A* worst"] = counts.max()
    if split.latents is not None:
        # Brains and motion are associated here, so that the truth itself predicts motion. The part
        # of log motion that the latents do not explain is independent of the truth. It can
        # be predicted where an adjustment removed too little or too much.
        own = residualised(np.log(split.simulated.confounds), split.latents)[split.rows[use]]
        z = scores_of_probes(made.z[use], own, "features", split.seed)
        counts = scores_of_probes(made.adjusted[use], own, "counts", split.seed)
        row |= {"z, own motion": z.max(), "A*, own motion": counts.max()}
    return row


def _kept(made: Outcome, split: Split, use: str) -> Row:
    truth, adjusted = split.truth(use), made.adjusted[use]
    fidelity = fidelity_r2(adjusted, truth)
    row = {
        "fidelity": fidelity,
        "of oracle": fidelity / fidelity_r2(split.oracle[split.rows[use]], truth),
        "identified": identification_rate(adjusted, truth),
    }
    return row | ({"trait R²": made.trait_r2} if use == "unseen" else {})


def ratios(name: str, seed: int, options: Namespace) -> list[Row]:
    """Graph measures of A* ÷ truth in each motion decile of unseen subjects, or in each group."""
    split = Split.draw(name, options.n, seed)
    group = _groups(split.motion("unseen"), 10)
    truth = graph_measures(split.truth("unseen"))
    rows = []
    for method in options.methods:
        found = graph_measures(outcome(method, split).adjusted["unseen"])
        means = (found / truth)[list(RATIOS)].groupby(group).mean()
        rows += [{"method": method, "group": int(g), **row} for g, row in means.iterrows()]
    return rows


def _groups(confounds: Floats, n_groups: int) -> NDArray[np.intp]:
    """Return quantile groups of motion, 1 and up; those of a binary nuisance are 0 and 1."""
    values = confounds[:, 0]
    if is_binary(values):
        return (values == values.max()).astype(np.intp)
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return rank * n_groups // len(values) + 1


def training(name: str, seed: int, options: Namespace) -> list[Row]:
    """R² of the ridge probe on A* of unseen subjects, by number of training subjects."""
    simulated = simulate(name, max(options.sizes) + options.unseen, seed)
    X, motion = simulated.X, simulated.confounds
    unseen, moved = X[-options.unseen :], motion[-options.unseen :]
    truth = simulated.X_free[-options.unseen :]
    own, noise = _deviations_and_noise(simulated, max(options.sizes))
    standard = (moved - motion.mean()) / motion.std()
    ends = {
        "raw": ridge_r2(np.log1p(unseen), moved, seed),
        "truth": ridge_r2(np.log1p(truth), moved, seed),
    }
    rows = []
    for n_train in options.sizes:
        model = InvFA().fit(X[:n_train], confounds=motion[:n_train])
        adjusted = model.adjust(unseen, confounds=moved)
        sampling = noise / n_train
        left = np.sqrt(own * sampling / (own + sampling))
        error = left * np.random.default_rng([seed, n_train]).standard_normal(len(left))
        found = {
            "inv-fa": ridge_r2(np.log1p(adjusted), moved, seed),
            "limit": ridge_r2(np.log1p(truth * np.exp(standard * error)), moved, seed),
        }
        rows.append({"training": n_train, **ends, **found})
    return rows


def _deviations_and_noise(simulated: SimulatedCohort, n_train: int) -> tuple[Floats, Floats]:
    """Return s² and n · v of the docstring of this file, each of shape (E,)."""
    oracle: Any = simulated.oracle
    if isinstance(oracle, ScanOracle):
        # An own part on the log scale multiplies the effect.
        own_sd = _OWN_LOSS_SD * oracle.scanner.population.losses
    else:
        own_sd = _OWN_STRENGTH_SD * oracle.population.strengths.mean()
    counts, motion = simulated.X[:n_train], simulated.confounds[:n_train]
    # Edges without any count have no information on their slope, and no error: they stay 0.
    scale = np.maximum((counts / (1 + counts)).mean(axis=0), 1e-6)
    residuals = residualised(np.log1p(counts), motion)
    pca = PCA(min(_LIMIT_COMPONENTS, n_train // 3), random_state=0).fit(residuals)
    residuals = residuals - pca.inverse_transform(pca.transform(residuals))
    freedom = n_train - 1 - motion.shape[1] - pca.n_components_
    noise = np.maximum((residuals**2).sum(axis=0) / freedom, 1e-12)
    own = np.broadcast_to((own_sd * simulated.confounds.std()) ** 2, noise.shape)
    return own, noise / scale**2


def coverage(name: str, seed: int, options: Namespace) -> list[Row]:
    """Coverage of 90 % intervals and of the central 90 % of draws, by motion third."""
    split, coupling = Split.draw(name, options.n, seed), COUPLINGS[name]
    X, motion = split.simulated.X, split.simulated.confounds
    fitted, unseen = split.rows["fitted"], split.rows["unseen"]
    model = InvFA().fit(X[fitted], confounds=motion[fitted])
    arguments: dict[str, Any] = {"confounds": motion[unseen], "coupling": coupling}
    bounded = model.adjust(X[unseen], interval=LEVEL, **arguments)
    draws = model.adjust(X[unseen], n_draws=options.draws, **arguments)
    truth = split.truth("unseen")
    rng = np.random.default_rng(seed)
    intervals = (bounded.lower <= truth) & (truth <= bounded.upper)
    edges = _central(truth, draws, rng)
    measured = np.stack([graph_measures(draw).to_numpy() for draw in draws])
    graphs = _central(graph_measures(truth).to_numpy(), measured, rng)
    third = _groups(motion[unseen], 3)
    rows = []
    for number in np.unique(third):
        some = third == number
        large = truth[some] >= LARGE
        row = {
            "coupling": coupling,
            "third": int(number),
            "interval, edges": intervals[some].mean(),
            f"interval, ≥ {LARGE} fibres": intervals[some][large].mean(),
            "draws, edges": edges[some].mean(),
            f"draws, ≥ {LARGE} fibres": edges[some][large].mean(),
        }
        covered = zip(GRAPH_MEASURES, graphs[some].mean(axis=0), strict=True)
        # Strength is the total, up to a constant.
        names = {"strength": "total"}
        rows.append(row | {f"draws, {names.get(key, key)}": share for key, share in covered})
    return rows


def _central(truth: NDArray[Any], draws: NDArray[Any], rng: np.random.Generator) -> Any:
    """Say where the rank of the truth among draws is in the central 90 %.

    If the truth is one more draw, its rank, with ties in random order and at a random place within
    its step, is uniform: 90 % are inside for any number of draws.
    """
    below = sum((draw < truth).astype(np.int64) for draw in draws)
    equal = sum((draw == truth).astype(np.int64) for draw in draws)
    rank = (below + rng.random(truth.shape) * (equal + 1)) / (len(draws) + 1)
    return np.abs(rank - 0.5) < LEVEL / 2


def keeping(name: str, seed: int, options: Namespace) -> list[Row]:
    """Ridge probes on unseen A*, with and without two covariates that are unrelated to motion."""
    split = Split.draw(name, options.n, seed)
    X, motion = split.simulated.X, split.simulated.confounds
    fitted, unseen = split.rows["fitted"], split.rows["unseen"]
    found = {}
    for word, kept in (("without", None), ("with", split.traits[fitted][:, :KEPT_TRAITS])):
        model = InvFA().fit(X[fitted], confounds=motion[fitted], covariates_to_keep=kept)
        adjusted = model.adjust(X[unseen], confounds=motion[unseen])
        scores = ridge_scores(adjusted, motion[unseen], seed)
        found[word] = pd.Series(scores | {"worst": max(scores.values())})
    table = pd.DataFrame(found).assign(difference=found["with"] - found["without"])
    return [{"probe": probe, **row} for probe, row in table.iterrows()]


def speed(name: str, seed: int, options: Namespace) -> list[Row]:
    """Seconds to fit 70 % of the subjects and to adjust the others, beside edge-wise regression."""
    split = Split.draw(name, options.n, seed)
    X, motion = split.simulated.X, split.simulated.confounds
    fitted, unseen = split.rows["fitted"], split.rows["unseen"]
    row: Row = {}
    for method in ("edgewise", "inv-fa"):
        model = make_method(method)
        fit = partial(model.fit, X[fitted], confounds=motion[fitted])
        adjust = partial(model.adjust, X[unseen], confounds=motion[unseen])
        row |= {f"{method} fit, s": _seconds(fit), f"{method} adjust, s": _seconds(adjust)}
    for step in ("fit", "adjust"):
        row[f"{step}, ratio"] = row[f"inv-fa {step}, s"] / row[f"edgewise {step}, s"]
    return [row]


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
