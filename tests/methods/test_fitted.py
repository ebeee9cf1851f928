"""A model with the names of what it was fitted to: found again in other tables, or refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.exceptions import ConfoundsError, FileError, InputError, StillomeWarning
from stillome.methods.fitted import FittedModel, load_fitted, save_fitted
from stillome.methods.header_values import checksum
from stillome.methods.linear.edgewise import EdgewiseRegression

REGIONS = ("ctx-lh-insula", "ctx-rh-insula", "ctx-lh-cuneus", "ctx-rh-cuneus")


def model() -> EdgewiseRegression:
    rng = np.random.default_rng(0)
    motion = pd.DataFrame({"rms_mm": rng.random(20), "rotation_rad": rng.random(20)})
    return EdgewiseRegression(n_components=2).fit(rng.poisson(9, (20, 6)), confounds=motion)


FITTED = FittedModel(
    model(),
    ConfoundCoding(("rms_mm", "rotation_rad")),
    traits=("reading",),
    keeping=ConfoundCoding((), {"age": 9.5}, {"sex": ("f", "m")}),
    regions=REGIONS,
    measure="count",
)


def test_names_come_back(tmp_path: Path) -> None:
    loaded = load_fitted(save_fitted(FITTED, tmp_path / "model"))
    for name in ("confounds", "traits", "keeping", "kept", "regions", "measure"):
        assert getattr(loaded, name) == getattr(FITTED, name)
    assert EdgewiseRegression.load(tmp_path / "model").n_confounds_ == 2


@given(st.permutations(["rms_mm", "rotation_rad", "fd_mm"]))
def test_motion_is_found_by_name_in_any_order(columns: list[str]) -> None:
    values = {"rms_mm": [0.1, np.nan], "rotation_rad": [0.01, 0.02], "fd_mm": [5.0, 6.0]}
    found = FITTED.confounds_of(pd.DataFrame({name: values[name] for name in columns}))
    np.testing.assert_array_equal(found, [[0.1, 0.01], [np.nan, 0.02]])


def test_motion_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfoundsError, match=r"no column 'rotation_rad'.*\['rms_mm'\]"):
        FITTED.confounds_of(pd.DataFrame({"rms_mm": [0.1]}))
    with pytest.raises(ConfoundsError, match="not all numbers"):
        FITTED.confounds_of(pd.DataFrame({"rms_mm": ["much"], "rotation_rad": [0.1]}))
    assert FITTED.confounds_of(None) is None


@given(st.permutations(range(4)))
def test_regions_are_found_by_name_in_any_order(order: list[int]) -> None:
    names = [REGIONS[i] for i in order]
    assert [names[i] for i in FITTED.order_of(names)] == list(REGIONS)


def test_regions_are_found_in_the_spelling_of_another_tool() -> None:
    names = ["rh.cuneus", "lh.cuneus", "Right-insula", "Left-insula"]
    assert FITTED.order_of(names).tolist() == [3, 2, 1, 0]


def test_regions_without_names_stand_in_order() -> None:
    numbered = [f"region-{i:03d}" for i in range(1, 5)]
    assert FITTED.order_of(numbered).tolist() == [0, 1, 2, 3]


def test_other_regions_are_refused() -> None:
    with pytest.raises(InputError, match="3 regions; the model was fitted to 4"):
        FITTED.order_of(["a", "b", "c"])
    with pytest.raises(InputError, match=r"no region 'ctx-rh-cuneus'.*same atlas"):
        FITTED.order_of([*REGIONS[:3], "thalamus"])
    with pytest.raises(InputError, match="no region"):
        FITTED.order_of([*REGIONS[:3], "lh.insula"])


def test_another_measure_is_named() -> None:
    with pytest.warns(StillomeWarning, match=r"fitted to 'count'.*'sift2'"):
        FITTED.warn_of_other_measure("sift2")


def test_names_must_be_as_many_as_there_are_things(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 names for 2 confounds"):
        save_fitted(FittedModel(FITTED.model, ConfoundCoding(("rms_mm",))), tmp_path / "model")
    with pytest.raises(InputError, match="1 names for 4 regions"):
        save_fitted(
            FittedModel(FITTED.model, FITTED.coding, regions=("a",)),
            tmp_path / "model",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_names_or_with_damaged_ones_is_refused(tmp_path: Path) -> None:
    FITTED.model.save(tmp_path / "bare")
    with pytest.raises(FileError, match="what its 2 confounds are called"):
        load_fitted(tmp_path / "bare")
    save_fitted(FITTED, tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    for damage in ({"coding": "rms_mm"}, {"traits": [1, 2]}, {"measure": 3}, None):
        inputs = None if damage is None else header["inputs"] | damage
        (tmp_path / "model" / "model.json").write_text(json.dumps(header | {"inputs": inputs}))
        with pytest.raises(FileError, match="damaged"):
            load_fitted(tmp_path / "model")


SITES = FittedModel(FITTED.model, ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")}))


def test_sites_are_found_again_with_the_levels_of_the_fit(tmp_path: Path) -> None:
    loaded = load_fitted(save_fitted(SITES, tmp_path / "model"))
    assert loaded.coding == SITES.coding
    motion, sites = pd.DataFrame({"rms_mm": [0.1]}), pd.DataFrame({"site": ["B"]})
    np.testing.assert_array_equal(loaded.confounds_of(motion, sites), [[0.1, 1.0]])
    np.testing.assert_array_equal(loaded.confounds_of(None, sites), [[np.nan, 1.0]])
    with pytest.raises(ConfoundsError, match="no column 'site'"):
        loaded.confounds_of(motion)


@pytest.mark.parametrize(
    ("coding", "says"),
    [
        ({}, "damaged"),
        (SITES.coding.to_json() | {"version": 2}, "Update stillome"),
        (SITES.coding.to_json() | {"motion": []}, "what its 2 confounds are called"),
    ],
)
def test_levels_that_cannot_be_read_are_refused(
    tmp_path: Path, coding: dict[str, object], says: str
) -> None:
    save_fitted(SITES, tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    header["inputs"] |= {"coding": coding}
    header["header_sha256"] = checksum(header)
    (tmp_path / "model" / "model.json").write_text(json.dumps(header))
    with pytest.raises(FileError, match=says) as refused:
        load_fitted(tmp_path / "model")
    assert str(tmp_path / "model") in str(refused.value)
