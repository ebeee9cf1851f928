"""The tables of probes: what a run writes, reads back and shows."""

import numpy as np
import pandas as pd
import pytest

from stillome.evaluate import leakage_certificate
from stillome.report.findings import _probes
from stillome.run.run_certificates import RunCertificate, certificates_of_table


@pytest.mark.parametrize("two_values", [True, False])
def test_a_confound_with_two_values_shows_its_auc(two_values):
    rng = np.random.default_rng(0)
    confound = np.arange(60) % 2 if two_values else rng.gamma(2.0, 0.2, 60)
    features = rng.standard_normal((60, 3)) + confound[:, None]
    found = leakage_certificate(features, confound, n_permutations=99)
    written = RunCertificate("cohort", "raw", "z", 60, found)
    (read,) = certificates_of_table(written.rows(), found.level)
    pd.testing.assert_frame_equal(read.found.table, found.table[read.found.table.columns])
    shown = _probes(read)
    titles = [column.title for column in shown.columns]
    assert ("AUC" in titles) == two_values
    if two_values:
        ridge = dict(zip(titles, shown.rows[0].values, strict=True))
        assert ridge["AUC"] == f"{found.table.loc['ridge', 'auc']:.2f}"
