"""Validation: the only place where input data is judged.

Every public function that takes connectomes, confounds or traits passes them through here first,
so that the message about a wrong subject or edge is the same everywhere.
"""

from stillome.cohort.validation.connectome_checks import check_connectomes, n_regions_of
from stillome.cohort.validation.number_checks import (
    as_floats,
    as_numbers,
    check_count,
    check_random_state,
    check_share,
)
from stillome.cohort.validation.subject_checks import (
    aligned_table,
    check_lengths,
    check_subject_ids,
    check_table,
    subject_positions,
)
from stillome.cohort.validation.table_checks import (
    check_columns,
    check_confounds,
    check_features,
    check_traits,
)

__all__ = [
    "aligned_table",
    "as_floats",
    "as_numbers",
    "check_columns",
    "check_confounds",
    "check_connectomes",
    "check_count",
    "check_features",
    "check_lengths",
    "check_random_state",
    "check_share",
    "check_subject_ids",
    "check_table",
    "check_traits",
    "n_regions_of",
    "subject_positions",
]
