"""What linear methods learned, as named arrays for storage, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

Arrays = dict[str, NDArray[Any]]

_PCA_ARRAYS = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
)
_PCA_NUMBERS = ("n_components_", "n_samples_", "n_features_in_")


def prefixed(prefix: str, values: Mapping[str, Any]) -> Arrays:
    """Return `values` as arrays under longer names.

    Examples
    --------
    >>> prefixed("pca.", {"mean": [1.0, 2.0]})
    {'pca.mean': array([1., 2.])}
    """
    return {f"{prefix}{name}": np.asarray(value) for name, value in values.items()}


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return what `prefixed` was given.

    Examples
    --------
    >>> under("pca.", prefixed("pca.", {"mean": [1.0]}) | prefixed("other.", {"mean": [2.0]}))
    {'mean': array([1.])}
    """
    return {name.removeprefix(prefix): v for name, v in arrays.items() if name.startswith(prefix)}


def pca_to_arrays(pca: PCA) -> Arrays:
    """Return fitted principal components as arrays by name."""
    names = (*_PCA_ARRAYS, *_PCA_NUMBERS)
    return {name.strip("_"): np.asarray(getattr(pca, name)) for name in names}


def pca_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> PCA:
    """Rebuild principal components that transform to the same bits.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(9, 4))
    >>> pca = PCA(2).fit(values)
    >>> again = pca_from_arrays(pca_to_arrays(pca))
    >>> bool((again.transform(values) == pca.transform(values)).all())
    True
    """
    pca = PCA(int(arrays["n_components"].item()), svd_solver="full")
    for name in _PCA_ARRAYS:
        setattr(pca, name, arrays[name.strip("_")])
    for name in _PCA_NUMBERS:
        setattr(pca, name, int(arrays[name.strip("_")].item()))
    pca.noise_variance_ = float(pca.noise_variance_.item())
    return pca
