"""Appendix H: extreme motion, and the level at which methods break down.

Two designs of the paper: 200 networks free of motion and at five levels of it, fitted together.
*levels*: s = 1 − c from N(μ, μ); components of networks and of z. *paired*: all at a level have the
same c; the symmetric KL between all pairs of z. What the paper shows in figures becomes numbers:

- identified z: share of networks whose z is nearest, by KL, to the z of the same network without
  motion; chance is one in the number of networks.
- KL ratio: median KL to oneself without motion over that to others without motion; at 1 the
  person cannot be identified.
- identified A*: nearest in Euclidean distance of log(1 + count); and by correlation of deviations
  from the level's own mean. Since motion only scales these networks, the latter is passed by the
  raw networks too, and proves little here.

inv-FA appears twice: with c as a number, whose effect is piecewise linear with knots at its six
values, and with the six levels as categories.
"""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from stillome.evaluate import fidelity_r2, identification_rate, symmetric_kl
from stillome.plot import plot_components, plot_distances
from stillome.simulate import SimulatedCohort, simulate_extreme_motion
from stillome.studies import study
from stillome.studies.applied import component_table
from stillome.studies.breakdown_claims import (
    A_RATE,
    CATEGORIES,
    Z_RATE,
    claims,
    draw_rates,
    separations,
)
from stillome.studies.intervals import bootstrap
from stillome.studies.study import (
    INV_FA,
    Options,
    Outcome,
)


def run(options: Options) -> Outcome:
    n = options.size(200, 25)
    paired, spread = (
        simulate_extreme_motion(n, design, random_state=options.seed)
        for design in ("paired", "levels")
    )
    figures, rows, blocks = {}, [], []
    for name, model in four_methods(options).items():
        options.step(f"Fitting {name}")
        c = categories(paired) if name == CATEGORIES else paired.confounds
        fitted: Any = study.fit_quietly(model, paired.X, confounds=c)
        Z, std = fitted.transform(paired.X, confounds=c, return_std=True)
        distances = symmetric_kl(Z, np.maximum(std, 1e-6))
        adjusted = fitted.adjust(paired.X, confounds=c, reference=np.zeros(c.shape[1]))
        rows += level_rows(name, paired, distances, adjusted, options.seed)
        figures[re.sub(r"\W+", "_", f"distances {name}").strip("_")] = plot_distances(
            normalised_blocks(distances, levels_of(paired)),
            paired.confounds[:, 0],
            label="KL / largest KL of the block",
        )
        blocks.append(block_means(name, paired, distances))
    table = pd.DataFrame(rows + level_rows("raw", paired, None, paired.X, options.seed))
    figures["identification"] = draw_rates(table)
    options.step("Components of z at spread levels")
    latents = spread_latents(spread, options)
    networks, order = {"networks": np.log1p(spread.X)}, level_order(spread)
    figures["components"] = plot_components(networks, order, latents=latents, measure="level")
    scores = component_table(networks, latents, spread.cohort.traits.assign(order=order))
    apart = separations(order, latents, options.seed)
    numbers = {"levels": table, "kl_blocks": pd.concat(blocks)}
    numbers |= {"separation": apart, "components": scores}
    notes = [study.QUICK_NOTE] if options.quick else []
    return Outcome(figures, numbers, claims(table, apart), notes=notes)


def four_methods(options: Options) -> dict[str, Any]:
    known = study.methods(options, simulation=True)
    return known | {CATEGORIES: study.methods(options)[INV_FA]}


def levels_of(simulated: SimulatedCohort) -> NDArray[Any]:
    return simulated.cohort.traits["level"].to_numpy()


def level_order(simulated: SimulatedCohort) -> NDArray[Any]:
    """Return 0 for networks free of motion, 1 to 5 for growing motion."""
    level = levels_of(simulated)
    return np.searchsorted(-np.unique(level)[::-1], -level).astype(float)


def categories(simulated: SimulatedCohort) -> NDArray[Any]:
    level = levels_of(simulated)
    return (level[:, None] == np.unique(level)[1:]).astype(float)


def level_rows(
    name: str, simulated: SimulatedCohort, distances: Any, adjusted: NDArray[Any], seed: int
) -> list[dict[str, Any]]:
    level, rows = levels_of(simulated), []
    free = simulated.X_free[level == 0]
    others = ~np.eye(len(free), dtype=bool)
    for c in np.unique(level):
        own, row = adjusted[level == c], {"method": name, "c": c}
        if distances is not None:
            to_free = distances[np.ix_(level == c, level == 0)]
            row |= rate(Z_RATE, to_free, seed)
            row["KL to oneself"] = float(np.median(to_free.diagonal()))
            row["KL ratio"] = row["KL to oneself"] / float(np.median(to_free[others]))
        row |= rate(A_RATE, cdist(np.log1p(own), np.log1p(free)), seed)
        row["identified A*, correlation"] = identification_rate(own, free)
        row["fidelity A*"] = fidelity_r2(own, free)
        rows.append(row)
    return rows


def rate(title: str, to_free: NDArray[Any], seed: int) -> dict[str, float]:
    """Return the share of networks (rows) that are nearest to themselves; ties are misses."""
    nearest_other = np.where(np.eye(len(to_free)), np.inf, to_free).min(axis=1)
    hits = to_free.diagonal() < nearest_other
    low, high = bootstrap(lambda rows: float(hits[rows].mean()), len(hits), seed)
    return {title: float(hits.mean()), f"{title} low": low, f"{title} high": high}


def normalised_blocks(distances: NDArray[Any], level: NDArray[Any]) -> NDArray[np.float64]:
    """Divide the distances of each pair of levels by the largest of them, as Figure A10 does."""
    answer = np.array(distances, dtype=np.float64)
    for first in np.unique(level):
        for second in np.unique(level):
            block = np.ix_(level == first, level == second)
            answer[block] /= max(answer[block].max(), 1e-300)
    return answer


def block_means(name: str, simulated: SimulatedCohort, distances: NDArray[Any]) -> pd.DataFrame:
    level = levels_of(simulated)
    pairs = pd.DataFrame(distances, index=level, columns=level).T.groupby(level=0).mean()
    means = pairs.T.groupby(level=0).mean().rename_axis("c").reset_index()
    return means.rename(columns=str).assign(method=name)


def spread_latents(simulated: SimulatedCohort, options: Options) -> dict[str, NDArray[Any]]:
    X, c = simulated.X, simulated.confounds
    models = study.methods(options, simulation=True).items()
    return {
        name: study.fit_quietly(model, X, confounds=c).transform(X, confounds=c)
        for name, model in models
    }
