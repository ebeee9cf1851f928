"""ComBat with motion quantiles as batches."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from stillome.cohort.validation import check_count
from stillome.exceptions import FitError, InputError, require_extra
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components

SMALLEST_BATCH = 10
# What a fitted `combatlearn` model with continuous covariates only is made of.
_COMBAT_ARRAYS = (
    "batch_levels",
    "grand_mean",
    "pooled_var",
    "gamma_star",
    "delta_star",
    "beta_hat_nonbatch",
)


class MotionQuantiles:
    """Subjects sorted into batches by how much they moved.

    Motion is continuous and ComBat knows batches only, so the training subjects are cut at
    quantiles of motion. With several confounds, the first principal component of their
    standardised values is cut. New subjects go into the batch their motion falls in; those beyond
    the training range go into the nearest, which is the first or the last.

    Attributes
    ----------
    cutoffs : array of shape (n_batches - 1,)
        In the units of the confound if there is one, else of the component.
    """

    def __init__(self, confounds: NDArray[np.float64], n_batches: int) -> None:
        self.center, self.weights = np.zeros(confounds.shape[1]), np.ones(confounds.shape[1])
        if confounds.shape[1] > 1:
            spread = confounds.std(axis=0)
            self.center = confounds.mean(axis=0)
            direction = PCA(1, svd_solver="full").fit((confounds - self.center) / spread)
            self.weights = direction.components_[0] / spread
        motion = self.motion(confounds)
        cutoffs = np.quantile(motion, np.arange(1, n_batches) / n_batches)
        # Tied motion (many subjects at one value) would give empty batches.
        self.cutoffs = np.unique(cutoffs[(cutoffs > motion.min()) & (cutoffs <= motion.max())])

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Rebuild from ``center``, ``weights`` and ``cutoffs``."""
        quantiles = cls.__new__(cls)
        quantiles.center, quantiles.weights = arrays["center"], arrays["weights"]
        quantiles.cutoffs = arrays["cutoffs"]
        return quantiles

    def motion(self, confounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number per subject, shape (n,)."""
        return (confounds - self.center) @ self.weights

    def batches(self, confounds: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return each subject's batch, 0 … len(cutoffs)."""
        return np.searchsorted(self.cutoffs, self.motion(confounds), side="right")


class ComBat(ComponentMethod):
    """Empirical-Bayes harmonisation of log1p edges across motion quantiles, by `combatlearn`.

    Mean and variance of every edge are brought to the same values in every batch; the
    representation is the first principal components of that. `adjust` brings each subject to the
    batch in which the reference motion falls. Motion inside a batch stays.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.
    n_batches : int, default=10
        Number of motion quantiles; fewer where a batch would have under 10 subjects, but at
        least 2. `quantiles_.cutoffs` says what was used.
    kept_columns : sequence of int, default=()
        Columns of `confounds` that are not motion but must be kept although they go along with
        it (age, sex as 0/1): they are modelled beside the batches and left in the data.

    Attributes
    ----------
    quantiles_ : MotionQuantiles
    varies_ : array of shape (E,), bool
        Edges that differ between training subjects; the others pass unchanged.
    model_ : combatlearn.core.ComBatModel
    pca_ : sklearn.decomposition.PCA

    References
    ----------
    Johnson, Li & Rabinovic (2007), Biostatistics 8(1); Fortin et al. (2018), NeuroImage 167.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=60)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(60, 15))
    >>> model = ComBat(n_components=4, n_batches=3).fit(X, confounds=motion)
    >>> model.adjust(X, confounds=motion).shape, len(model.quantiles_.cutoffs)
    ((60, 15), 2)
    """

    def __init__(
        self,
        n_components: int = 68,
        *,
        n_batches: int = 10,
        kept_columns: Sequence[int] = (),
    ) -> None:
        self.n_components = n_components
        self.n_batches = n_batches
        self.kept_columns = kept_columns

    def _fit_components(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        model_type = _combat_model()
        motion, kept = self._split(confounds)
        n_batches = check_count(self.n_batches, "n_batches", minimum=2)
        possible = max(2, len(log_edges) // SMALLEST_BATCH)
        self.quantiles_ = MotionQuantiles(motion, min(n_batches, possible))
        batches = self.quantiles_.batches(motion)
        if len(self.quantiles_.cutoffs) == 0 or np.bincount(batches).min() < 2:
            raise FitError(
                f"ComBat: {len(log_edges)} subjects do not fill two or more motion batches with "
                "at least two each. Give more subjects or lower n_batches."
            )
        self.varies_ = np.ptp(log_edges, axis=0) > 0
        if not self.varies_.any():
            raise FitError("ComBat: every edge is the same in all subjects; nothing to harmonise.")
        self.model_ = model_type(method="fortin").fit(
            log_edges[:, self.varies_], batch=batches, continuous_covariates=kept
        )
        harmonised = self._harmonised(log_edges, batches, kept)
        n_components = self._n_components_for(*log_edges.shape)
        self.pca_ = principal_components(harmonised, n_components)
        return np.asarray(self.pca_.transform(harmonised))

    def _scores(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        motion, kept = self._split(confounds)
        harmonised = self._harmonised(log_edges, self.quantiles_.batches(motion), kept)
        return np.asarray(self.pca_.transform(harmonised))

    def _adjusted_log(
        self,
        log_edges: NDArray[np.float64],
        confounds: NDArray[np.float64],
        reference: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        motion, kept = self._split(confounds)
        harmonised = self._harmonised(log_edges, self.quantiles_.batches(motion), kept)
        target = self.quantiles_.batches(self._split(reference[None])[0])
        there = np.repeat(target, len(log_edges))
        # ComBat maps each edge of a batch linearly to the common scale; two points give the
        # line of the reference batch, whose inverse leads from the common scale to that batch.
        offset = self._harmonised(np.zeros_like(log_edges), there, kept)
        slope = self._harmonised(np.ones_like(log_edges), there, kept) - offset
        return (harmonised - offset) / slope

    def _harmonised(
        self,
        log_edges: NDArray[np.float64],
        batches: NDArray[np.intp],
        kept: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        harmonised = log_edges.copy()
        harmonised[:, self.varies_] = self.model_.transform(
            log_edges[:, self.varies_], batch=batches, continuous_covariates=kept
        ).to_numpy()
        return harmonised

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("quantiles.", vars(self.quantiles_)) | {"varies": self.varies_}
        arrays |= {name: np.asarray(getattr(self.model_, f"_{name}")) for name in _COMBAT_ARRAYS}
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.quantiles_ = MotionQuantiles.from_arrays(under("quantiles.", arrays))
        self.varies_ = arrays["varies"]
        self.pca_ = pca_from_arrays(under("pca.", arrays))
        self.model_ = _combat_model()(method="fortin")
        for name in _COMBAT_ARRAYS:
            setattr(self.model_, f"_{name}", arrays[name])
        for name in ("grand_mean", "pooled_var"):
            setattr(self.model_, f"_{name}", pd.Series(arrays[name]))
        self.model_._n_batch = len(arrays["batch_levels"])
        self.model_._batch_levels = pd.Index(arrays["batch_levels"])
        self.model_._nonbatch_columns = list(range(len(arrays["beta_hat_nonbatch"])))

    def _split(
        self, confounds: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Tell motion from the columns that are kept."""
        n_columns = confounds.shape[1]
        named = isinstance(self.kept_columns, Sequence | np.ndarray)
        columns = list(self.kept_columns) if named else [self.kept_columns]
        if not columns:
            return confounds, None
        known = named and all(c in range(n_columns) for c in columns)
        if not known or len(set(columns)) >= n_columns:
            raise InputError(
                f"kept_columns={self.kept_columns!r}; expected some but not all of the "
                f"{n_columns} columns of confounds, counted from 0."
            )
        return np.delete(confounds, columns, axis=1), confounds[:, columns]


def _combat_model() -> Any:
    require_extra("combatlearn", "combat", "combat")
    from combatlearn.core import ComBatModel

    return ComBatModel
