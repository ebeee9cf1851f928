"""What was tried to make stillome wrong in silence or fail, how often, and how often it did.

    python benchmarks/robustness.py            # the long form, about 17 minutes of one core
    python benchmarks/robustness.py --quick    # a few minutes

Every seed is fixed. Cohorts are simulated with seeds from 1000 on, which were not seen in
development; for membership 1000 and 1001 were, which is a figure and not a test. The short forms
are in tests/fuzz, tests/io and tests/methods.
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
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stillome.exceptions import StillomeError
from stillome.io.connectomes import read_connectomes
from stillome.methods import make_method
from stillome.methods.storage import load_model

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from robustness_methods import (
    Row,
    dtypes,
    few_subjects,
    few_subjects_of_other_methods,
    membership,
    units,
)
from robustness_runs import attacks, killed_runs

from connectome_files import SAMPLES
from huge_files import HUGE
from io_samples import damageable, sound
from measured_reading import MOST_TO_INSPECT, SECONDS_TO_INSPECT, SLACK, TIMES
from moving_people import MovingPeople
from mutations import MUTATIONS, rewrite


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


def limits(names: list[str], folder: Path) -> Row:
    """Read and describe huge files, each in a process of its own."""
    program = Path(__file__).parents[1] / "tests" / "measured_reading.py"
    failed, most, longest = 0, 0, 0.0
    for name in names:
        HUGE[name](folder / name)
        for what in ("inspect", "read"):
            command = [sys.executable, str(program), what, str(folder / name)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            over = found["peak"] > TIMES * found["answer"] + SLACK and not found["said"]
            if what == "inspect":
                over = found["peak"] > MOST_TO_INSPECT or found["seconds"] > SECONDS_TO_INSPECT
                most, longest = max(most, found["peak"]), max(longest, found["seconds"])
            if over or found["foreign"]:
                failed += 1
                print(f"  {name}, {what}: {found}", file=sys.stderr)
    told = f"inspect: at most {most / 2**20:.0f} MiB, {longest:.1f} s"
    return Row(
        "files that are or claim to be huge, inspected and read", 2 * len(names), failed, told
    )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    failed = 0
    print("| what was tried | times | failed | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks: list[Callable[[], Row | list[Row]]] = [
            lambda: mutated_files(5 if quick else 310, folder),
            attacks,
            lambda: tampered_models(40 if quick else 2000, folder),
            lambda: limits(list(HUGE)[:3] if quick else list(HUGE), folder),
            lambda: killed_writers(3 if quick else 40, folder),
            lambda: killed_runs(2 if quick else 20, folder),
            dtypes,
            units,
            lambda: few_subjects_of_other_methods(1 if quick else 3),
            lambda: membership(1 if quick else 2, (200,) if quick else (200, 400)),
            lambda: few_subjects(1 if quick else 10),
        ]
        for task in tasks:
            found = task()
            for row in [found] if isinstance(found, Row) else found:
                print(f"| {row.tried} | {row.times:,} | {row.failed} | {row.told} |", flush=True)
                failed += row.failed
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
