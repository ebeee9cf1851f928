"""What the paper claims by comparing HCP with ABCD: needs both, and real ones."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.evaluate import group_separation
from stillome.studies.intervals import bootstrap, with_interval
from stillome.studies.study import DATA, NO_VERDICT, NOT_TESTED, UNTESTABLE, Claim, Verdict
from stillome.studies.study_cohort import StudyCohort

_DRAWS = 100


def cohort_claims(cohorts: Sequence[StudyCohort], seed: int) -> list[Claim]:
    """Return the two claims that compare the cohorts; a folder of real data holds one of them."""
    simulated = all(study.simulated for study in cohorts)
    verdict: Verdict = UNTESTABLE if simulated else NO_VERDICT
    why = (
        "The distributions of motion and what motion costs were put into the simulation."
        if simulated
        else "One folder holds one of the two studies; compare the figures of both by hand."
    )
    skews, gaps = [], []
    for study in cohorts:
        motion = study.cohort.motion[study.head_motion].to_numpy(dtype=float)
        interval = bootstrap(partial(_skew, motion), len(motion), seed)
        skews.append(f"{study.name} {with_interval(float(stats.skew(motion)), interval)}")
        gaps.append(f"{study.name} {_gap(study, seed):.2f}")
    rest = (*(NOT_TESTED,) * 3, verdict, why)
    return [
        Claim(
            "Motion is more right-skewed in ABCD than in HCP.",
            "Section 2.2, Figure 2 A",
            f"skewness of head motion [95 %, bootstrap over subjects]: {'; '.join(skews)}",
            *rest,
            about=DATA,
        ),
        Claim(
            "Groups of large and small motion are closer to each other in HCP than in ABCD.",
            "Section 5.1, Figure 4",
            f"distance of the groups in two components of the networks, in sd: {'; '.join(gaps)}",
            *rest[:-1],
            f"{why} The paper's sentence names the panels the other way round; its reason, that "
            "adults move less, is what is meant here.",
            about=DATA,
        ),
    ]


def _skew(motion: Floats, rows: NDArray[np.intp]) -> float:
    return float(stats.skew(motion[rows]))


def _gap(study: StudyCohort, seed: int) -> float:
    groups = study.cohort.motion_groups(study.head_motion, quantile=study.quantile)
    members = np.concatenate([groups.small, groups.large])
    shown = PCA(2, random_state=0).fit_transform(np.log1p(study.cohort.edges[members]))
    label = np.repeat([0.0, 1.0], [len(groups.small), len(groups.large)])
    return float(group_separation(shown, label, n_permutations=_DRAWS, random_state=seed).distance)
