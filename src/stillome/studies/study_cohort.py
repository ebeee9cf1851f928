"""What the studies know of a cohort: its subjects, their motion, the traits the paper shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome import Cohort

HCP, ABCD = "HCP", "ABCD"
# The paper's five traits by column name; ABCD's names changed with release 6.
TRAITS: dict[str, tuple[dict[str, str], ...]] = {
    HCP: (
        {
            "picture vocabulary": "PicVocab_AgeAdj",
            "pattern completion": "ProcSpeed_AgeAdj",
            "picture sequence": "PicSeq_AgeAdj",
            "list sorting": "ListSort_AgeAdj",
            "fluid intelligence": "PMAT24_A_CR",
        },
    ),
    ABCD: (
        {
            "picture vocabulary": "nihtbx_picvocab_agecorrected",
            "oral reading": "nihtbx_reading_agecorrected",
            "fluid composite": "nihtbx_fluidcomp_agecorrected",
            "crystallized composite": "nihtbx_cryst_agecorrected",
            "total composite": "nihtbx_totalcomp_agecorrected",
        },
        {
            "picture vocabulary": "nc_y_nihtb__picvcb__agecor_score",
            "oral reading": "nc_y_nihtb__readr__agecor_score",
            "fluid composite": "nc_y_nihtb__comp__fluid__agecorr_score",
            "crystallized composite": "nc_y_nihtb__comp__cryst__agecorr_score",
            "total composite": "nc_y_nihtb__comp__tot__agecor_score",
        },
    ),
}
# Figure 7 shows two more traits of HCP, which Figure 6 does not predict.
ALSO_SHOWN = {HCP: {"oral reading": "ReadEng_AgeAdj", "card sorting": "CardSort_AgeAdj"}, ABCD: {}}
DRAWN = {
    HCP: ("picture vocabulary", "oral reading", "card sorting"),
    ABCD: ("picture vocabulary", "oral reading", "crystallized composite"),
}
QUANTILE = {HCP: 0.1, ABCD: 0.05}  # share of subjects in each motion group, Section 2.2
RESIDUAL = ("translation_mm", "rotation_rad")
NO_FLIRT = "no transforms of FLIRT (left out of residual misalignment only)"


@dataclass(frozen=True, eq=False)
class StudyCohort:
    """A cohort with what the studies must know of it.

    Attributes
    ----------
    name : str
        "HCP" or "ABCD", "simulated HCP" or "simulated ABCD".
    cohort : Cohort
        Traits have the paper's names.
    head_motion : str
        The column of head motion.
    quantile : float
        Share of subjects in the large and in the small motion group.
    motion_free : array of shape (n, E), or None
        The truth, where simulated.
    rates : array of shape (n, E), or None
        The generator's own motion-free rates, where simulated: the best possible decoder.
    inputs : tuple of str
    families : array of shape (n,), or None
        Who belongs together, if asked for with ``--group``.
    dropped : mapping of str to list of str
        Ids of subjects left out, by the reason.
    """

    name: str
    cohort: Cohort
    head_motion: str
    quantile: float
    motion_free: NDArray[Any] | None = None
    rates: NDArray[Any] | None = None
    inputs: tuple[str, ...] = ()
    families: NDArray[Any] | None = None
    dropped: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def residual(self) -> tuple[str, ...]:
        """The columns of residual translation and rotation; none without FLIRT."""
        return tuple(name for name in RESIDUAL if name in self.cohort.motion)

    @property
    def simulated(self) -> bool:
        """Whether this is a stand-in."""
        return self.motion_free is not None

    @property
    def predicted(self) -> tuple[str, ...]:
        """The traits that Figure 6 predicts."""
        known = TRAITS[self._real_name][0]
        return tuple(name for name in self.cohort.traits if name in known)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The traits that Figure 7 draws, as far as there are."""
        return tuple(name for name in DRAWN[self._real_name] if name in self.cohort.traits)

    @property
    def _real_name(self) -> str:
        return HCP if HCP in self.name else ABCD

    def with_residual(self) -> "StudyCohort":
        """Return those who have FLIRT's transforms; the others are among the dropped."""
        lacking = self.cohort.motion[list(self.residual)].isna().any(axis=1).to_numpy()
        if not lacking.any():
            return self
        kept = np.flatnonzero(~lacking)
        ids = [str(self.cohort.subject_ids[int(i)]) for i in np.flatnonzero(lacking)]
        return replace(
            self,
            cohort=self.cohort.select(kept),
            motion_free=None if self.motion_free is None else self.motion_free[kept],
            rates=None if self.rates is None else self.rates[kept],
            families=None if self.families is None else self.families[kept],
            dropped={**self.dropped, NO_FLIRT: ids},
        )


def dropped_of(cohorts: Iterable[StudyCohort]) -> dict[str, list[str]]:
    """Return ids of the subjects that were left out of these cohorts, by reason, for a manifest."""
    everybody = [s.with_residual() if s.residual else s for s in cohorts]
    return {reason: ids for study in everybody for reason, ids in study.dropped.items()}
