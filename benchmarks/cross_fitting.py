"""Certificates of cross-fitted subjects: false alarms, known leaks, and power by cohort size.

*Calibration*: features of which nothing depends on motion, in three parts, each turned by a matrix
of its own as the latents of three models are. The certificate should fail in 5 % of the data sets.
The same features with a leak, in a direction of its own in every part, should be detected.

*Pooling*: features without any motion effect, adjusted by regressions fitted to the other parts.
Their slopes are chance, and leak within each part. Probes that are trained across parts detect it
never, probes within parts in half of the data sets.

*Power*: simulated cohorts of several sizes, as scanned and without motion (the truth). For each,
the smallest share of the motion effect that would have been detected in 80 % of cohorts; and, for
that share put into other cohorts of the same size, how often it is detected. The same for latents
of 20 normal dimensions, into which a share of the variance of motion is put.

    python benchmarks/cross_fitting.py calibration      40 data sets each, about 10 minutes
    python benchmarks/cross_fitting.py power            n = 60 to 800, about 2 minutes
"""

import argparse
import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.exchange import Shuffler
from stillome.cohort.groups import grouped_parts
from stillome.cohort.residuals import least_squares
from stillome.evaluate.leakage.certificate import repeated_certificate
from stillome.evaluate.leakage.outcomes import joined
from stillome.evaluate.leakage.power import smallest_detected, smallest_detected_in_latents
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge
from stillome.simulate import simulate_cohort

N_PARTS, N_REPEATS, N_PROBES, N_PROBES_OF_Z = 3, 2, 10, 4
N_LATENTS, N_OTHERS = 20, 8
LEVEL = 0.05
Array = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["calibration", "power"])
    parser.add_argument("--sets", type=int, default=40, help="data sets of each kind")
    parser.add_argument("--regime", default="thinning", help="of the cohorts for power")
    parser.add_argument("--regions", type=int, default=24, help="of the cohorts for power")
    options = parser.parse_args()
    start = time.perf_counter()
    table = calibration(options.sets) if options.what == "calibration" else power(options)
    print(table.to_string(float_format="{:.3f}".format))
    print(f"{time.perf_counter() - start:.0f} s")


