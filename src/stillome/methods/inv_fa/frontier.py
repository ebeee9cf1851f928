"""The smallest share of dependence whose removal passes the certificate on held-out people."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from stillome.exceptions import InputError
from stillome.methods.inv_fa.adjusting import log_likelihood
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.training_subjects import KnownSubjects
from stillome.methods.trait_regression import TraitRegression

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
COLUMNS = ("weight", "worst_r2", "p_value", "passed", "log_likelihood", "trait_r", "n_test")
_TEST_SHARE = 0.3
_LEAST_TESTED = 20  # what the certificate needs


def invariance_frontier(
    fit: Callable[[KnownSubjects], InvariantModel], subjects: KnownSubjects, seed: int
) -> pd.DataFrame:
    """Try every weight on held-out subjects.

    Parameters
    ----------
    fit : callable
        From training subjects to a model.
    subjects : KnownSubjects
        Their covariates to keep may link z and motion.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per weight: ``weight``, ``worst_r2``, ``p_value`` (smallest, Holm), ``passed``,
        ``log_likelihood``, ``trait_r`` (mean over traits; NaN without), ``n_test``.
    """
    # The certificate stands above the models; only this choice asks for it.
    from stillome.evaluate.leakage.certificate import leakage_certificate

    n = len(subjects.edges)
    n_test = round(_TEST_SHARE * n)
    if n_test < _LEAST_TESTED:
        raise InputError(
            f"invariance_weight='auto': {n} subjects are too few to hold some out; "
            f"at least {round(_LEAST_TESTED / _TEST_SHARE)} needed. Give a share from 0 to 1."
        )
    order = np.random.default_rng(seed).permutation(n)
    test, train = subjects.take(order[:n_test]), subjects.take(order[n_test:])
    model = fit(train)
    rows = []
    for weight in WEIGHTS:
        weighted = model.weighted(weight)
        latent, _ = weighted.encode(test.edges, test.motion)
        certificate = leakage_certificate(
            latent, test.motion, nuisance=test.covariates, random_state=seed
        )
        rows.append(
            {
                "weight": weight,
                "worst_r2": certificate.worst_r2,
                "p_value": float(certificate.table["p_holm"].min()),
                "passed": certificate.passed,
                "log_likelihood": log_likelihood(weighted, test.edges, test.motion),
                "trait_r": _trait_r(weighted, train, test),
                "n_test": n_test,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def smallest_passing(frontier: pd.DataFrame) -> float:
    """Choose the smallest weight that passes.

    Where none does: the smallest whose worst R² is within one standard error of the best.
    """
    passing = frontier[frontier["passed"]]
    if len(passing):
        return float(passing["weight"].min())
    within = frontier["worst_r2"] <= best_leakage(frontier).high
    return float(frontier.loc[within, "weight"].min())


class BestLeakage(NamedTuple):
    """The smallest worst R² of all weights, and one standard error above it."""

    r2: float
    high: float


def best_leakage(frontier: pd.DataFrame) -> BestLeakage:
    """Return the best R² and how far it is uncertain, being of `n_test` subjects."""
    best = float(frontier["worst_r2"].min())
    return BestLeakage(best, best + 2 * float(np.sqrt(max(best, 0) / frontier["n_test"].iloc[0])))


def _trait_r(model: InvariantModel, train: KnownSubjects, test: KnownSubjects) -> float:
    if train.traits is None or test.traits is None:
        return float("nan")
    fitted = TraitRegression.fit(model.encode(train.edges, train.motion)[0], train.traits)
    predicted = fitted.predict(model.encode(test.edges, test.motion)[0])
    correlations = []
    for values, guesses in zip(test.traits.T, predicted.T, strict=True):
        known = ~np.isnan(values)
        if known.sum() > 2 and guesses[known].std() > 0:
            correlations.append(np.corrcoef(values[known], guesses[known])[0, 1])
    return float(np.mean(correlations)) if correlations else float("nan")
