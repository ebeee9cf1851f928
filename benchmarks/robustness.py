"""What was tried to make stillome wrong in silence or fail, how often, and how often it did.

    python benchmarks/robustness.py            # the long form; its time was not measured
    python benchmarks/robustness.py --quick    # about a minute

Every seed is fixed. Cohorts are simulated with seeds from 1000 on, which were not seen in
development. The short forms are in tests/fuzz, tests/io and tests/methods.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stillome.exceptions import ConfoundsError, StillomeError
from stillome.io.connectomes import read_connectomes
from stillome.methods import METHODS, make_method
from stillome.methods.storage import load_model
from stillome.simulate import simulate_cohort

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from connectome_files import SAMPLES
from io_samples import damageable, sound
from moving_people import MovingPeople
from mutations import MUTATIONS, rewrite

MEASURES = ["rms_mm", "translation_mm", "rotation_rad", "n_outlier_slices"]
LARGEST_FACTOR = 3.0
DTYPES = ["u1", "i1", "<i2", ">u2", ">i4", "<u8", "f2", ">f4", ">f8", "g"]


class Row(NamedTuple):
    """One line of the table."""

    tried: str
    times: int
    failed: int
    told: str = ""


def mutated_files(per_sample: int, folder: Path) -> Row:
    """Damage sample files of every format; a result must be sound, a refusal one sentence."""
    failed = times = refused = 0
    for name in SAMPLES:
        place = folder / name.replace("/", "_")
        place.mkdir()
        generator = np.random.default_rng(10_000 + sum(name.encode()))
        target, files = damageable(name, place)
        originals = [file.read_bytes() for file in files]
        for _ in range(per_sample):
            which = int(generator.integers(len(files)))
            mutate = MUTATIONS[int(generator.integers(len(MUTATIONS)))]
            rewrite(files[which], mutate(originals[which], generator))
            times += 1
            try:
                failed += not sound(read_connectomes(target, **SAMPLES[name].arguments))
            except StillomeError:
                refused += 1
            except Exception as error:
                failed += 1
                print(f"  {name}: {type(error).__name__}: {error}", file=sys.stderr)
            rewrite(files[which], originals[which])
    return Row("mutated connectome files", times, failed, f"{refused} refused, others read")


def tampered_models(times: int, folder: Path) -> Row:
    """Change bytes of saved models, half of them with the checksum of the arrays made to fit."""
    people = MovingPeople(40)
    model = make_method("inv-fa", n_components=3).fit(people.X, confounds=people.motion)
    place = model.save(folder / "model")
    expected = model.adjust(people.X[:4], confounds=people.motion[:4])
    whole = {file.name: file.read_bytes() for file in place.iterdir()}
    generator = np.random.default_rng(10_000)
    failed = refused = 0
    for _ in range(times):
        name = str(generator.choice(list(whole)))
        changed = bytearray(whole[name])
        changed[int(generator.integers(len(changed)))] = int(generator.integers(256))
        (place / name).write_bytes(changed)
        if name.startswith("arrays") and generator.random() < 0.5:
            header = json.loads(whole["model.json"])
            header["arrays_sha256"] = hashlib.sha256(changed).hexdigest()
            (place / "model.json").write_text(json.dumps(header))
        try:
            answer = load_model(place).adjust(people.X[:4], confounds=people.motion[:4])
            failed += not np.array_equal(answer, expected)
        except StillomeError:
            refused += 1
        except Exception as error:
            failed += 1
            print(f"  model: {type(error).__name__}: {error}", file=sys.stderr)
        for file, content in whole.items():
            (place / file).write_bytes(content)
    return Row("tampered models", times, failed, f"{refused} refused, others unchanged")


def dtypes() -> Row:
    """Compare the answers of every method for every dtype with that for 64-bit floats."""
    people = MovingPeople(48)
    X, motion = np.minimum(people.X, 120), people.motion
    failed = times = 0
    for name in METHODS:
        quick = {"max_epochs": 2} if "max_epochs" in make_method(name).get_params() else {}

        def answer(dtype: str, name: str = name, quick: dict = quick) -> np.ndarray:
            model = make_method(name, n_components=4, **quick)
            model.fit(X[:40].astype(dtype), confounds=motion[:40])
            return model.adjust(X[40:].astype(dtype), confounds=motion[40:])

        expected = answer("f8")
        for dtype in DTYPES:
            times += 1
            failed += not np.allclose(answer(dtype), expected, rtol=1e-9)
    return Row("dtypes and byte orders, all methods", times, failed)


def few_subjects(seeds: int) -> list[Row]:
    """Adjust unseen subjects by models of few subjects and several confounds."""
    regions = np.random.default_rng(9).permutation(68)[:12]
    rows = []
    for n_confounds, noise in ((1, False), (2, False), (4, False), (5, True)):
        factors, refused, raw = [], 0, []
        for n in (12, 20, 30, 50):
            for seed in range(1000, 1000 + seeds):
                drawn = simulate_cohort(n + 60, random_state=seed)
                cut = np.ix_(range(n + 60), regions, regions)
                X, truth = drawn.cohort.connectomes[cut], drawn.motion_free[cut]
                motion = drawn.cohort.motion[MEASURES].to_numpy(float)[:, :n_confounds]
                if noise:
                    rest = np.random.default_rng(seed).lognormal(size=(n + 60, n_confounds - 1))
                    motion = np.column_stack([motion[:, 0], rest])
                try:
                    model = make_method("inv-fa").fit(X[:n], confounds=motion[:n])
                except ConfoundsError:
                    refused += 1
                    continue
                adjusted = model.adjust(X[n:], confounds=motion[n:])
                factors.append(worst(adjusted, truth[n:]))
                raw.append(worst(X[n:], truth[n:]))
        told = f"{refused} refused; worst {max(factors):.1f}, unadjusted {max(raw):.1f}"
        kind = " (4 of them noise)" if noise else ""
        rows.append(
            Row(
                f"few subjects, {n_confounds} confounds{kind}: a total > {LARGEST_FACTOR:g}× off",
                len(factors) + refused,
                sum(factor > LARGEST_FACTOR for factor in factors),
                told,
            )
        )
    return rows


def worst(adjusted: np.ndarray, truth: np.ndarray) -> float:
    """Return by what factor a total is off, at the worst."""
    factors = adjusted.sum((1, 2)) / truth.sum((1, 2))
    return float(np.maximum(factors, 1 / factors).max())


WRITER = """
    import sys
    from pathlib import Path
    from stillome.persistence import written_aside
    for number in range(10**9):
        if number == 1:
            print("begun", flush=True)
        with written_aside(sys.argv[1], overwrite=True, marker="head") as aside:
            aside.mkdir()
            for name in ("head", "body"):
                (aside / name).write_text(str(number))
