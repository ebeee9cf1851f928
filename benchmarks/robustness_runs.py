"""What `robustness.py` tries with whole runs, and the tests whose attacks it counts."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from robustness_methods import Row

from stillome.run import command_line

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from small_study import contents, write_study

TESTS = Path(__file__).parents[1] / "tests"

# What a row counts is one test each, parametrised ones as often as they have parameters.
ATTACKS: dict[str, list[str]] = {
    "crafted files": ["fuzz", "io/test_hostile_files.py", "io/test_memory_limits.py"],
    "order of subjects and regions, alone or in a batch, threads, units": [
        "methods/test_same_answer.py",
        "methods/inv_fa/test_canonical_order.py",
        "methods/test_weight_units.py",
        "methods/linear/test_linear_methods.py",
    ],
    "damaged and tampered models": ["methods/test_storage.py"],
    "two runs in one folder, changed inputs, stops after every step": ["run/test_pipeline.py"],
    "locks, litter, swaps": ["test_locks.py", "test_persistence.py"],
    "signals, closed and full output": ["cli/test_run.py"],
    "full disks, read-only places, lost inputs, long names": ["cli/test_hard_places.py"],
    "numbers in options": ["cli/test_huge_numbers.py"],
    "ids, formulas and scripts in tables, pages and on the console": [
        "test_spreadsheets.py",
        "cli/test_console.py",
        "plot/test_style.py",
        "report/test_privacy.py",
        "report/test_browser.py",
    ],
}


def attacks() -> list[Row]:
    """Run the tests of each kind of attack."""
    return [
        _tested(title, [str(TESTS / path) for path in paths]) for title, paths in ATTACKS.items()
    ]


def _tested(title: str, paths: list[str]) -> Row:
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("PASSED ") for line in lines)
    wrong = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if not passed:
        raise SystemExit(f"The tests of {title} could not be run:\n{done.stdout}{done.stderr}")
    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr)
    return Row(f"{title} (tests)", passed + len(wrong), len(wrong))


def killed_runs(times: int, folder: Path) -> Row:
    """Kill runs at any moment and continue them; the bytes must be those of a run left alone."""
    place = folder / "killed runs"
    place.mkdir()
    before = Path.cwd()
    os.chdir(place)
    try:
        settings = write_study(Path("study"), 24, trait=(), traits=(), baselines=())
        words = [*shlex.split(command_line(settings, "out"))[1:], "--jobs", "1", "--no-report"]
        begun = time.monotonic()
        _run(words).wait()
        whole, lasted = contents(Path("out")), time.monotonic() - begun
        generator = np.random.default_rng(10_000)
        failed = 0
        for number in range(times):
            Path("out").rename(f"earlier-{number}")
            process = _run(words)
            try:
                process.wait(float(generator.uniform(0.1, 1)) * lasted)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            done = _run([*words, "--resume"]).wait()
            failed += done != 0 or contents(Path("out")) != whole
    finally:
        os.chdir(before)
    return Row("kill -9 of a run at any moment, then --resume: other bytes", times, failed)


def _run(words: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "stillome", *words, "--quiet"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
