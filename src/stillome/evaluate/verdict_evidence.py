"""What a verdict is based on, and the form of its answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from stillome.cohort.confound_coding import in_words
from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.power import Power
from stillome.methods.diagnostics import LatentDiagnostics

State = Literal["good", "caution", "bad", "unknown"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a verdict is based on; None is what was not measured.

    Attributes
    ----------
    method : str
        Name of the method in running text.
    n_subjects : int
        Subjects whose confounds are known.
    raw, adjusted, latents : LeakageCertificate or None
        Of the connectomes before and after, and of z, in the subjects the model was fitted to.
    unseen_raw, unseen_adjusted, unseen_latents : LeakageCertificate or None
        The same where every subject was adjusted by a model that was fitted to others; raw
        connectomes are probed in the same parts of the subjects.
    fidelity : FidelityReport
    power, latent_power : Power or None
        The smallest leakage that would have been detected in the connectomes and in z of unseen
        subjects.
    graph : pandas.DataFrame or None
        Index: graph measures; ``r_raw`` and ``r``, their rank correlation with motion before and
        after, mean over parts; ``rms_raw`` and ``rms``, the root of its mean square; ``p_holm`` of
        the latter; in unseen subjects.
    diagnostics : LatentDiagnostics or None
    others : sequence of str
        What was removed besides motion (site, scanner).
    notes : sequence of str
        Sentences to be said with the verdict.
    """

    method: str
    n_subjects: int
    raw: LeakageCertificate | None
    adjusted: LeakageCertificate | None
    latents: LeakageCertificate | None
    fidelity: FidelityReport
    unseen_raw: LeakageCertificate | None = None
    unseen_adjusted: LeakageCertificate | None = None
    unseen_latents: LeakageCertificate | None = None
    power: Power | None = None
    latent_power: Power | None = None
    graph: pd.DataFrame | None = None
    diagnostics: LatentDiagnostics | None = None
    others: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def removed(self) -> str:
        """What was removed: "motion", or "motion or site"."""
        return in_words(self.others)

    @property
    def gone(self) -> str:
        """The beginning of a question: "Is motion gone", "Are motion and site gone"."""
        return f"{'Are' if self.others else 'Is'} {in_words(self.others, 'and')} gone"


@dataclass(frozen=True)
class Check:
    """One question, and its answer."""

    question: str
    state: State
    answer: str
