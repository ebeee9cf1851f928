"""What the probes found, in a table and in words."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stillome.evaluate.words import number, p_equals

FEW_SUBJECTS = 60  # below which a certificate that passes says little


@dataclass(frozen=True, eq=False)
class LeakageCertificate:
    """What the probes found.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per probe: ``r2`` (cross-fitted R² of the confound predicted best; for distance
        correlation its bias-corrected square), ``p_value`` (exact permutation test), ``p_holm``
        (corrected over probes), ``null_95`` (95th percentile without leakage), ``auc`` (area under
        the ROC curve of the confound with two values that is predicted best; NaN where no confound
        has two values, and for distance correlation), ``low`` and ``high`` (95 % bootstrap interval
        of R² over subjects; NaN for distance correlation), ``n_subjects`` and ``n_features`` (which
        a probe saw: in large cohorts, a sample).
    level : float
        Family-wise error rate of the tests.
    n_subjects : int or None
        In whom the probes looked; None where that is not known.

    Examples
    --------
    >>> from stillome import leakage_certificate
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.gamma(2.0, 0.2, 120)
    >>> found = leakage_certificate(rng.standard_normal((120, 5)) + motion[:, None], motion)
    >>> found.passed, found.worst, found.worst_r2 > 0.1
    (False, 'ridge', True)
    >>> list(found.table.columns)
    ['r2', 'p_value', 'p_holm', 'null_95', 'auc', 'low', 'high', 'n_subjects', 'n_features']
    """

    table: pd.DataFrame
    level: float = 0.05
    n_subjects: int | None = None

    @property
    def reads(self) -> "pd.Series[bool]":
        """Whether each probe beats permuted motion at `level`, after Holm's correction."""
        return self.table["p_holm"] <= self.level

    @property
    def passed(self) -> bool:
        """Whether no probe does."""
        return not self.reads.any()

    @property
    def n_reading(self) -> int:
        """Number of probes that do."""
        return int(self.reads.sum())

    @property
    def worst(self) -> str:
        """The regression with the largest R².

        Distance correlation predicts nothing; its square is no R², and has no interval.
        """
        regressions = self.table[self.table["low"].notna()]
        judged = self.table if regressions.empty else regressions
        return str(judged["r2"].fillna(-np.inf).idxmax())

    @property
    def worst_r2(self) -> float:
        """Largest R² of any regression."""
        return float(self.table.loc[self.worst, "r2"])

    @property
    def most_significant(self) -> str:
        """The probe with the smallest p-value; of several, the one with the largest R²."""
        ordered = self.table.sort_values(["p_value", "r2"], ascending=[True, False], kind="stable")
        return str(ordered.index[0])

    def probes_named(self) -> str:
        """Name the probe with the largest R² and the one with the smallest p, with their numbers.

        Examples
        --------
        >>> columns = ["r2", "p_value", "p_holm", "auc", "low", "high"]
        >>> rows = {"ridge": [0.02, 0.001, 0.002, np.nan, 0.01, 0.03]}
        >>> rows["trees"] = [0.04, 0.3, 0.3, np.nan, -0.05, 0.12]
        >>> table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        >>> largest, smallest = LeakageCertificate(table).probes_named().split("; ")
        >>> largest
        'largest R²: trees, 0.04 [−0.05, 0.12], p = 0.3'
        >>> smallest
        'smallest p: ridge, R² 0.02 [0.01, 0.03], p = 0.002'
        """
        worst, least = self.worst, self.most_significant
        if worst == least:
            return f"largest R² and smallest p: {worst}, {self._found(worst)}"
        largest = f"largest R²: {worst}, {self._found(worst)}"
        return f"{largest}; smallest p: {least}, R² {self._found(least)}"

    def _found(self, probe: str) -> str:
        row = self.table.loc[probe]
        auc = f", AUC {row['auc']:.2f}" if np.isfinite(row["auc"]) else ""
        return f"{r2_with_interval(row)}{auc}, {p_equals(row['p_holm'])}"

    def sentence(
        self,
        features: str = "these features",
        raw: "LeakageCertificate | None" = None,
        *,
        confounds: str = "motion",
    ) -> str:
        """Say the verdict in plain words.

        Parameters
        ----------
        features : str
            What was probed, e.g. ``"z"``.
        raw : LeakageCertificate, optional
            The certificate of the unadjusted connectomes, for comparison.
        confounds : str, default="motion"
            What the probes looked for.
        """
        text = f"{self.outcome(features, confounds=confounds)} ({self.probes_named()})"
        text += f"; raw connectomes: R² {raw.worst_r2:.2f}" if raw is not None else ""
        return f"{text}; {self.sampled()}" if self.sampled() else text

    def sampled(self) -> str:
        """Say which probes looked at a sample of the subjects; empty where none did.

        Examples
        --------
        >>> rows = {"ridge": [0.02, 6000], "svr": [0.01, 2000], "trees": [0.0, 2000]}
        >>> table = pd.DataFrame.from_dict(rows, orient="index", columns=["r2", "n_subjects"])
        >>> LeakageCertificate(table, n_subjects=6000).sampled()
        'svr and trees in a sample of 2,000 of 6,000 subjects'
        """
        if self.n_subjects is None or "n_subjects" not in self.table:
            return ""
        fewer = self.table[self.table["n_subjects"] < self.n_subjects]
        if fewer.empty:
            return ""
        *others, last = fewer.index
        names = f"{', '.join(others)} and {last}" if others else str(last)
        size = int(fewer["n_subjects"].min())
        return f"{names} in a sample of {size:,} of {self.n_subjects:,} subjects"

    def outcome(self, features: str, *, confounds: str = "motion") -> str:
        """Say how many probes read the confounds from what is called `features`.

        Where none does among few subjects, that is said not to be known.
        """
        if self.passed and self.n_subjects is not None and self.n_subjects < FEW_SUBJECTS:
            return (
                f"Cannot be told with {self.n_subjects} subjects, where only strong leakage is "
                f"detected: no probe reads {confounds} from {features}"
            )
        if self.passed:
            return f"No probe reads {confounds} from {features}"
        reads = "reads" if self.n_reading == 1 else "read"
        return f"{self.n_reading} of {len(self.table)} probes {reads} {confounds} from {features}"

    def __str__(self) -> str:
        return self.sentence()


def r2_with_interval(row: "pd.Series[float]") -> str:
    """Write an R² of a certificate's table with its 95 % interval, where that is known.

    An R² below 0 is worse than predicting the mean for everybody; it is shown as it is.
    """
    shown = number(row["r2"])
    if not np.isfinite(row["low"]):
        return shown
    return f"{shown} [{number(row['low'])}, {number(row['high'])}]"
