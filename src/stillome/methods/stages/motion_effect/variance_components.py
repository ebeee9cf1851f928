"""A linear mixed model of one value per edge, with variances by restricted maximum likelihood.

    y_e = (D b)_e + d_e + ε_e,   ε_e ~ N(0, s_e²),   d_e ~ N(0, v_own h_e),   s_e² and h_e known

Coefficients b are free or, in groups, normal around 0 with a variance v_g per group. Variances
are estimated by restricted maximum likelihood (Patterson and Thompson 1971), with Newton steps on
their logarithms and the average information (Gilmour, Thompson and Cullis 1995), and longer ones
where they are far from the maximum (`variance_steps`). For variances
without a floor, the logarithm of the standard deviation is added to the likelihood (Chung et al.
2013): a variance that cannot be distinguished from 0 is then estimated as small instead of 0, and
uncertainties are not too narrow.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from stillome.arrays import Floats
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.edge_columns import Columns, DenseColumns
from stillome.methods.stages.motion_effect.variance_steps import Derivatives, next_step

_FREE = 1e-6  # prior precision of a free coefficient
_TINY = 1e-9
_LARGEST_INFLATION = 1e3  # of a coefficient's variance by other columns, in single precision


class MixedModel(NamedTuple):
    """The fitted model.

    Attributes
    ----------
    coefficients : array of shape (Q,)
        Posterior means of b.
    residual : array of shape (E,)
        y − D b.
    covariance : array of shape (Q, Q)
        Posterior covariance of b.
    group_variances : tuple of float
    own_variance : float
        v_own.
    own_scale : array of shape (E,), or (1,)
        h.
    """

    coefficients: Floats
    residual: Floats
    covariance: Floats
    group_variances: tuple[float, ...]
    own_variance: float
    own_scale: Floats

    @property
    def variances(self) -> tuple[float, ...]:
        """Those of the groups, and v_own."""
        return *self.group_variances, self.own_variance

    @property
    def own_variances(self) -> Floats:
        """Of the edges' own deviations, v_own h_e, shape (E,) or (1,)."""
        return np.asarray(self.own_variance * self.own_scale)


class _System(NamedTuple):
    values: Floats
    noise: Floats
    design: Columns
    groups: list[slice]
    scale: Floats

    def model(self, variances: Floats) -> MixedModel:
        """Return the model at variances (G + 1,)."""
        design, (*in_groups, own) = self.design, variances
        prior = np.full(design.n_columns, _FREE)
        for group, variance in zip(self.groups, in_groups, strict=True):
            prior[group] = 1 / variance
        weights = 1 / (self.noise + own * self.scale)
        coefficients, covariance = self._posterior(weights, prior)
        residual = self.values - design.dot(coefficients)
        in_both = tuple(in_groups), float(own)
        return MixedModel(coefficients, residual, covariance, *in_both, self.scale)

    def _posterior(self, weights: Floats, prior: Floats) -> tuple[Floats, Floats]:
        """Return mean (Q,) and covariance (Q, Q) of coefficients, for prior precisions (Q,)."""
        for exact in (False, True):
            precision = self.design.gram(weights, exact=exact)
            sizes = np.einsum("qq->q", precision)  # a view of the diagonal
            sizes += prior
            covariance = _inverse(precision)
            inflation = np.diagonal(covariance) * sizes
            # Columns that are nearly alike would enlarge the rounding errors of single precision.
            if ((inflation > 0) & (inflation < _LARGEST_INFLATION)).all():
                break
        return covariance @ self.design.back(weights * self.values, exact=exact), covariance

    def derivatives(self, model: MixedModel) -> Derivatives:
        """Differentiate the restricted likelihood in the logarithms of the variances."""
        n, covariance = len(self.groups) + 1, model.covariance
        found, expected, squares, alone = np.zeros((4, n))
        # Working values (Gilmour et al. 1995). What the design does to those of the groups follows
        # from the equations that the coefficients solve.
        along = np.zeros((len(model.coefficients), n))
        groups = zip(self.groups, model.group_variances, strict=True)
        for number, (group, variance) in enumerate(groups):
            part, unknown = model.coefficients[group], covariance[group, group] / variance
            along[group, number] = part / variance
            found[number] = squares[number] = part @ part / variance
            undetermined = np.trace(unknown)
            expected[number] = len(part) - undetermined
            alone[number] = (len(part) - 2 * undetermined + np.vdot(unknown, unknown)) / 2
        weights = 1 / (self.noise + model.own_variances)
        shares = model.own_variances * weights
        changes = shares * model.residual
        along[:, -1] = -self.design.back(weights * changes)
        found[-1], squares[-1] = shares @ (weights * model.residual**2), weights @ changes**2
        known = np.vdot(covariance, self.design.gram(shares * weights))
        expected[-1] = shares.sum() - known
        # As if the coefficients took the same share of what is known of every edge.
        alone[-1] = shares @ shares * expected[-1] / shares.sum() / 2
        information = (np.diag(squares) - along.T @ covariance @ along) / 2
        return Derivatives(found, expected, information, alone)

    def of_chosen(self) -> "_System":
        """Return the edges that variances are estimated from."""
        if (chosen := self.design.chosen) is None:
            return self
        scale = self.scale if len(self.scale) == 1 else self.scale[chosen]
        some = self.values[chosen], self.noise[chosen], self.design.of_chosen()
        return _System(*some, self.groups, scale)


