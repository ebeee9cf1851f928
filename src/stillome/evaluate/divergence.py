"""Distance of subjects' posteriors in latent space: the symmetric Kullback–Leibler divergence."""

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.validation import check_features
from stillome.exceptions import InputError


def symmetric_kl(
    means: ArrayLike,
    stds: ArrayLike,
    other_means: ArrayLike | None = None,
    other_stds: ArrayLike | None = None,
) -> Floats:
    """Return ½(KL(p‖q) + KL(q‖p)) in nats between diagonal Gaussians (Appendix H of the paper).

    Parameters
    ----------
    means, stds : array-like of shape (n, K)
        As ``transform(..., return_std=True)`` gives them; standard deviations above 0.
    other_means, other_stds : array-like of shape (m, K), optional
        The same subjects again if not given.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> symmetric_kl([[0.0], [2.0]], [[1.0], [1.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    first = _check_gaussians(means, stds, "means", "stds")
    second = first
    if other_means is not None or other_stds is not None:
        if other_means is None or other_stds is None:
            raise InputError("other_means and other_stds: give both, or none of them.")
        second = _check_gaussians(other_means, other_stds, "other_means", "other_stds")
    if first[0].shape[1] != second[0].shape[1]:
        raise InputError(
            f"means: {first[0].shape[1]} units, other_means: {second[0].shape[1]}; give latents "
            "of one model."
        )
    # Distances do not depend on the origin; centring avoids cancellation in the squares below.
    origin = first[0].mean(axis=0)
    one_way = _directed(first[0] - origin, first[1], second[0] - origin, second[1])
    back = _directed(second[0] - origin, second[1], first[0] - origin, first[1]).T
    distances = np.maximum((one_way + back) / 4 - first[0].shape[1] / 2, 0.0)
    if second is first:
        np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def _check_gaussians(
    means: ArrayLike, stds: ArrayLike, name: str, std_name: str
) -> tuple[Floats, Floats]:
    centres, spreads = check_features(means, name=name), check_features(stds, name=std_name)
    if centres.shape != spreads.shape:
        raise InputError(
            f"{name}: shape {centres.shape}, {std_name}: {spreads.shape}; expected the same."
        )
    if not (spreads > 0).all():
        raise InputError(f"{std_name}: a value not above 0; give standard deviations.")
    return centres, spreads**2


def _directed(means: Floats, variances: Floats, to_means: Floats, to_variances: Floats) -> Floats:
    """Sum over units of (variance + squared distance) / variance of the other, (n, m)."""
    precision = 1 / to_variances
    return np.asarray(
        (variances + means**2) @ precision.T
        - 2 * means @ (to_means * precision).T
        + (to_means**2 * precision).sum(axis=1)
    )
