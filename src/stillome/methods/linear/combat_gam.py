"""ComBat-GAM: ComBat beside which motion has a smooth effect of its own, and loses it."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.interpolate import BSpline

from stillome.arrays import Floats
from stillome.cohort.validation import check_count
from stillome.methods.linear.batch_maps import FittedComBat, covariate_effects
from stillome.methods.linear.combat import ComBat
from stillome.methods.linear.component_arrays import Arrays, prefixed, under

_DEGREE = 3
_SUBJECTS_PER_SPLINE = 20


@dataclass(frozen=True)
class SmoothMotion:
    """Cubic B-splines of the first principal component of motion, and the others as they are.

    With splines of every measure, effects of correlated ones would become huge and cancel, but for
    new subjects. All is constant outside the range of the training subjects.

    Attributes
    ----------
    center : array of shape (S,)
        Mean of each measure.
    axes : array of shape (S, S)
        From measures to their principal components.
    low, high : arrays of shape (S,)
        The range of each component.
    knots : array of shape (M,)
        Of the first component: the boundaries, each four times, and what lies between.
    """

    center: Floats
    axes: Floats
    low: Floats
    high: Floats
    knots: Floats

    @classmethod
    def fit(cls, values: Floats, n_splines: int) -> Self:
        """Find the components of values (n, S), and place the knots of `n_splines` B-splines."""
        center, spread = values.mean(axis=0), values.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        scaled = (values - center) / spread
        axes = np.linalg.svd(scaled, full_matrices=False)[2].T / spread[:, None]
        components = (values - center) @ axes
        knots = _knots(components[:, 0], n_splines) if values.shape[1] else np.zeros(0)
        return cls(center, axes, components.min(axis=0), components.max(axis=0), knots)

    def of(self, values: Floats) -> Floats:
        """Return all splines but the first, and the other components, of values (n, S).

        Examples
        --------
        >>> values = np.random.default_rng(0).random((30, 2))
        >>> SmoothMotion.fit(values, 6).of(values).shape
        (30, 6)
        """
        if not len(self.knots):
            return np.zeros((len(values), 0))
        inside = np.clip((values - self.center) @ self.axes, self.low, self.high)
        splines = BSpline.design_matrix(inside[:, 0], self.knots, _DEGREE).toarray()
        # The splines add up to 1, as the batches do.
        return np.hstack([splines[:, 1:], inside[:, 1:]])


class ComBatGAM(ComBat):
    """ComBat whose model of the mean has cubic splines of motion beside the batches.

    Pomponio et al. give the splines to a covariate whose effect is kept (age). Here motion has
    them, and their effect is removed together with that of the batches, so that motion is also
    removed within a batch. Of several continuous confounds the first principal component has
    splines; the other components have a linear effect. Covariates to keep are regressors, linear
    ones, whose effect stays. Where every confound has few values (sites), this is `ComBat`.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.
    n_batches : int, default=2
        As in `ComBat`. Few, because the splines have the effect of motion on the mean: many batches
        and splines of the same motion can hardly be separated.
    n_splines : int, default=4
        Most B-splines, at least 4 (a cubic); fewer where a spline would have under 20 subjects.
        neuroHarmonize takes 10 for age; at the reference, the end of the range of motion, so many
        are estimated with large errors.

    Attributes
    ----------
    batches_ : ConfoundBatches
    splines_ : SmoothMotion
    smooth_effect_ : array of shape (P, E)
        Change of each log1p edge per unit of each spline and further component.
    maps_ : BatchMaps
        Of edges without their smooth effect.
    pca_ : sklearn.decomposition.PCA

    References
    ----------
    Pomponio et al. (2020), Harmonization of large MRI datasets for the analysis of brain imaging
    patterns throughout the lifespan, NeuroImage 208.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=90)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(90, 15))
    >>> model = ComBatGAM(n_components=4, n_batches=3).fit(X, confounds=motion)
    >>> model.smooth_effect_.shape
    (3, 15)
    """

    def __init__(self, n_components: int = 68, *, n_batches: int = 2, n_splines: int = 4) -> None:
        super().__init__(n_components, n_batches=n_batches)
        self.n_splines = n_splines

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        check_count(self.n_splines, "n_splines", minimum=_DEGREE + 1)

    def _fit_maps(self, log_edges: Floats, confounds: Floats, covariates: Floats | None) -> None:
        batches = self.batches_.of(confounds)
        allowed = max(_DEGREE + 1, len(log_edges) // _SUBJECTS_PER_SPLINE)
        motion = confounds[:, ~self.batches_.discrete]
        self.splines_ = SmoothMotion.fit(motion, min(self.n_splines, allowed))
        smooth = self.splines_.of(motion)
        beside = smooth if covariates is None else np.column_stack([smooth, covariates])
        effects = covariate_effects(log_edges, beside, batches)
        self.smooth_effect_ = np.ascontiguousarray(effects[: smooth.shape[1]])
        left = log_edges - smooth @ self.smooth_effect_
        if covariates is not None:
            left -= (covariates - covariates.mean(axis=0)) @ effects[smooth.shape[1] :]
        self.maps_ = FittedComBat(left, batches, method="fortin").lines()

    def _smooth(self, confounds: Floats) -> Floats:
        """Return the smooth effect of these confounds (n, C) on log edges, (n, E)."""
        return self.splines_.of(confounds[:, ~self.batches_.discrete]) @ self.smooth_effect_

    def _harmonised(self, log_edges: Floats, confounds: Floats) -> Floats:
        return super()._harmonised(log_edges - self._smooth(confounds), confounds)

    def _with_effect_of(self, harmonised: Floats, confounds: Floats) -> Floats:
        return super()._with_effect_of(harmonised, confounds) + self._smooth(confounds)

    def _map_arrays(self) -> Arrays:
        arrays = super()._map_arrays() | prefixed("splines.", vars(self.splines_))
        return arrays | {"smooth_effect": self.smooth_effect_}

    def _set_map(self, arrays: Arrays) -> None:
        super()._set_map(arrays)
        self.splines_ = SmoothMotion(**under("splines.", arrays))
        self.smooth_effect_ = arrays["smooth_effect"]


def _knots(values: Floats, n_splines: int) -> Floats:
    """Return boundaries, each four times, and quantiles between them, for B-splines of (n,)."""
    shares = np.linspace(0, 1, n_splines - _DEGREE + 1)[1:-1]
    low, high = values.min(), values.max()
    between = np.unique(np.quantile(values, shares))
    between = between[(between > low) & (between < high)]
    ends = (np.full(_DEGREE + 1, low), np.full(_DEGREE + 1, high))
    return np.concatenate([ends[0], between, ends[1]])
