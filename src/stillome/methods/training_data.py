"""The arguments of `fit`, once they are validated."""

from typing import Any, NamedTuple

from stillome.arrays import Floats
from stillome.cohort.groups import Levels
from stillome.cohort.validation.magnitude_checks import is_whole


class TrainingData(NamedTuple):
    """The arguments of `fit`, validated and in one shape."""

    edges: Any  # (n, E), integer or float: an array, or `SubjectRows` if the method reads those
    traits: Floats | None  # (n, T), NaN = missing
    confounds: Floats | None  # (n, C), NaN = unknown
    covariates: Floats | None = None  # (n, Q), what must not be removed with the confounds
    groups: Levels | None = None  # (n, 1) or (n, 3), see `group_levels`

    @property
    def whole(self) -> bool:
        """Whether the edges are fibre counts (whole numbers) rather than weights."""
        return is_whole(self.edges)