def divided(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the number of the part of each of n subjects."""
    within = np.empty(n, dtype=np.intp)
    for number, part in enumerate(grouped_parts(np.arange(n), N_PARTS, rng)):
        within[part] = number
    return within


def turned(base: Array, motion: Array, leak: float, within: Array, rng: np.random.Generator):
    """Return features of parts with coordinates of their own; `leak` is a share of variance."""
    features = np.empty_like(base)
    for part in range(N_PARTS):
        members = within == part
        block = base[members].copy()
        block[:, 0] = np.sqrt(1 - leak) * block[:, 0] + np.sqrt(leak) * motion[members]
        matrix, _ = np.linalg.qr(rng.standard_normal((base.shape[1],) * 2))
        features[members] = block @ matrix
    return features


def cross_regressed(base: Array, motion: Array, within: Array) -> Array:
    """Regress every feature on motion in the other parts, and take the effect out of this one."""
    adjusted = np.empty_like(base)
    for part in range(N_PARTS):
        test = within == part
        fitted = least_squares(base[~test], motion[~test, None])
        adjusted[test] = fitted.residuals(base[test], motion[test, None])
    return adjusted


def calibration(n_sets: int, n: int = 150, n_features: int = 15) -> pd.DataFrame:
    found: dict[str, list[dict[str, float]]] = {}
    for number in range(n_sets):
        rng = np.random.default_rng(number)
        motion = rng.gamma(2.0, 0.2, n)
        motion = (motion - motion.mean()) / motion.std()
        base = rng.standard_t(5, (n, n_features))
        within = [divided(n, rng) for _ in range(N_REPEATS)]
        sets = {
            "no leak": [turned(base, motion, 0.0, w, rng) for w in within],
            "leak, R² 0.1": [turned(base, motion, 0.1, w, rng) for w in within],
            "leak, R² 0.3": [turned(base, motion, 0.3, w, rng) for w in within],
            "chance slopes": [cross_regressed(base, motion, w) for w in within],
        }
        for name, features in sets.items():
            arrangements = {name: within}
            if name == "chance slopes":
                arrangements["chance slopes, pooled"] = None
            for label, labels in arrangements.items():
                one = repeated_certificate(
                    features, motion, within=labels, n_permutations=200, random_state=number
                )
                detected = {"certificate": float(not one.passed)}
                detected |= (one.table["p_value"] <= LEVEL).astype(float).to_dict()
                found.setdefault(label, []).append(
                    detected | {"R² of ridge": one.table.loc["ridge", "r2"]}
                )
    print("Share of data sets in which motion is detected (without a leak, 0.05 is right):")
    return pd.DataFrame({name: pd.DataFrame(rows).mean() for name, rows in found.items()})


def power(options: argparse.Namespace) -> pd.DataFrame:
    rows = []
    for n in (60, 100, 200, 400, 800):
        for seed in range(3):
            raw, free, motion = cohort(n, seed, options)
            within = [divided(n, np.random.default_rng([seed, r])) for r in range(N_REPEATS)]
            level, level_z = LEVEL / N_PROBES, LEVEL / N_PROBES_OF_Z
            share, r2 = smallest_detected([free] * 2, raw, motion, level=level, within=within)
            latents = np.random.default_rng([seed, n]).standard_normal((n, N_LATENTS))
            in_z = smallest_detected_in_latents([latents] * 2, motion, level=level_z, within=within)
            # What would be detected in other cohorts of this size, at these shares.
            found, found_in_z = [], []
            for again in range(N_OTHERS):
                other = 100 + N_OTHERS * seed + again
                raw, free, motion = cohort(n, other, options)
                before, after = np.log1p(edges(raw)), np.log1p(edges(free))
                mixed = after + np.nan_to_num(share, nan=1) * (before - after)
                found.append(detected([mixed] * 2, motion, within, level))
                rng = np.random.default_rng([other, n])
                latents = rng.standard_normal((n, N_LATENTS))
                motion = (motion - motion.mean()) / motion.std()
                leaking = [with_motion(latents, motion, in_z.share, w, rng) for w in within]
                found_in_z.append(detected(leaking, motion, within, level_z))
            row = {"n": n, "share": share, "R²": r2, "in others": np.mean(found)}
            z = {"z: share": in_z.share, "z: R²": in_z.r2, "z: in others": np.mean(found_in_z)}
            rows.append(row | z)
    return pd.DataFrame(rows).groupby("n").mean()


def with_motion(
    latents: Array, motion: Array, share: float, within: Array, rng: np.random.Generator
) -> Array:
    """Add motion to normal latents, in a direction of its own in every part."""
    added = latents.copy()
    for members in (within == part for part in range(N_PARTS)):
        direction = rng.standard_normal(latents.shape[1])
        direction *= np.sqrt(share / (1 - share)) / np.linalg.norm(direction)
        added[members] += np.outer(motion[members], direction)
    return added


def detected(
    features: list[Array], motion: Array, within: list[NDArray[np.intp]], level: float
) -> bool:
    """Whether ridge regression on all features is significant, as the certificate asks it."""
    rng = np.random.default_rng(0)
    data = [
        prepare_probes(one, motion, "features", None, None, 5, rng, labels)
        for one, labels in zip(features, within, strict=True)
    ]
    orders = Shuffler(data[0].groups).draw_many(500, rng)
    outcomes = [probe_ridge(one.features, one.confounds, one.blocks, orders) for one in data]
    return joined(outcomes, data[0].confounds, data[0].groups, 0).p_value <= level


def edges(matrices: Array) -> Array:
    """Return the upper triangles, (n, E)."""
    rows, columns = np.triu_indices(matrices.shape[1], 1)
    return matrices[:, rows, columns]


def cohort(n: int, seed: int, options: argparse.Namespace) -> tuple[Array, Array, Array]:
    """Return connectomes as scanned and without motion, (n, V, V), and motion (n,)."""
    simulated = simulate_cohort(n, options.regime, random_state=seed)
    kept = np.linspace(0, 67, options.regions).astype(int)
    raw, free = (
        values[:, kept][:, :, kept].astype(np.float64)
        for values in (simulated.cohort.connectomes, simulated.motion_free)
    )
    return raw, free, simulated.confounds[:, 0]


if __name__ == "__main__":
    main()
