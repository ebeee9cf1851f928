"""The tuning constants of inv-FA that can be varied, in one frozen record.

They are not parameters: `InvFA` uses `TUNING`. `benchmarks/sensitivity.py` halves and doubles each
of them; what it found is said below, and the table is in benchmarks/README.md. "No effect" is
defined in `stage_tuning`. Constants that changed nothing and were not needed have been removed;
bounds that only prevent overflow are in `numeric_limits`. Rules of one module only, such as those
by which the support is found, and numbers of rounds stand in that module.
"""

from dataclasses import dataclass

from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning


@dataclass(frozen=True)
class Tuning:
    """Tuning constants of inv-FA.

    Attributes
    ----------
    stages : StageTuning
        Those of the stages that estimate and replay the effect of motion.
    least_reliable : float, squared cosine
        Factors whose direction has a smaller squared cosine with the true one are left out of z:
        nine tenths of them would be noise of the training subjects. 0.05 adds one unit; no other
        effect.
    largest_weight : float, standard deviations
        Functions of motion are cut off here when they weight the covariance of z. Motion is
        skewed, and without a bound a few subjects decide. No effect on these cohorts; where
        susceptibility differs, normal scores instead of motion itself missed it in one of three.
    scale_margin : float, factor
        A change of the covariance of z with motion must exceed the noise edge by this. Theory says
        1 for normal z; tails are heavier. 0.75, below the edge, changes the leakage of z by 0.006
        in either direction and fidelity by −0.002: it fits noise. 3 has no effect.
    least_ratio : float, ratio of rates
        Susceptibility uses counts whose rate differs from the rate at average motion by less than
        this factor, either way. No effect here; where motion removes more than 95 % of the fibres
        (the breakdown study), single fibres would decide without it.
    largest_spread : float, standard deviation over subjects
        Susceptibilities that vary more are not used: many subjects would have no motion effect at
        all. No effect here; it matters in the extreme-motion cohorts, whose subjects differ in
        other ways.
    max_subjects : int
        Subjects from which unknown motion is learned to be inferred. It bounds memory, which grows
        with the square. No effect.
    """

    stages: StageTuning = STAGE_TUNING
    least_reliable: float = 0.1
    largest_weight: float = 3.0
    scale_margin: float = 1.5
    least_ratio: float = 0.05
    largest_spread: float = 0.5
    max_subjects: int = 2000


TUNING = Tuning()
