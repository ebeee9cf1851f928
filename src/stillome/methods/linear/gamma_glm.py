"""A gamma regression with log link for every edge."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components

_SUBJECTS_PER_COEFFICIENT = 10
_STEPS = 50
_TOLERANCE = 1e-10
_HALVINGS = 20


@dataclass(frozen=True)
class LogRates:
    """How the log of the mean of each edge changes with the confounds.

    Attributes
    ----------
    center : array of shape (C,)
        Mean confounds of the training subjects.
    coefficients : array of shape (C, E)
        Change of the log mean per unit of each confound; 0 where an edge has too few fibres.
    """

    center: Floats
    coefficients: Floats

    @classmethod
    def fit(cls, edges: Floats, confounds: Floats, covariates: Floats | None) -> Self:
        """Maximise the gamma likelihood of every edge (n, E) over subjects in whom it has fibres.

        Parameters
        ----------
        edges : array of shape (n, E)
        confounds : array of shape (n, C)
        covariates : array of shape (n, Q) or None
            Regressors whose own effect is not removed.

        Examples
        --------
        >>> motion = np.repeat([[0.0], [1.0]], 20, axis=0)
        >>> edges = np.where(motion == 0, 8.0, 2.0)
        >>> LogRates.fit(edges, motion, None).coefficients.round(6).tolist()  # log(2 / 8)
        [[-1.386294]]
        """
        center, n_confounds = confounds.mean(axis=0), confounds.shape[1]
        regressors = confounds if covariates is None else np.column_stack([confounds, covariates])
        spread = regressors.std(axis=0)
        spread[spread == 0] = 1.0
        scaled = (regressors - regressors.mean(axis=0)) / spread
        design = np.column_stack([np.ones(len(edges)), scaled])
        coefficients = np.zeros((n_confounds, edges.shape[1]))
        enough = (edges > 0).sum(axis=0) >= _SUBJECTS_PER_COEFFICIENT * design.shape[1]
        if enough.any():
            fitted = gamma_coefficients(edges[:, enough], design)[1 : n_confounds + 1]
            coefficients[:, enough] = fitted / spread[:n_confounds, None]
        return cls(center, coefficients)

    def log_ratio(self, confounds: Floats) -> Floats:
        """Return the log of the mean at these confounds (n, C) over that at `center`, (n, E)."""
        # Not a matrix product, whose last bits depend on the number of rows.
        columns = zip((confounds - self.center).T, self.coefficients, strict=True)
        ratio = np.zeros((len(confounds), self.coefficients.shape[1]))
        for column, slopes in columns:
            ratio += np.outer(column, slopes)
        return ratio


def gamma_coefficients(edges: Floats, design: Floats) -> Floats:
    """Return the maximum likelihood of gamma regressions with log link, one per edge.

    −Σ (y exp(−η) + η) over subjects with y > 0 is concave in η = design · coefficients, so that
    Newton's method with halved steps finds its only maximum. The dispersion does not matter for it.

    Parameters
    ----------
    edges : array of shape (n, E)
        Zeros are left out.
    design : array of shape (n, P)

    Returns
    -------
    array of shape (P, E)
    """
    present = edges > 0
    logs = np.log(np.where(present, edges, 1.0))
    # Least squares of the log edges is near the maximum.
    found = _solved(design, present.astype(np.float64), np.where(present, logs, 0.0))
    loss = _loss(found, design, edges, present)
    for _ in range(_STEPS):
        relative = np.where(present, edges * np.exp(-(design @ found)), 0.0)  # y / μ
        step = _solved(design, relative, relative - present)
        size = np.ones(edges.shape[1])
        for _ in range(_HALVINGS):
            new = _loss(found + size * step, design, edges, present)
            worse = ~(new <= loss + _TOLERANCE)
            if not worse.any():
                break
            size[worse] /= 2
        found, loss = found + size * step, new
        if np.abs(step).max() < _TOLERANCE:
            break
    return found


def _solved(design: Floats, weights: Floats, target: Floats) -> Floats:
    """Solve (Dᵀ diag(w) D) b = Dᵀ t for every edge; w and t are (n, E), b is (P, E)."""
    gram = np.einsum("np,ne,nq->epq", design, weights, design, optimize=True)
    # Dummies of all sites are collinear with the intercept.
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    return np.asarray(np.einsum("epq,qe->pe", inverse, design.T @ target))


def _loss(
    coefficients: Floats, design: Floats, edges: Floats, present: NDArray[np.bool_]
) -> Floats:
    """Return the negative log likelihood of every edge (E,), up to constants, per subject."""
    log_mean = design @ coefficients
    with np.errstate(over="ignore"):
        loss = np.where(present, edges * np.exp(-log_mean) + log_mean, 0.0)
    return np.asarray(loss.sum(axis=0) / present.sum(axis=0))


class GammaGLM(ComponentMethod):
    """Gamma regression with log link of every edge on the confounds.

    The mean of an edge changes by a factor with motion, and `adjust` divides by this factor: the
    standard deviation of a gamma law is proportional to its mean, so that the whole law is brought
    to the reference. A gamma law has no zeros: each regression is over the subjects in whom the
    edge has fibres, and an edge without fibres stays without. Edges that fewer than 10 subjects
    per coefficient have are not changed. The representation is the first principal components of
    the log1p edges at the mean confounds.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.

    Attributes
    ----------
    log_rates_ : LogRates
    pca_ : sklearn.decomposition.PCA
    n_components_ : int

    References
    ----------
    Shen et al. (2025), Big data, small bias: harmonizing diffusion MRI-based structural
    connectomes to mitigate site-related bias in data integration, Human Brain Mapping 46(9).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=200)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(200, 15))
    >>> model = GammaGLM(n_components=4).fit(X, confounds=motion)
    >>> bool(abs(model.log_rates_.coefficients + 0.3).max() < 0.1)
    True
    """

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        n_components = self._n_components_for(*log_edges.shape, n_removed=confounds.shape[1])
        self.log_rates_ = LogRates.fit(np.expm1(log_edges), confounds, covariates)
        common = _rescaled(log_edges, -self.log_rates_.log_ratio(confounds))
        self.pca_ = principal_components(common, n_components)
        return np.asarray(self.pca_.transform(common))

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        common = _rescaled(log_edges, -self.log_rates_.log_ratio(confounds))
        return np.asarray(self.pca_.transform(common))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        common = np.maximum(self.pca_.inverse_transform(scores), 0.0)
        return _rescaled(common, self.log_rates_.log_ratio(confounds))

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        there = self.log_rates_.log_ratio(reference[None])
        return _rescaled(log_edges, there - self.log_rates_.log_ratio(confounds))

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("log_rates.", vars(self.log_rates_))
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.log_rates_ = LogRates(**under("log_rates.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))


def _rescaled(log_edges: Floats, log_factors: Floats) -> Floats:
    """Return the log1p of edges, given as log1p, times exp(log_factors)."""
    return np.asarray(np.log1p(np.expm1(log_edges) * np.exp(log_factors)))
