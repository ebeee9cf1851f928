"""All tuning constants of inv-FA, in one frozen record.

They are not parameters: `InvFA` uses `TUNING`. `benchmarks/sensitivity.py` halves and doubles each
of them, and benchmarks/README.md shows what changes.
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
    least_reliable : float
        Factors with a smaller squared cosine to their true direction are left out.
    largest_weight : float
        Functions of motion are cut off here, in standard deviations, as weights of a covariance.
    scale_margin : float
        A change of covariance with motion must exceed the noise edge by this factor.
    least_ratio : float
        Susceptibility uses counts whose rate differs from the rate at average motion by less than
        this factor, either way.
    largest_spread : float
        Susceptibilities of a larger standard deviation over subjects are not used.
    max_subjects : int
        Subjects from which unknown motion is learned to be inferred.
    """

    stages: StageTuning = STAGE_TUNING
    least_reliable: float = 0.1
    largest_weight: float = 3.0
    scale_margin: float = 1.5
    least_ratio: float = 0.05
    largest_spread: float = 0.5
    max_subjects: int = 3000


TUNING = Tuning()
