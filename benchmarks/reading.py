"""How long reading takes beside the bare parser, on the same files in the same run.

1,000 MRtrix CSV files of 84 × 84, and one HDF5 stack of 10,000 × 68 × 68 as 32-bit floats and as
packed 16-bit counts. Both answer the same arrays; stillome also recognises, judges every value and
every symmetry, mirrors triangles and empties diagonals. Target: at most 1.5 × the bare parser, by
the clock; the ratio of processor time beside it does not depend on what else the machine does.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import pandas as pd

from stillome.io.connectomes import read_connectomes

TARGET = 1.5


def make_csv(folder: Path, n_subjects: int, generator: np.random.Generator) -> None:
    rates = np.triu(generator.gamma(0.3, 200, size=(84, 84)))
    for i in range(n_subjects):
        np.savetxt(
            folder / f"sub-{i:04d}_connectome.csv", generator.poisson(rates), "%d", delimiter=","
        )


def make_hdf5(path: Path, n_subjects: int, generator: np.random.Generator, packed: bool) -> None:
    upper = np.triu(generator.gamma(0.3, 200, size=(68, 68)), 1)
    with h5py.File(path, "w") as file:
        shape = (n_subjects, 68, 68)
        options = {"compression": "gzip", "chunks": (64, 68, 68)} if packed else {}
        stack = file.create_dataset("counts", shape, "u2" if packed else "f4", **options)
        for start in range(0, n_subjects, 1000):
            counts = generator.poisson(upper, size=(min(1000, n_subjects - start), 68, 68))
            stack[start : start + 1000] = counts + np.swapaxes(counts, 1, 2)
        ids = [f"{i:05d}" for i in range(n_subjects)]
        file.create_dataset("subject_ids", data=ids, dtype=h5py.string_dtype())


class Timing(NamedTuple):
    """The best of several runs, in seconds by the clock and of the processor."""

    clock: float
    processor: float


def best_of(repeats: int, *ways: Callable[[], object]) -> list[Timing]:
    """Time several ways in turn, so that a slow moment of the machine meets them alike."""
    times: list[list[tuple[float, float]]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, found in zip(ways, times, strict=True):
            started, worked = time.perf_counter(), time.process_time()
            way()
            found.append((time.perf_counter() - started, time.process_time() - worked))
    return [Timing(*(min(column) for column in zip(*found, strict=True))) for found in times]


def read_bare(path: Path) -> np.ndarray:
    with h5py.File(path) as file:
        return file["counts"][...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--stack", type=int, default=10_000)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "csv")
        folder.mkdir()
        make_csv(folder, arguments.files, generator)
        files = sorted(folder.glob("*.csv"))
        pandas_time, numpy_time, ours = best_of(
            arguments.repeats,
            lambda: np.stack([pd.read_csv(f, header=None).to_numpy() for f in files]),
            lambda: np.stack([np.loadtxt(f, delimiter=",") for f in files]),
            lambda: read_connectomes(folder),
        )
        title = f"{len(files)} CSV of 84 × 84"
        rows.append((title, "numpy.loadtxt", numpy_time, ours))
        rows.append((title, "pandas.read_csv", pandas_time, ours))
        for packed in (False, True):
            path = Path(name, f"stack-{packed}.h5")
            make_hdf5(path, arguments.stack, generator, packed)
            bare, ours = best_of(
                arguments.repeats, lambda p=path: read_bare(p), lambda p=path: read_connectomes(p)
            )
            kind = "16 bit, gzip" if packed else "float32"
            rows.append((f"HDF5 {arguments.stack} × 68 × 68, {kind}", "h5py", bare, ours))
    print(
        f"{'files':36} {'bare parser':16} {'bare s':>8} {'stillome s':>11} {'ratio':>6} {'CPU':>6}"
    )
    for title, parser_name, bare, ours in rows:
        ratio, processor = ours.clock / bare.clock, ours.processor / bare.processor
        verdict = "" if ratio <= TARGET else "  above the target"
        timed = f"{bare.clock:8.3f} {ours.clock:11.3f} {ratio:6.2f} {processor:6.2f}"
        print(f"{title:36} {parser_name:16} {timed}{verdict}")


if __name__ == "__main__":
    main()
