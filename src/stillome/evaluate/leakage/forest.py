"""Extremely randomised trees, as a probe fits them hundreds of times.

The trees are those of scikit-learn's `ExtraTreesRegressor`, bit for bit. Of small data, its copying
and checking of parameters for every tree takes longer than the trees; here they are checked by us.
"""

from collections.abc import Callable

import numpy as np
import sklearn
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from stillome.arrays import Floats

N_TREES = 100
_TREE_FEATURES = 20
_WORTH_A_THREAD = 100_000  # training values, below which starting threads takes longer


def fit_trees(
    features: Floats, target: Floats, seed: int, n_trees: int = N_TREES
) -> Callable[[Floats], Floats]:
    """Fit extremely randomised trees; return the function that predicts.

    Parameters
    ----------
    features : array of shape (n, p)
    target : array of shape (n,)
    seed : int
    n_trees : int, default=100

    Examples
    --------
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> predict = fit_trees(x, x[:, 0], seed=0)
    >>> bool(predict(x[:1])[0] < -0.5)
    True
    """
    columns = np.asfortranarray(features, dtype=np.float32)  # trees read columns
    values = np.ascontiguousarray(target, dtype=np.float64)[:, None]
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    # Threads fit, but do not add up: their order would change the last digits.
    n_jobs = 2 if features.size > _WORTH_A_THREAD else 1
    trees = Parallel(n_jobs, prefer="threads")(
        delayed(_fit_tree)(columns, values, one) for one in seeds
    )

    def predict(new: Floats) -> Floats:
        rows = np.ascontiguousarray(new, dtype=np.float32)
        total = np.zeros(len(rows))
        for tree in trees:
            total += tree.tree_.predict(rows)[:, 0]
        return total / n_trees

    return predict


def _fit_tree(columns: NDArray[np.float32], values: Floats, seed: int) -> ExtraTreeRegressor:
    n_features = columns.shape[1]
    tree = ExtraTreeRegressor(
        # A tenth of few features would leave each split without a choice.
        max_features=min(n_features, max(_TREE_FEATURES, n_features // 10)),
        min_samples_leaf=5,
        random_state=seed,
    )
    with sklearn.config_context(skip_parameter_validation=True):
        return tree.fit(columns, values, check_input=False)
