"""What the parts of `real_counts.py` share: cohorts, methods and probes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import r2_score

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.evaluate.leakage.certificate import Kind, leakage_certificate, probe_scores
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge
from stillome.methods.registry import make_method
from stillome.methods.trait_regression import TraitRegression
from stillome.simulate import SimulatedCohort, simulate_cohort, simulate_scans

FIRST_FAMILY = (
    *("loglinear", "thinning", "heteroscedastic", "interaction"),
    *("confounded", "confounded-kept"),
)
SECOND_FAMILY = (
    *("scans-motion", "scans-thinned", "scans-lost-volumes"),
    *("scans-incomplete", "scans-late"),
)
COHORTS = (*FIRST_FAMILY, *SECOND_FAMILY)
FREE = ("raw", "oracle", "truth")  # no model is fitted
METHODS = ("raw", "edgewise", "inv-fa", "oracle", "truth")
USES = ("fitted", "unseen")
_N_COMPONENTS = 68
_TRAIN_SHARE = 0.7


def simulate(name: str, n: int, seed: int) -> SimulatedCohort:
    """Simulate a cohort by its name in `COHORTS`."""
    if name.startswith("scans-"):
        return simulate_scans(n, name.removeprefix("scans-"), random_state=seed)
    return simulate_cohort(n, name.removesuffix("-kept"), random_state=seed)


@dataclass(frozen=True, eq=False)
class Split:
    """A cohort, of which 70 % are fitted. No method is given fibre lengths."""

    name: str
    simulated: SimulatedCohort
    seed: int
    rows: dict[str, NDArray[np.intp]]  # of each use

    @classmethod
    def draw(cls, name: str, n: int, seed: int) -> "Split":
        """Simulate a cohort by its name and divide it at random."""
        order = np.random.default_rng(seed).permutation(n)
        train, unseen = np.split(order, [round(_TRAIN_SHARE * n)])
        return cls(name, simulate(name, n, seed), seed, {"fitted": train, "unseen": unseen})

    @cached_property
    def traits(self) -> Floats:
        """Traits of all subjects, (n, T)."""
        return self.simulated.cohort.traits.to_numpy(dtype=np.float64)

    @cached_property
    def oracle(self) -> NDArray[Any]:
        """Edges of all subjects as the oracle restores them, (n, E)."""
        return matrices_to_edges(self.simulated.oracle_adjust(self.seed))

    @property
    def kept(self) -> Floats | None:
        """The covariates to keep: all traits of a cohort whose name ends in "-kept"."""
        return self.traits if self.name.endswith("-kept") else None

    @property
    def latents(self) -> Floats | None:
        """The latents, where these are associated with motion by design."""
        return self.simulated.latents if self.name.startswith("confounded") else None

    def motion(self, use: str) -> Floats:
        """Return the nuisance, (n, 1)."""
        return self.simulated.confounds[self.rows[use]]

    def truth(self, use: str) -> NDArray[Any]:
        """Return motion-free edges, (n, E)."""
        return self.simulated.X_free[self.rows[use]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one method made of the fitted and the unseen subjects."""

    z: dict[str, Floats]
    adjusted: dict[str, NDArray[Any]]
    trait_r2: float  # of unseen subjects, mean over traits


def outcome(method: str, split: Split) -> Outcome:
    """Fit a method to the training subjects and adjust all; traits are predicted from z.

    Without a model, z are principal components, and traits are predicted by ridge regression on all
    log counts.
    """
    rows, fitted, unseen = split.rows, split.rows["fitted"], split.rows["unseen"]
    if method in FREE:
        edges = _edges_of(method, split)
        logs, n_components = np.log1p(edges), min(_N_COMPONENTS, len(fitted) - 1)
        pca = PCA(n_components, random_state=0).fit(logs[fitted])
        predicted = TraitRegression.fit(logs[fitted], split.traits[fitted]).predict(logs[unseen])
        return Outcome(
            {use: pca.transform(logs[rows[use]]) for use in USES},
            {use: edges[rows[use]] for use in USES},
            float(r2_score(split.traits[unseen], predicted)),
        )
    X, motion, kept = split.simulated.X, split.simulated.confounds, split.kept
    model = make_method(method).fit(
        X[fitted],
        split.traits[fitted],
        confounds=motion[fitted],
        covariates_to_keep=None if kept is None else kept[fitted],
    )
    return Outcome(
        {use: model.transform(X[rows[use]], confounds=motion[rows[use]]) for use in USES},
        {use: model.adjust(X[rows[use]], confounds=motion[rows[use]]) for use in USES},
        model.score(X[unseen], split.traits[unseen], confounds=motion[unseen]),
    )


def _edges_of(method: str, split: Split) -> NDArray[Any]:
    if method == "oracle":
        return split.oracle
    return split.simulated.X if method == "raw" else split.simulated.X_free


def is_binary(confounds: Floats) -> bool:
    return len(np.unique(confounds)) == 2


def scores_of_probes(
    features: NDArray[Any], confounds: Floats, kind: Kind, seed: int
) -> "pd.Series[float]":
    """Return the R² of every probe; the AUC for a confound with two values."""
    options: dict[str, Any] = {"kind": kind, "random_state": seed}
    if is_binary(confounds):
        # Only the certificate has the AUC; its tests are not used.
        found = leakage_certificate(features, confounds, n_permutations=1, **options)
        return found.table["auc"]
    return pd.Series(probe_scores(features, confounds, **options))


def ridge_scores(adjusted: NDArray[Any], confounds: Floats, seed: int) -> dict[str, float]:
    """Return the R² of the ridge probes alone: all edges, zeros, summary, graphs, regions."""
    rng = np.random.default_rng(seed)
    data = prepare_probes(adjusted, confounds, "counts", None, None, 5, rng)
    no_test = np.empty((0, len(adjusted)), dtype=np.intp)
    views = {"edges": data.features, **data.views}
    return {
        name: float(probe_ridge(view, data.confounds, data.blocks, no_test).scores[0].max())
        for name, view in views.items()
    }


def ridge_r2(log_counts: Floats, confounds: Floats, seed: int) -> float:
    """Return the R² of the ridge probe on log counts (n, E), which need not be whole numbers."""
    data = prepare_probes(
        log_counts, confounds, "features", None, None, 5, np.random.default_rng(seed)
    )
    no_test = np.empty((0, len(log_counts)), dtype=np.intp)
    return float(probe_ridge(data.features, data.confounds, data.blocks, no_test).scores[0].max())
