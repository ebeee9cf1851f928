"""scikit-learn's own checks for methods that want connectomes and confounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

EXPECTED = {
    "check_positive_only_tag_during_fit": "negative counts are refused, but the message names the "
    "subject and the edge instead of scikit-learn's words",
}


class AnyColumns:
    """Stands before a method and takes what the checks send: any columns, and no confounds."""

    def fit(self, X, y=None, *, confounds=None, covariates_to_keep=None):
        edges = padded(validate_data(self, X))
        n_features = self.n_features_in_
        y = None if y is None else np.asarray(y)
        super().fit(edges, y, confounds=edges.mean(axis=1))
        self.n_features_in_ = n_features
        return self

    def _new_connectomes(self, X):
        self._check_fitted()
        return super()._new_connectomes(padded(validate_data(self, X, reset=False)))


def padded(X: np.ndarray) -> np.ndarray:
    """Fill up with empty edges to the next V(V-1)/2, which columns are judged before."""
    n_regions = next(v for v in range(2, 99) if v * (v - 1) // 2 >= X.shape[1])
    return np.pad(X, ((0, 0), (0, n_regions * (n_regions - 1) // 2 - X.shape[1])))


def named_checks(estimator: Any) -> Iterator[Any]:
    """Give all checks but the one for array types that are not claimed to be supported."""
    checks = estimator_checks_generator(
        estimator, expected_failed_checks=EXPECTED, mark="xfail", xfail_strict=True
    )
    for each in checks:
        check = each.values[1] if hasattr(each, "values") else each[1]
        name = getattr(check, "func", check).__name__
        if "array_api" not in name:
            yield pytest.param(check, id=name, marks=getattr(each, "marks", ()))
