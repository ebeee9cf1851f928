import pandas as pd
import pytest

from stillome.cohort.confound_choice import (
    CONFOUND_ORDER,
    Removed,
    check_apart,
    choose_confounds,
    choose_removed,
)
from stillome.exceptions import ConfoundsError, InputError, StillomeWarning

MOTION = pd.DataFrame({"rotation_rad": [0.1, 0.2], "fd_mm": [0.3, 0.4]})
TRAITS = pd.DataFrame({"site": ["A", "B"], "age": [9, 10]})


@pytest.mark.parametrize("names", CONFOUND_ORDER)
def test_each_usual_measure_is_taken_where_it_is_the_only_one(names):
    motion = pd.DataFrame({name: [0.1, 0.2] for name in names})
    assert choose_confounds(motion) == names


def test_a_measure_that_does_not_vary_is_not_the_default():
    motion = MOTION.assign(rms_mm=1.0)
    with pytest.warns(StillomeWarning, match="measured by fd_mm; rotation_rad could be removed"):
        assert choose_confounds(motion) == ("fd_mm",)
    with pytest.raises(ConfoundsError, match=r"Name the ones to remove with confounds=\.\.\."):
        choose_confounds(motion[["rms_mm"]])


def test_columns_of_traits_are_removed_with_the_default_or_with_what_is_named():
    with pytest.warns(StillomeWarning, match="measured by fd_mm"):
        assert choose_removed(MOTION, TRAITS, ["site"]) == Removed(("fd_mm",), ("site",))
    named = choose_removed(MOTION, TRAITS, ["site", "rotation_rad", "site"])
    assert named == Removed(("rotation_rad",), ("site",))
    with pytest.raises(ConfoundsError, match="neither motion nor traits has a column 'scanner'"):
        choose_removed(MOTION, TRAITS, ["scanner"])
    with pytest.raises(ConfoundsError, match=r"give that table with traits=\.\.\."):
        choose_removed(MOTION, None, ["site"])


@pytest.mark.parametrize(
    ("uses", "says"),
    [
        ({"trait": ["age"]}, "'age' cannot be both removed and predicted"),
        ({"keep": ["age"]}, "'age' cannot be both removed and kept"),
        ({"group": "age"}, "'age' cannot be both removed and held together"),
        ({"trait": ["iq"], "keep": ["iq"]}, "'iq' cannot be both predicted and kept"),
    ],
)
def test_a_column_has_one_use(uses, says):
    check_apart(["age"], trait=["iq"], keep=["sex"], group="family")
    with pytest.raises(InputError, match=says):
        check_apart(["age"], **uses)
