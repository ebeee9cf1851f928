import numpy as np
import pandas as pd
import pytest

from stillome.cohort.kept_covariates import kept_covariates
from stillome.exceptions import ConfoundsError

TRAITS = pd.DataFrame(
    {"age": np.arange(30.0), "sex": ["f"] * 18 + ["m"] * 12, "rare": ["a"] * 27 + ["b"] * 3},
    index=[f"S{i}" for i in range(30)],
)


def test_text_becomes_dummies_and_numbers_stay_numbers():
    kept = kept_covariates(TRAITS, ["sex", "age", "sex"])
    assert kept.coding.names == ("age", "sex=m")
    assert kept.values[:, 1].tolist() == [0.0] * 18 + [1.0] * 12
    np.testing.assert_array_equal(kept.values[:, 0], TRAITS["age"])
    again = type(kept.coding).from_json(kept.coding.to_json())
    assert again == kept.coding


def test_without_names_there_is_nothing_to_keep():
    kept = kept_covariates(TRAITS, [])
    assert kept.coding.names == () and kept.values.shape == (30, 0)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["height"], "column to keep 'height' is not among age, sex, rare"),
        (["rare"], "column to keep 'rare': 3 subjects have 'b', at least 10"),
        (["gap"], "'gap' is missing for 1 subjects, e.g. 'S4'"),
        (["same"], "column to keep 'same' does not differ"),
    ],
)
def test_what_cannot_be_kept_is_refused(names, says):
    traits = TRAITS.assign(gap=[*range(4), np.nan, *range(25)], same="x")
    with pytest.raises(ConfoundsError, match=says):
        kept_covariates(traits, names)
