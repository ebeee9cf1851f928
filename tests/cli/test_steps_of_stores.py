"""The steps alone, on connectomes that stay in their store: the same answers as from memory."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from small_study import contents, small_cohort
from stillome.cli import main
from stillome.cohort.reordered_matrices import reordered
from stillome.cohort.stored_matrices import NpyRows
from stillome.io import read_connectomes
from stillome.io.edge_store import convert_connectomes
from stillome.io.write_cohort import write_cohort

MOTION = ("--motion", "study/motion.tsv")


@pytest.fixture(scope="module")
def stores():
    """Names of two stores, the second with regions in another order."""
    return "cohort.zarr", "turned.zarr"


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory, stores):
    """A folder with a study, its stores, and a model."""
    cohort = small_cohort(40)
    order = np.arange(cohort.n_regions)[::-1]
    turned = replace(
        cohort,
        connectomes=reordered(cohort.connectomes, order),
        regions=cohort.regions.iloc[order].reset_index(drop=True),
    )
    with contextlib.chdir(tmp_path_factory.mktemp("stores")):
        for name, one, store in zip(("study", "other"), (cohort, turned), stores, strict=True):
            files = write_cohort(Path(name), one)
            convert_connectomes(str(files.connectomes), store, labels=str(files.regions))
        words = ["--connectomes", stores[0], *MOTION, "--confound", "rms_mm"]
        words += ["--traits", "study/participants.tsv", "--trait", "reading"]
        assert main(["fit", *words, "--out", "model"]) == 0
        yield


def both_ways(monkeypatch, verb, store, *words):
    """Call a verb with connectomes in memory, and with connectomes that stay in the store."""
    kind = ".tsv" if verb in ("transform", "predict") else ""
    outs = (Path(f"{verb}-memory-{store}{kind}"), Path(f"{verb}-slices-{store}{kind}"))
    for out, limit in zip(outs, (2**31, 0), strict=True):
        monkeypatch.setattr("stillome.io.one_stack.LAZY_BYTES", limit)
        monkeypatch.setattr("stillome.methods.inv_fa.ordered_table._ELEMENTS", 300)
        given = [verb, "model", "--connectomes", store, *MOTION, "--out", str(out), *words]
        assert main([*given, "--overwrite"]) == 0
    return outs


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("form", ["same", "relmat"])
def test_adjusted_connectomes_are_written_as_they_are_made(monkeypatch, stores, which, form):
    written, write = [], NpyRows.__setitem__
    monkeypatch.setattr(
        NpyRows,
        "__setitem__",
        lambda rows, place, values: written.append(len(values)) or write(rows, place, values),
    )
    outs = both_ways(monkeypatch, "adjust", stores[which], "--format", form)
    assert sum(written) == 40 and len(written) > 1
    memory, slices = (
        read_connectomes(out / stores[which] if form == "same" else out) for out in outs
    )
    np.testing.assert_array_equal(np.asarray(memory.connectomes), np.asarray(slices.connectomes))
    assert memory.subject_ids == slices.subject_ids
    assert list(memory.regions["name"]) == list(slices.regions["name"])
    assert not list(Path().glob(".stillome-*"))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("verb", ["transform", "predict"])
def test_tables_are_the_same(monkeypatch, stores, which, verb):
    memory, slices = both_ways(monkeypatch, verb, stores[which])
    one, two = (pd.read_csv(out, sep="\t") for out in (memory, slices))
    pd.testing.assert_frame_equal(one, two, rtol=1e-10)


def test_draws_and_bounds_of_a_store(monkeypatch, stores):
    outs = both_ways(monkeypatch, "adjust", stores[1], "--interval", "0.9", "--seed", "1")
    for part in ("adjusted", "lower", "upper"):
        memory, slices = (read_connectomes(out / part).connectomes for out in outs)
        np.testing.assert_array_equal(memory, slices)


def test_a_site_can_be_learned_from_a_store(monkeypatch, stores):
    memory, slices = both_ways(monkeypatch, "adapt", stores[1], "--site", "utrecht")
    assert contents(memory) == contents(slices)
