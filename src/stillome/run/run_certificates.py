"""The certificates of a run: what was probed, in whom, and what every probe found."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.methods.registry import RAW
from stillome.run.run_tables import Columns

__all__ = [
    "CERTIFICATE_COLUMNS",
    "FOUND",
    "RAW",
    "RunCertificate",
    "certificates_of_table",
    "find_certificate",
]

FOUND = ("r2", "low", "high", "p_value", "p_holm", "null_95", "auc")
CERTIFICATE_COLUMNS = Columns(
    text=("use", "method", "features", "probe"),
    numbers=("n_subjects", *FOUND),
    yes_no=("passed", "certificate_passed"),
)
_HEAD = ("use", "method", "features")


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """One certificate of a run.

    Attributes
    ----------
    use : {"cohort", "unseen"}
        Whether the model was fitted to these subjects, or every subject was adjusted by a model
        fitted to others.
    method : str
        A name in `METHODS`, or "raw".
    features : {"connectomes", "z"}
    n_subjects : int
    found : LeakageCertificate
    """

    use: str
    method: str
    features: str
    n_subjects: int
    found: LeakageCertificate

    def rows(self) -> pd.DataFrame:
        """Return one row per probe, as in ``certificates.tsv``.

        ``passed`` says of every probe whether its corrected p-value is above the level;
        ``certificate_passed``, whether that is so for all probes of the certificate.
        ``n_subjects`` are those whom a probe saw; in large cohorts some see a sample.
        """
        table = self.found.table.reset_index()
        for place, name in enumerate(_HEAD):
            table.insert(place, name, getattr(self, name))
        columns = [*_HEAD, "n_subjects", "probe", *FOUND, "n_features"]
        return table[columns].assign(
            passed=~self.found.reads.to_numpy(), certificate_passed=self.found.passed
        )


def certificates_of_table(table: pd.DataFrame, level: float) -> tuple[RunCertificate, ...]:
    """Put the rows of ``certificates.tsv`` together again, in their order.

    Parameters
    ----------
    table : pandas.DataFrame
        With `CERTIFICATE_COLUMNS`.
    level : float
        Of the tests.
    """
    found = []
    for (use, method, features), rows in table.groupby(["use", "method", "features"], sort=False):
        probes = rows.set_index("probe")[[*FOUND, "n_subjects"]]
        n_subjects = int(rows["n_subjects"].max())
        certificate = LeakageCertificate(probes, level, n_subjects)
        found.append(RunCertificate(str(use), str(method), str(features), n_subjects, certificate))
    return tuple(found)


def find_certificate(
    certificates: Sequence[RunCertificate], use: str, method: str, features: str
) -> RunCertificate | None:
    """Find one certificate; None where that was not probed."""
    wanted = (use, method, features)
    return next((c for c in certificates if (c.use, c.method, c.features) == wanted), None)
