"""Hypothesis strategies for what users pass by mistake, and for what they mean to pass."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

REAL_DTYPES = st.one_of(
    npst.integer_dtypes(), npst.unsigned_integer_dtypes(), npst.floating_dtypes()
)
ANY_DTYPES = st.one_of(
    REAL_DTYPES,
    npst.boolean_dtypes(),
    npst.complex_number_dtypes(),
    npst.unicode_string_dtypes(max_len=4),
    npst.byte_string_dtypes(max_len=4),
    npst.datetime64_dtypes(),
    npst.timedelta64_dtypes(),
)

odd_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(10**30, 10**400),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.sampled_from([object(), np.nan, pd.NA, pd.NaT, {"a": 1}, {1, 2}, range(3), np.float32]),
)
odd_lists = st.recursive(odd_scalars, lambda inner: st.lists(inner, max_size=4), max_leaves=12)
odd_arrays = ANY_DTYPES.flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=4, min_side=0))
)


@st.composite
def object_arrays(draw):
    values = draw(st.lists(odd_scalars, min_size=1, max_size=6))
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (-1, 1, 1)])))


@st.composite
def matrices(draw, dtype=None, max_subjects=4, max_regions=5):
    """Valid connectomes (n, V, V) in any real dtype."""
    dtype = np.dtype(draw(REAL_DTYPES) if dtype is None else dtype)
    n_subjects = draw(st.integers(1, max_subjects))
    n_regions = draw(st.integers(2, max_regions))
    elements = (
        st.integers(0, min(np.iinfo(dtype).max, 10**6))
        if dtype.kind in "iu"
        else st.floats(0, 1000, width=dtype.itemsize * 8)
    )
    upper = draw(npst.arrays(dtype, (n_subjects, n_regions, n_regions), elements=elements))
    upper = np.triu(upper, k=1)
    return upper + np.swapaxes(upper, 1, 2)


@st.composite
def spoiled_matrices(draw):
    """Connectomes with one value that cannot be, off the diagonal; with the place."""
    values = draw(matrices(dtype=np.float64))
    n_subjects, n_regions, _ = values.shape
    subject = draw(st.integers(0, n_subjects - 1))
    row, column = sorted(draw(st.permutations(range(n_regions)))[:2])
    value = draw(st.sampled_from([np.nan, np.inf, -np.inf, -1.0, -1e-9, -1e300]))
    values[subject, row, column] = values[subject, column, row] = value
    return values, subject, row, column


masked_arrays = st.builds(
    lambda array: np.ma.masked_array(array, mask=np.ones(array.shape, bool)), matrices()
)
odd_tables = st.one_of(
    odd_lists,
    st.builds(
        pd.DataFrame,
        st.dictionaries(
            st.text(max_size=3), st.lists(odd_scalars, min_size=2, max_size=2), max_size=3
        ),
    ),
)
odd = st.one_of(
    odd_lists, odd_arrays, object_arrays(), masked_arrays, spoiled_matrices().map(lambda s: s[0])
)