def fit_mixed_model(
    values: Floats,
    noise: Floats,
    design: Columns | Floats,
    groups: list[slice],
    floors: list[float | None],
    iterations: Iterations | None = None,
    start: tuple[float, ...] | None = None,
    own_scale: Floats | None = None,
    *,
    of_chosen: bool = False,
) -> MixedModel:
    """Fit by restricted maximum likelihood.

    Parameters
    ----------
    values : array of shape (E,)
        y.
    noise : array of shape (E,)
        s², positive.
    design : Columns, or array of shape (E, Q)
        D; columns in no group have free coefficients. Where some edges are chosen, variances are
        estimated from these; coefficients always from all.
    groups : list of slice
        Columns whose coefficients share a variance; none of them empty.
    floors : list of float or None, one per group and one for v_own
        Smallest variances; None for the penalty that keeps a variance from 0.
    iterations : Iterations, optional
    start : tuple of float, optional
        The variances of similar values, the first guess: those of the groups, and v_own.
    own_scale : array of shape (E,), optional
        h; 1 without.
    of_chosen : bool, default=False
        Whether the model is that of the chosen edges: where only its variances are needed.
    """
    iterations = iterations or Iterations()
    scale = np.ones(1) if own_scale is None else own_scale
    columns = DenseColumns(design) if isinstance(design, np.ndarray) else design
    system = _System(values, noise, columns, groups, scale)
    chosen = system.of_chosen()
    penalised = np.array([float(floor is None) for floor in floors])
    lowest = np.log([_TINY if floor is None else floor for floor in floors])
    first = np.full(len(floors), 0.05 * np.var(chosen.values) + _TINY)
    # Groups can come and go, such as factors of individual differences.
    if start is not None and len(start) == len(floors):
        first = np.array(start)
    log_variances = np.maximum(np.log(np.maximum(first, _TINY)), lowest)
    step = np.full(len(floors), np.inf)
    for _ in iterations.of("variance components"):
        model = chosen.model(np.exp(log_variances))
        derivatives = chosen.derivatives(model)
        step, size = next_step(derivatives, penalised, lowest - log_variances, step)
        if iterations.converged(size):
            break
        log_variances = log_variances + step
    return model if of_chosen or chosen is system else system.model(np.exp(log_variances))


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a positive definite matrix."""
    # A symmetric matrix is its own transpose, which LAPACK reads without a copy.
    factor, failed = lapack.dpotrf(matrix.T, lower=1)
    if failed:  # by rounding errors, where columns are nearly the same
        return np.asarray(np.linalg.inv(matrix))
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse += inverse.T  # the upper triangle, which was 0
    np.einsum("qq->q", inverse)[:] /= 2
    return np.asarray(inverse)
