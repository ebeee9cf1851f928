"""Both families of simulated cohorts: leakage, graph measures, coverage, training size, speed.

    python benchmarks/real_counts.py leakage --seeds 3 --out results/leakage.json
    python benchmarks/real_counts.py coverage --cohorts thinning --draws 40
    python benchmarks/real_counts.py leakage --read results/a.json results/b.json

Each part prints markdown tables. Rows are written to ``--out`` as they come, so that an interrupted
run keeps what it has; ``--read`` prints the tables of such files together and computes nothing.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import real_counts_parts as parts
import real_counts_tables as tables
from real_counts_cohorts import COHORTS, METHODS

from stillome.exceptions import StillomeWarning
from stillome.progress import Progress

Measure = Callable[[str, int, argparse.Namespace], list[parts.Row]]


@dataclass(frozen=True)
class Part:
    """One table of the benchmark."""

    measure: Measure  # from a cohort, a seed and the options to rows
    show: Callable[[pd.DataFrame], tables.Tables]
    cohorts: tuple[str, ...]
    methods: tuple[str, ...] = ()  # where methods can be chosen


PARTS = {
    "leakage": Part(parts.leakage, tables.leakage, COHORTS, METHODS),
    "ratios": Part(parts.ratios, tables.ratios, COHORTS, METHODS[:-1]),
    "training": Part(parts.training, tables.training, ("thinning", "loglinear", "scans-thinned")),
    "coverage": Part(parts.coverage, tables.coverage, tuple(parts.COUPLINGS)),
    "keeping": Part(parts.keeping, tables.keeping, ("thinning", "scans-thinned")),
    "speed": Part(parts.speed, tables.speed, ("thinning", "scans-motion")),
}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="part", required=True)
    for name, part in PARTS.items():
        summary = str(part.measure.__doc__).splitlines()[0]
        verb = verbs.add_parser(name, help=summary.replace("%", "%%"), description=summary)
        verb.add_argument("--cohorts", nargs="+", default=part.cohorts, choices=part.cohorts)
        verb.add_argument("--seeds", type=int, default=3)
        verb.add_argument("--first-seed", type=int, default=0)
        verb.add_argument("--out", type=Path, help="JSON file of all rows")
        verb.add_argument("--read", nargs="+", type=Path, help="print the tables of these files")
        if part.methods:
            verb.add_argument("--methods", nargs="+", default=part.methods, choices=METHODS)
        if name == "training":
            verb.add_argument("--sizes", nargs="+", type=int, default=[200, 560, 1000, 2000])
            verb.add_argument("--unseen", type=int, default=1000)
        else:
            verb.add_argument("--n", type=int, default=800, help="subjects; 70 %% are fitted")
        if name == "coverage":
            verb.add_argument("--draws", type=int, default=40)
    return parser.parse_args()


def measure(options: argparse.Namespace, progress: Progress) -> list[parts.Row]:
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [(cohort, seed) for seed in seeds for cohort in options.cohorts]
    rows: list[parts.Row] = []
    progress(0, len(jobs))
    for done, (cohort, seed) in enumerate(jobs, start=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            found = PARTS[options.part].measure(cohort, seed, options)
        rows += [{"cohort": cohort, "seed": seed, **row} for row in found]
        if options.out is not None:
            write(rows, options)
        progress(done, len(jobs))
    return rows


def write(rows: list[parts.Row], options: argparse.Namespace) -> None:
    """Write aside, then rename. Missing figures are left out: JSON has no NaN."""
    known = [{key: value for key, value in row.items() if not pd.isna(value)} for row in rows]
    given = {key: value for key, value in vars(options).items() if key not in ("out", "read")}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    aside = options.out.with_name(f"{options.out.name}.part")
    aside.write_text(json.dumps({**given, "rows": known}, indent=1), encoding="utf-8")
    aside.replace(options.out)


def read(paths: list[Path], part: str) -> list[parts.Row]:
    files = {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    for path, file in files.items():
        if file["part"] != part:
            raise SystemExit(f"{path}: rows of the part {file['part']}, not of {part}.")
    return [row for file in files.values() for row in file["rows"]]


def show_progress(done: int, total: int) -> None:
    sys.stderr.write(f"\r{done}/{total} cohorts" + ("\n" if done == total else ""))
    sys.stderr.flush()


def main() -> None:
    options = read_options()
    rows = read(options.read, options.part) if options.read else measure(options, show_progress)
    for title, table in PARTS[options.part].show(pd.DataFrame(rows)):
        print(f"**{title}**\n\n{table}\n")


if __name__ == "__main__":
    main()
