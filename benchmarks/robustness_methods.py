"""What `robustness.py` tries with methods: dtypes, units, few subjects, synthetic cohorts."""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stillome.evaluate.disclosure import disclosure_report
from stillome.exceptions import ConfoundsError, StillomeError
from stillome.methods import METHODS, make_method
from stillome.simulate import simulate_cohort

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "methods"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from test_few_subjects import some_people, worst_factor

from moving_people import MovingPeople

MEASURES = ["rms_mm", "translation_mm", "rotation_rad", "n_outlier_slices"]
LARGEST_FACTOR = 3.0
DTYPES = ["u1", "i1", "<i2", ">u2", ">i4", "<u8", "f2", ">f4", ">f8", "g"]


class Row(NamedTuple):
    """One line of the table."""

    tried: str
    times: int
    failed: int
    told: str = ""


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


def units() -> Row:
    """Compare the answers for weights in other units with those in the first."""
    people = MovingPeople(48)
    scatter = np.random.default_rng(10_000).lognormal(0, 0.2, people.X.shape)
    weights, motion = 0.37 * people.X * scatter, people.motion
    failed = times = 0
    for name in METHODS:
        quick = {"max_epochs": 2} if "max_epochs" in make_method(name).get_params() else {}

        def answer(unit: float, name: str = name, quick: dict = quick) -> np.ndarray:
            model = make_method(name, n_components=4, **quick)
            model.fit(weights[:40] * unit, confounds=motion[:40])
            return model.adjust(weights[40:] * unit, confounds=motion[40:]) / unit

        expected = answer(1.0)
        for unit in (1e6, 1e-6, 1e12, 1e-12):
            times += 1
            failed += not np.allclose(answer(unit), expected, rtol=1e-4, atol=1e-6)
    return Row("weights in other units, all methods", times, failed)


def membership(seeds: int, sizes: tuple[int, ...]) -> Row:
    """Attack synthetic cohorts of inv-FA; this is a figure, not a test."""
    found = []
    for n in sizes:
        for seed in range(1000, 1000 + seeds):
            drawn = simulate_cohort(2 * n, random_state=seed)
            X, motion = drawn.X, np.asarray(drawn.confounds)
            model = make_method("inv-fa").fit(X[:n], confounds=motion[:n])
            synthetic = model.sample(n, random_state=seed).connectomes
            found.append(disclosure_report(synthetic, X[:n], X[n:]).nearest.auc)
    told = f"AUC {min(found):.2f} to {max(found):.2f}; printed where a cohort is written"
    return Row("membership in synthetic cohorts (no limit)", len(found), 0, told)


def few_subjects_of_other_methods(seeds: int) -> Row:
    """Adjust unseen subjects by all other methods.

    SOG and GATE reconstruct: also subjects at the reference are changed, and they have a limit of
    their own. Networks are trained for the epochs they have by default, on one seed.
    """
    worst_of, times, failed, refused = {}, 0, 0, 0
    for name in METHODS:
        if name in ("inv-fa", "raw"):
            continue
        network = name in ("inv-vae", "gate")
        for n_confounds, noise in ((1, False), (2, False), (4, False), (5, True)):
            for n in (12, 20, 30, 50):
                for seed in range(1000, 1001 if network else 1000 + seeds):
                    times += 1
                    asked = {"noise": noise, "seed": seed}
                    try:
                        factor = worst_factor(name, n, n_confounds, **asked)
                    except StillomeError:
                        refused += 1
                        continue
                    X, _, truth = some_people(n, n_confounds, **asked)
                    raw = worst(X[n:], truth[n:])
                    failed += factor > max(5.0 if name in ("sog", "gate") else LARGEST_FACTOR, raw)
                    worst_of[name] = max(worst_of.get(name, 0.0), factor)
    told = ", ".join(f"{name} {factor:.1f}" for name, factor in worst_of.items())
    row = f"few subjects, other methods: a total > {LARGEST_FACTOR:g}× off and more than unadjusted"
    return Row(row, times, failed, f"{refused} refused; worst: {told}")


def few_subjects(seeds: int) -> list[Row]:
    """Adjust unseen subjects by models of few subjects and several confounds."""
    regions = np.random.default_rng(9).permutation(68)[:12]
    rows = []
    for n_confounds, noise in ((1, False), (2, False), (4, False), (5, True)):
        factors, refused, raw = [], 0, []
        for n in (12, 20, 30, 50, 80):
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
