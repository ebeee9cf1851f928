"""Matrices as written become connectomes; what was emptied is counted over the whole stack."""

import numpy as np
import pytest

from stillome.exceptions import FileError
from stillome.io.clean import Cleaner, Tally, blocks_of
from stillome.io.lazy_stack import LazyStack


def symmetric(n_subjects: int, n_regions: int, dtype: str) -> np.ndarray:
    upper = np.random.default_rng(0).integers(1, 9, size=(n_subjects, n_regions, n_regions))
    upper = np.triu(upper, 1)
    return (upper + np.swapaxes(upper, 1, 2)).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u2"])
@pytest.mark.parametrize("late", [False, True])
def test_the_fraction_of_the_diagonal_is_that_of_the_whole_stack(dtype: str, late: bool) -> None:
    matrices = symmetric(9, 300, dtype)
    assert len(list(blocks_of(matrices))) > 1
    np.einsum("nii->ni", matrices)[-1 if late else 0] = 7
    fibres = np.triu(matrices).sum()
    tally = Tally()
    Cleaner(str).clean(matrices, tally)
    assert tally.diagonal_fraction == pytest.approx(300 * 7 / fibres, rel=1e-6)
    assert not np.einsum("nii->ni", matrices).any()


def test_subjects_are_named_wherever_they_stand_in_what_was_asked_for() -> None:
    matrices = symmetric(20, 6, "f8")
    matrices[15, 1, 2] = matrices[15, 2, 1] = -1
    matrices[4, 3] = matrices[4, :, 3] = 0
    stack = LazyStack(matrices, 0, Cleaner(lambda position: f"subject {position}"))
    for some in (stack.select(np.array([7, 15])), stack.select(np.arange(20)[::-1])):
        with pytest.raises(FileError, match=r"subject 15: negative or NaN at \(1,2\)"):
            some[:]
    with pytest.raises(FileError, match="subject 15: negative"):
        stack[[15, 2, 3]]
    tally = Tally()
    stack.read(np.array([9, 4, 0]), tally)
    assert tally.empty_regions == {3: [4]}
