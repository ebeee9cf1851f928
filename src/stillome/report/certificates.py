"""The certificates of a run by what was probed: the worst probe, the clearest, and the verdict."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stillome.report.results import Results


@dataclass(frozen=True, eq=False)
class Certificate:
    """One certificate: what every probe read from one set of features.

    Attributes
    ----------
    use : {"cohort", "unseen"}
    method, features : str
        Features are ``connectomes`` or ``z``.
    table : pandas.DataFrame
        Indexed by probe: ``r2``, ``p_value``, ``p_holm``, ``null_95``.
    passed : bool
    n_subjects : int
    """

    use: str
    method: str
    features: str
    table: pd.DataFrame
    passed: bool
    n_subjects: int

    @property
    def worst(self) -> str:
        """The probe that reads most."""
        return str(self.table["r2"].idxmax()) if self.table["r2"].notna().any() else ""

    @property
    def worst_r2(self) -> float:
        """What it reads."""
        return float(self.table["r2"].max())

    @property
    def clearest(self) -> str:
        """The probe with the smallest corrected p-value."""
        return str(self.table["p_holm"].idxmin())

    @property
    def n_reading(self) -> int:
        """Number of probes that are not explained by chance."""
        return 0 if self.passed else int((self.table["p_holm"] <= 0.05).sum())


def certificate(results: Results, use: str, method: str, features: str) -> Certificate | None:
    """Find one certificate; None where that was not probed."""
    table = results.certificates
    rows = table[
        (table["use"] == use) & (table["method"] == method) & (table["features"] == features)
    ]
    if rows.empty:
        return None
    return Certificate(
        use,
        method,
        features,
        rows.set_index("probe")[["r2", "p_value", "p_holm", "null_95"]],
        bool(rows["passed"].all()),
        int(np.nan_to_num(rows["n_subjects"].iloc[0])),
    )


def certificates_of(results: Results, use: str) -> list[Certificate]:
    """Return all certificates of one use: raw first, then baselines, then the method itself."""
    found = [
        certificate(results, use, method, features)
        for method in ("raw", *results.baselines, results.method)
        for features in ("connectomes", "z")
    ]
    return [one for one in found if one is not None]
