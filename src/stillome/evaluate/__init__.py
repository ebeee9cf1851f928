"""Effects of motion on a cohort, leakage after adjustment, fidelity, and trait prediction."""

from stillome.evaluate.compare.comparison import ComparisonResult, compare_methods
from stillome.evaluate.disclosure import DisclosureReport, disclosure_report
from stillome.evaluate.divergence import symmetric_kl
from stillome.evaluate.fidelity import FidelityReport, fidelity_r2, fidelity_report
from stillome.evaluate.graph_measures import graph_measures
from stillome.evaluate.identity import identification_rate, mean_subject_correlation
from stillome.evaluate.invariance_frontier import choose_invariance_weight
from stillome.evaluate.leakage.certificate import leakage_certificate, probe_scores
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.summary_features import summary_features
from stillome.evaluate.motion_effects import MotionEffects, describe_motion_effects
from stillome.evaluate.prediction.trait_prediction import predict_trait, residualised_traits
from stillome.evaluate.resemblance import Resemblance, cohort_resemblance, edge_slopes
from stillome.evaluate.separation import Separation, group_separation, trait_separation

__all__ = [
    "ComparisonResult",
    "DisclosureReport",
    "FidelityReport",
    "LeakageCertificate",
    "MotionEffects",
    "Resemblance",
    "Separation",
    "choose_invariance_weight",
    "cohort_resemblance",
    "compare_methods",
    "describe_motion_effects",
    "disclosure_report",
    "edge_slopes",
    "fidelity_r2",
    "fidelity_report",
    "graph_measures",
    "group_separation",
    "identification_rate",
    "leakage_certificate",
    "mean_subject_correlation",
    "predict_trait",
    "probe_scores",
    "residualised_traits",
    "summary_features",
    "symmetric_kl",
    "trait_separation",
]
