"""Names of columns, as scikit-learn asks for them: of the input, and of the latents."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.exceptions import InputError


def names_of(X: ArrayLike) -> NDArray[np.object_] | None:
    """Return the names of the columns of a table; None where X has none, or not all are text.

    Examples
    --------
    >>> names_of(pd.DataFrame({"a-b": [1], "a-c": [2]})).tolist(), names_of([[1, 2]])
    (['a-b', 'a-c'], None)
    """
    if not isinstance(X, pd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        return None
    return np.asarray(X.columns, dtype=object)


def keep_names(model: Any, X: ArrayLike) -> None:
    """Set ``feature_names_in_`` of a model to the names of the columns of `X`, if it has any."""
    names = names_of(X)
    if names is not None:
        model.feature_names_in_ = names
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def check_names(X: ArrayLike, fitted: NDArray[Any] | None) -> None:
    """Refuse a table whose columns are not those of the fit, in that order.

    Raises
    ------
    InputError
        Naming the first column that differs.

    Examples
    --------
    >>> check_names(pd.DataFrame({"b": [1], "a": [2]}), np.array(["a", "b"], dtype=object))
    Traceback (most recent call last):
    stillome.exceptions.InputError: X: column 0 is 'b', in the fit it was 'a'. The feature names
    should match those of the fit: pass X[model.feature_names_in_].
    """
    names = names_of(X)
    if names is None or fitted is None or np.array_equal(names, fitted):
        return
    pairs = zip(names, fitted, strict=False)
    place = next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    if place is None:
        lacking = fitted[len(names) :] if len(names) < len(fitted) else names[len(fitted) :]
        said = "missing" if len(names) < len(fitted) else "not of the fit"
        raise InputError(f"X: column {lacking[0]!r} is {said}. Pass X[model.feature_names_in_].")
    raise InputError(
        f"X: column {place} is {names[place]!r}, in the fit it was {fitted[place]!r}. The feature "
        "names should match those of the fit: pass X[model.feature_names_in_]."
    )


def latent_names(method: object, n_components: int) -> NDArray[np.object_]:
    """Return the names of the latents: the class in lower case and a number.

    Examples
    --------
    >>> latent_names(object(), 2).tolist()
    ['object0', 'object1']
    """
    prefix = type(method).__name__.lower()
    return np.array([f"{prefix}{i}" for i in range(n_components)], dtype=object)
