"""The smallest share of dependence whose removal passes the certificate on held-out people."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.models.invariant.adjusting import log_likelihood
from stillome.models.invariant.model import InvariantModel
from stillome.models.traits import TraitRegression

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_TEST_SHARE = 0.3

Floats = NDArray[np.float64]


def invariance_frontier(
    fit: Callable[[NDArray[np.intp]], InvariantModel],
    edges: NDArray[Any],
    motion: Floats,
    covariates: Floats | None,
    traits: Floats | None,
    seed: int,
) -> pd.DataFrame:
    """Try every weight on held-out subjects.

    Parameters
    ----------
    fit : callable
        From the positions of training subjects to a model.
    edges : array of shape (n, E)
    motion : array of shape (n, C)
    covariates : array of shape (n, Q) or None
        What may link z and motion.
    traits : array of shape (n, T) or None
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per weight: ``weight``, ``worst_r2``, ``p_value`` (smallest, Holm), ``passed``,
        ``log_likelihood``, ``trait_r`` (mean over traits; NaN without), ``n_test``.
    """
    # The certificate stands above the models; only this choice asks for it.
    from stillome.evaluate.leakage import leakage_certificate

    order = np.random.default_rng(seed).permutation(len(edges))
    n_test = round(_TEST_SHARE * len(edges))
    test, train = order[:n_test], order[n_test:]
    model = fit(train)
    rows = []
    for weight in WEIGHTS:
        weighted = model.weighted(weight)
        latent, _ = weighted.encode(edges[test], motion[test])
        certificate = leakage_certificate(
            latent,
            motion[test],
            nuisance=None if covariates is None else covariates[test],
            random_state=seed,
        )
        rows.append(
            {
                "weight": weight,
                "worst_r2": certificate.worst_r2,
                "p_value": float(certificate.table["p_holm"].min()),
                "passed": certificate.passed,
                "log_likelihood": log_likelihood(weighted, edges[test], motion[test]),
                "trait_r": _trait_r(weighted, edges, motion, traits, train, test),
                "n_test": n_test,
            }
        )
    return pd.DataFrame(rows)


def smallest_passing(frontier: pd.DataFrame) -> float:
    """Choose the smallest weight that passes.

    Where none does: the smallest whose worst R² is within one standard error of the best.
    """
    passing = frontier[frontier["passed"]]
    if len(passing):
        return float(passing["weight"].min())
    best = float(frontier["worst_r2"].min())
    error = 2 * np.sqrt(max(best, 0) / frontier["n_test"].iloc[0])
    return float(frontier.loc[frontier["worst_r2"] <= best + error, "weight"].min())


def _trait_r(
    model: InvariantModel,
    edges: NDArray[Any],
    motion: Floats,
    traits: Floats | None,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> float:
    if traits is None:
        return float("nan")
    fitted = TraitRegression.fit(model.encode(edges[train], motion[train])[0], traits[train])
    predicted = fitted.predict(model.encode(edges[test], motion[test])[0])
    correlations = []
    for values, guesses in zip(traits[test].T, predicted.T, strict=True):
        known = ~np.isnan(values)
        if known.sum() > 2 and guesses[known].std() > 0:
            correlations.append(np.corrcoef(values[known], guesses[known])[0, 1])
    return float(np.mean(correlations)) if correlations else float("nan")
