"""Newman's modularity of weighted networks, for many subjects at once."""

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

# Gains below this are rounding errors: modularity is at most 1.
_LEAST_GAIN = 1e-12


def modularity(weights: Floats) -> Floats:
    """Return the modularity of the best partition that a deterministic search finds.

    Communities are merged in pairs, the largest gain first; then single regions are moved, the
    largest gain first. Both are repeated until no gain is left. No random numbers are used, so
    that adjusted and raw networks are compared without noise of the search. As in any fast search,
    the partition found may not be the best of all.

    Parameters
    ----------
    weights : array of shape (n, V, V)
        Symmetric, not negative, zero diagonal.

    Returns
    -------
    array of shape (n,)
        Between 0 and 1; 0 for a network without edges.

    References
    ----------
    Newman (2004), Phys. Rev. E 70:056131; Clauset, Newman & Moore (2004), Phys. Rev. E 70:066111.

    Examples
    --------
    Two triangles without a connection between them:

    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> modularity(np.kron(np.eye(2), triangle)[None]).round(6).tolist()
    [0.5]
    """
    excess = _excess(_ordered(_shares(weights)))
    n_subjects, n_regions, _ = excess.shape
    member = np.tile(np.eye(n_regions), (n_subjects, 1, 1))  # region by community, one-hot
    found = _quality(excess, member)
    while True:
        _merge(excess, member)
        _move(excess, member)
        better = _quality(excess, member)
        if (better - found <= _LEAST_GAIN).all():
            return np.maximum(better, 0.0)
        found = better


def _shares(weights: Floats) -> Floats:
    """Divide by the sum of all weights."""
    largest = weights.max(axis=(1, 2), keepdims=True)
    shares = weights / np.where(largest > 0, largest, 1)  # so that no sum overflows
    total = shares.sum(axis=(1, 2), keepdims=True)
    return np.asarray(shares / np.where(total > 0, total, 1))


def _ordered(shares: Floats) -> Floats:
    """Sort regions by their weights, so that ties do not depend on the order of the atlas."""
    rows = np.sort(shares, axis=2)  # sums of sorted rows agree to the last bit
    order = np.lexsort([np.sqrt(rows).sum(axis=2), rows.sum(axis=2)])
    across = np.take_along_axis(shares, order[:, :, None], axis=1)
    return np.take_along_axis(across, order[:, None, :], axis=2)


def _excess(shares: Floats) -> Floats:
    """Subtract the share of weight that is expected on each pair, given the strengths."""
    strength = shares.sum(axis=2)
    return np.asarray(shares - strength[:, :, None] * strength[:, None, :])


def _quality(excess: Floats, member: Floats) -> Floats:
    return np.asarray(((excess @ member) * member).sum(axis=(1, 2)))


def _merge(excess: Floats, member: Floats) -> None:
    """Merge the two communities with the largest gain, until there is none; in place."""
    between = np.swapaxes(member, 1, 2) @ excess @ member
    itself = np.arange(between.shape[1])
    between[:, itself, itself] = 0
    while True:
        who, first, second = _best(between)
        if not len(who):
            return
        between[who, first] += between[who, second]
        between[who, :, first] += between[who, :, second]
        between[who, second] = 0
        between[who, :, second] = 0
        between[who, first, first] = 0
        member[who, :, first] += member[who, :, second]
        member[who, :, second] = 0


def _move(excess: Floats, member: Floats) -> None:
    """Move the region with the largest gain to another community, until none is left; in place."""
    links = excess @ member
    own = np.argmax(member, axis=2)
    itself = np.diagonal(excess, axis1=1, axis2=2)
    while True:
        here = np.take_along_axis(links, own[:, :, None], axis=2) - itself[:, :, None]
        gains = links - here
        np.put_along_axis(gains, own[:, :, None], 0, axis=2)
        who, region, target = _best(gains)
        if not len(who):
            return
        source = own[who, region]
        links[who, :, source] -= excess[who, region]
        links[who, :, target] += excess[who, region]
        member[who, region, source] = 0
        member[who, region, target] = 1
        own[who, region] = target


def _best(gains: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the subjects with any gain, and the row and column of their largest."""
    flat = gains.reshape(len(gains), -1)
    places = flat.argmax(axis=1)
    who = np.flatnonzero(flat[np.arange(len(flat)), places] > _LEAST_GAIN)
    return (who, *np.divmod(places[who], gains.shape[2]))
