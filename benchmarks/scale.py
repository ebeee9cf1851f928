"""Time and memory of fits that are larger than memory: stores, threads, workers, sizes.

python benchmarks/scale.py --quick
python benchmarks/scale.py --sizes 2000x68 2000x200
python benchmarks/scale.py --parts threads workers cluster
python benchmarks/scale.py --sizes 20000x200 --parts store sizes
python benchmarks/scale.py --parts tenth

Every measurement is a process of its own, so that its peak of resident memory is that of the
measured steps. Each step has a peak of its own (Linux; elsewhere it contains those before it).
Counts are generated in blocks into a zarr store (uint16), outside the measurement.
Seconds of the processor are printed beside those of the clock: on a busy machine only they compare.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import zarr

PARTS = ("threads", "memory", "store", "sizes", "workers", "cluster", "paper", "tenth")
QUICK, USUAL = ["300x68"], ["1065x68", "1000x200", "4000x68", "2000x200"]
LIMIT = 1.2e9  # bytes for what fits from a store keep
UNLIMITED = 1e12  # everything stays in memory, whatever is free
WHOLE, SHARE = (100_000, 400), 10  # of the part "tenth", which takes a tenth of the subjects
N_PERMUTATIONS = 20
STEPS = ("fit", "adjust", "certificate of z", "certificate of A*")
N_FACTORS, BLOCK = 10, 200


def generate(path: Path, n: int, n_regions: int) -> None:
    """Write counts of people of whom motion takes fibres, a few at a time."""
    n_edges = n_regions * (n_regions - 1) // 2
    rng = np.random.default_rng(0)
    baseline, slopes = rng.normal(1.5, 1.5, n_edges), rng.normal(-0.3, 0.1, n_edges)
    loadings = rng.normal(0, 0.15, (N_FACTORS, n_edges))
    motion = rng.lognormal(-1, 0.5, n)
    store = zarr.create_array(
        str(path / "X"), shape=(n, n_edges), dtype="u2", chunks=(BLOCK, min(n_edges, 4096))
    )
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        own = rng.standard_normal((len(motion[rows]), N_FACTORS)) @ loadings
        rate = np.exp(np.clip(baseline + own + slopes * motion[rows, None], -10, 8))
        noisy = rng.gamma(5, 0.2, rate.shape) * rate
        store[rows] = np.minimum(rng.poisson(noisy), 65535).astype(np.uint16)
    np.save(path / "motion.npy", motion)


def child(task: dict[str, Any]) -> None:
    """Do one step, and print its seconds and its peak of memory as JSON."""
    warnings.simplefilter("ignore")
    from stillome import InvFA, InvVAE, leakage_certificate
    from stillome.counts.workers import n_workers, working

    folder = Path(task["folder"])
    motion, X = np.load(folder / "motion.npy"), zarr.open_array(str(folder / "X"), mode="r")
    if task["where"] == "memory":
        X = X[:]
    if task["method"] == "inv-vae":
        model: Any = InvVAE(max_epochs=task["epochs"])
    else:
        model = InvFA(memory=task.get("limit"))
    warm_up()
    before = peak_memory()
    found: dict[str, float] = {}
    with working(task.get("workers") or n_workers()), cluster(task.get("processes", 0)):
        for step in task["steps"]:
            new_peak()
            clock, processor = time.perf_counter(), time.process_time()
            if step == "fit":
                model.fit(X, confounds=motion)
            elif step == "adjust":
                out = zarr.create_array(
                    str(folder / f"out{os.getpid()}"),
                    shape=X.shape,
                    dtype=X.dtype,
                    chunks=(BLOCK, min(X.shape[1], 4096)),
                )
                model.adjust(X, confounds=motion, out=out)
            elif step == "certificate of z":
                latent = model.transform(X, confounds=motion)
                leakage_certificate(latent, motion, n_permutations=N_PERMUTATIONS)
            else:
                leakage_certificate(out, motion, kind="counts", n_permutations=N_PERMUTATIONS)
            found[step] = time.perf_counter() - clock
            found[step + " processor"] = time.process_time() - processor
            found[step + " peak"] = peak_memory()
            # The largest sizes take an hour: what is known so far is seen, beside the table.
            print(
                f"          {folder.name}: {step} {found[step + ' processor']:.1f} s of the "
                f"processor, {found[step + ' peak']:.0f} MB",
                file=sys.stderr,
                flush=True,
            )
    peak = max(found[step + " peak"] for step in task["steps"])
    print(json.dumps(found | {"before": before, "peak": peak}))


def warm_up() -> None:
    """Fit a small model: what is imported at the first fit is no part of the measured one."""
    from stillome import InvFA, simulate_cohort

    small = simulate_cohort(40)
    InvFA(2).fit(small.X[:, :66], confounds=small.confounds)


def peak_memory() -> float:
    """Return the largest resident memory of this process since `new_peak`, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def new_peak() -> None:
    """Begin to measure the peak anew, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def cluster(n_processes: int) -> Iterator[None]:
    """Start workers of Dask on this machine, each with one thread, and have them compute."""
    if not n_processes:
        yield
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_processes, threads_per_worker=1, dashboard_address=":0"
        ) as workers,
        Client(workers) as client,
    ):
        client.run(warm_up)
        yield


def measured(folder: Path, *, threads: str | None = None, **task: Any) -> dict[str, float]:
    usual = {"where": "memory", "method": "inv-fa", "steps": ["fit"], "folder": str(folder)}
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    if threads is not None:
        environment["OMP_NUM_THREADS"] = threads
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps(usual | task)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def by_threads(folder: Path, name: str) -> None:
    for method, epochs in (("inv-fa", 0), ("inv-vae", 3)):
        default = measured(folder, method=method, epochs=epochs)
        one = measured(folder, method=method, epochs=epochs, threads="1")
        ratio = default["fit"] / one["fit"]
        print(
            f"threads   {name:10s} {method:8s} default {default['fit']:7.1f} s   one thread "
            f"{one['fit']:7.1f} s   ratio {ratio:.2f}",
            flush=True,
        )


def by_memory(folder: Path, name: str, single: float) -> None:
    found = measured(folder)
    more = (found["peak"] - found["before"]) / single
    print(
        f"memory    {name:10s} float32 data {single:7.0f} MB   fit adds {more:5.1f} times these   "
        f"{found['fit processor']:7.1f} s of the processor",
        flush=True,
    )


def by_store(folder: Path, name: str) -> None:
    memory = measured(folder, threads="1", limit=UNLIMITED)
    store = measured(folder, threads="1", where="store", limit=LIMIT)
    ratio = store["fit processor"] / memory["fit processor"]
    print(
        f"store     {name:10s} fit: {store['peak']:7.0f} MB (in memory {memory['peak']:.0f} MB)   "
        f"{store['fit processor']:.1f} s of the processor (in memory "
        f"{memory['fit processor']:.1f} s): {ratio:.2f} times",
        flush=True,
    )


def by_size(folder: Path, name: str, cells: int, steps: Sequence[str] = STEPS) -> dict[str, float]:
    found = measured(folder, threads="1", where="store", limit=LIMIT, steps=steps)
    each = "   ".join(
        f"{step} {1e6 * found[step + ' processor'] / cells:6.2f} ({found[step + ' peak']:.0f} MB)"
        for step in steps
    )
    print(f"sizes     {name:10s} µs per subject·edge (peak): {each}", flush=True)
    return found


def by_tenth() -> None:
    """Measure every stage once on a tenth of the subjects; extrapolate the rest, and say so."""
    n, n_regions = WHOLE
    some = n // SHARE
    cells = some * n_regions * (n_regions - 1) // 2
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), some, n_regions)
        found = by_size(Path(folder), f"{some}x{n_regions}", cells)
    hours = {step: SHARE * found[step + " processor"] / 3600 for step in STEPS}
    told = "   ".join(f"{step} {value:.1f} h" for step, value in hours.items())
    print(
        f"tenth     {n}x{n_regions}: EXTRAPOLATED from one pass of each stage on {some} subjects, "
        f"times {SHARE}: {told}   peak measured on the tenth {found['peak']:.0f} MB",
        flush=True,
    )


def by_workers(folder: Path, name: str) -> None:
    one, two = (measured(folder, workers=n, threads=str(n)) for n in (1, 2))
    print(
        f"workers   {name:10s} one {one['fit']:7.1f} s   two {two['fit']:7.1f} s   "
        f"{one['fit'] / two['fit']:.2f} times as fast",
        flush=True,
    )


def by_processes(folder: Path, name: str) -> None:
    one, two = (measured(folder, processes=n) for n in (1, 2))
    print(
        f"cluster   {name:10s} one worker {one['fit']:7.1f} s   two {two['fit']:7.1f} s   "
        f"{one['fit'] / two['fit']:.2f} times as fast",
        flush=True,
    )


def on_paper() -> None:
    """Print bytes and blocks, computed and not measured."""
    from stillome.cluster.block_tasks import MOST_BLOCKS
    from stillome.counts.block_plan import BlockPlan

    for n, n_regions in ((45_000, 376), (45_000, 1054), (100_000, 400)):
        shape = (n, n_regions * (n_regions - 1) // 2)
        plan = BlockPlan.of(shape, 2e9)
        n_blocks, n_groups = len(plan.blocks(shape[1])), len(plan.groups(shape[1]))
        per_million = 1e6 / MOST_BLOCKS * n_blocks / shape[1]
        print(
            f"paper     {n}x{n_regions}: uint16 {2 * n * shape[1] / 1e9:.0f} GB, temporary file "
            f"{(2 + 3 * 4) * n * shape[1] / 1e9:.0f} GB at most, {n_blocks} blocks of "
            f"{plan.width} edges ({1e6 * n_blocks / shape[1]:.0f} per million edges); a pass on a "
            f"few workers has {-(-n_blocks // MOST_BLOCKS)} tasks ({per_million:.0f} per million "
            f"edges), a sum over edges {n_groups}"
        )


def size(name: str) -> str:
    """Check one of ``--sizes``."""
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", name):
        raise argparse.ArgumentTypeError(f"{name!r} is no size; write it like 1065x68")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", nargs="+", type=size, metavar="SUBJECTSxREGIONS")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--steps",
        type=int,
        choices=range(1, len(STEPS) + 1),
        default=len(STEPS),
        help=f"how many steps the part sizes measures: {', '.join(STEPS)}",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child))
        return
    sizes = options.sizes or (QUICK if options.quick else USUAL)
    for name in [] if set(options.parts) <= {"paper", "tenth"} else sizes:
        n, n_regions = (int(number) for number in name.split("x"))
        cells = n * n_regions * (n_regions - 1) // 2
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            generate(path, n, n_regions)
            if "threads" in options.parts:
                by_threads(path, name)
            if "memory" in options.parts:
                by_memory(path, name, 4 * cells / 2**20)
            if "store" in options.parts:
                by_store(path, name)
            if "sizes" in options.parts:
                by_size(path, name, cells, STEPS[: options.steps])
            if "workers" in options.parts:
                by_workers(path, name)
            if "cluster" in options.parts:
                by_processes(path, name)
    if "paper" in options.parts:
        on_paper()
    if options.parts != PARTS and "tenth" in options.parts:  # hours, so only when asked for
        by_tenth()


if __name__ == "__main__":
    main()
