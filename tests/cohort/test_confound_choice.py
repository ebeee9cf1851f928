import numpy as np
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


@pytest.mark.parametrize("asked", [(), ("rms_mm",)])
def test_motion_that_says_nothing_is_refused_in_one_sentence(asked):
    same, unknown = pd.DataFrame({"rms_mm": [1.0, 1.0]}), pd.DataFrame({"rms_mm": [np.nan] * 2})
    with pytest.raises(ConfoundsError, match=r"'rms_mm' is 1\.0 for all 2 subjects who have it"):
        choose_confounds(same, asked)
    with pytest.raises(ConfoundsError, match="'rms_mm' is missing for all 2 subjects"):
        choose_confounds(unknown, asked)
    with pytest.raises(ConfoundsError, match="has a usual name"):
        choose_confounds(TRAITS)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("mean_rel_rms", "relative to the previous volume"),
        ("FD", "mean framewise displacement"),
        ("Movement_AbsoluteRMS_mean", "relative to the reference volume"),
        ("p24453_i2", "relative to the previous volume"),
    ],
)
def test_usual_names_are_found_and_the_choice_is_said(name, meaning):
    motion = pd.DataFrame({"age": [9.0, 10.0], name: [0.1, 0.2]})
    with pytest.warns(StillomeWarning, match=f"measured by {name} .*{meaning}.*confounds="):
        assert choose_confounds(motion) == (name,)


def test_the_more_specific_name_and_the_better_measure_are_taken_first():
    motion = pd.DataFrame({"fd": [1.0, 2], "mean_abs_rms": [1.0, 3], "mean_fd": [2.0, 3]})
    with pytest.warns(StillomeWarning, match="by mean_fd .*; fd, mean_abs_rms could be removed"):
        assert choose_confounds(motion) == ("mean_fd",)


def test_numbers_that_cannot_be_motion_are_refused_unless_they_were_asked_for():
    volumes = pd.DataFrame({"mean_fd": [280.0, 320.0]})
    with pytest.raises(ConfoundsError, match=r"no head moves by 300 mm.*micrometres.*volumes"):
        choose_confounds(volumes)
    with pytest.warns(StillomeWarning, match="no head moves by 300 mm"):
        assert choose_confounds(volumes, ["mean_fd"]) == ("mean_fd",)
    with pytest.raises(ConfoundsError, match="metres"):
        choose_confounds(volumes / 1e6)
    with pytest.raises(ConfoundsError, match="degrees"):
        choose_confounds(pd.DataFrame({"rotation_rad": [1.0, 2.0]}))


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