"""


def killed_writers(times: int, folder: Path) -> Row:
    """Kill a process that replaces a folder again and again; it must be whole, and litter go."""
    from stillome.persistence import written_aside

    generator = np.random.default_rng(10_000)
    place, failed = folder / "killed" / "result", 0
    for _ in range(times):
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(place)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(float(generator.uniform(0.01, 0.1)))
            os.kill(process.pid, signal.SIGKILL)
        with written_aside(place.parent / "next", overwrite=True) as aside:
            aside.write_text("next")
        whole = (place / "head").read_text() == (place / "body").read_text() != ""
        failed += not (whole and len(list(place.parent.iterdir())) == 2)
    return Row("kill -9 while a folder is replaced", times, failed)


def crafted_files() -> Row:
    """Run the tests of crafted files."""
    tests = Path(__file__).parents[1] / "tests" / "fuzz"
    command = [sys.executable, "-m", "pytest", "-rA", str(tests)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    passed = sum(line.startswith("PASSED ") for line in lines)
    failed = sum(line.startswith(("FAILED ", "ERROR ")) for line in lines)
    if not passed:
        raise SystemExit("The tests of crafted files could not be run.")
    return Row("crafted files (tests/fuzz)", passed + failed, failed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            mutated_files(5 if quick else 300, folder),
            crafted_files(),
            tampered_models(40 if quick else 2000, folder),
            dtypes(),
            *few_subjects(1 if quick else 10),
            killed_writers(3 if quick else 40, folder),
        ]
    print("| what was tried | times | failed | |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.tried} | {row.times:,} | {row.failed} | {row.told} |")
    sys.exit(any(row.failed for row in rows))


if __name__ == "__main__":
    main()
