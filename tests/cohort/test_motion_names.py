import re
import runpy
from pathlib import Path

import pytest

from stillome.cohort.confound_choice import CONFOUND_ORDER
from stillome.cohort.motion_names import MOTION_NAMES, measure_of, rank_of, unit_trouble

NAMES = [(name, measure) for measure, known in MOTION_NAMES.items() for name in known.names]


def test_every_measure_is_in_the_order_of_defaults():
    assert {name for names in CONFOUND_ORDER for name in names} == set(MOTION_NAMES)


@pytest.mark.parametrize(("name", "measure"), NAMES)
def test_a_name_stands_for_one_measure_in_any_case_and_with_any_separator(name, measure):
    for written in (name, name.upper(), name.replace("_", " "), name.replace("_", "-")):
        assert measure_of(written) == measure


@pytest.mark.parametrize(
    "written", ["24453", "p24453_i2", "24453-2.0", "f.24453.2.0", "x24453_2_0"]
)
def test_a_field_of_uk_biobank_is_known_in_every_spelling(written):
    assert measure_of(written) == "rms_mm"
    assert measure_of(written.replace("24453", "21003")) is None


def test_names_of_something_else_are_no_motion():
    for name in ("age", "site", "handedness", "rms_error", "fd_max", "10", "subject"):
        assert measure_of(name) is None
        assert rank_of(name) == 0


def test_the_canonical_name_comes_first():
    assert [rank_of(name) for name in MOTION_NAMES] == [0] * len(MOTION_NAMES)
    assert rank_of("mean_fd") < rank_of("FD")


def test_units_are_judged_only_where_they_are_known():
    assert unit_trouble("volumes", 300.0) is None
    assert unit_trouble("n_outlier_slices", 300.0) is None
    assert unit_trouble("mean_fd", 0.0) is None
    assert "number of slices" in unit_trouble("outliers_percent", 300.0)


def test_the_documentation_lists_every_name():
    docs = Path(__file__).parents[2] / "docs"
    assert "<!-- from the code: motion names -->" in (docs / "motion.md").read_text("utf-8")
    place = docs / "_ext" / "from_code.py"
    written = runpy.run_path(str(place))["motion_names"]().splitlines()
    for measure, known in MOTION_NAMES.items():
        (row,) = (line for line in written if line.startswith(f"| `{measure}` |"))
        assert known.meaning in row
        assert re.findall(r"`([^`]+)`", row) == [measure, *known.names]
        assert re.findall(r"\d{5}", row) == [str(field) for field in known.fields]
