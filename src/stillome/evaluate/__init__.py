"""What motion does to a cohort, what a method leaves of it, and what it keeps of the person."""

from stillome.evaluate.compare import ComparisonResult, compare_methods
from stillome.evaluate.fidelity import FidelityReport, fidelity_r2, fidelity_report
from stillome.evaluate.graph_measures import graph_measures
from stillome.evaluate.identity import identification_rate, mean_subject_correlation
from stillome.evaluate.leakage import LeakageCertificate, leakage_certificate, probe_scores
from stillome.evaluate.prediction import predict_trait

__all__ = [
    "ComparisonResult",
    "FidelityReport",
    "LeakageCertificate",
    "compare_methods",
    "fidelity_r2",
    "fidelity_report",
    "graph_measures",
    "identification_rate",
    "leakage_certificate",
    "mean_subject_correlation",
    "predict_trait",
    "probe_scores",
]
