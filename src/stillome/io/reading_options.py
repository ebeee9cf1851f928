"""The options of reading connectomes, in one record that all steps share."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from stillome.exceptions import InputError
from stillome.io.connectome_measures import kind_of


@dataclass(frozen=True, eq=False)
class ReadingOptions:
    """The arguments of `read_connectomes`, with labels and subjects already read.

    `streamed` leaves files of single subjects on disk as well, and remarks on values to whoever
    reads the stack.
    """

    atlas: str | None = None
    measure: str | None = None
    labels: pd.DataFrame | None = None
    symmetrize: str | None = None
    subjects: Sequence[str] | None = None
    axis: int | None = None
    session: str | None = None
    edge_order: str | None = None
    lazy: bool | None = None
    streamed: bool = False

    def __post_init__(self) -> None:
        if self.edge_order not in (None, "upper", "lower"):
            raise InputError(f"edge_order={self.edge_order!r}; expected 'upper' or 'lower'.")

    def is_length(self, measure: str) -> bool:
        """Whether fibre lengths are read, as the user says or else the file."""
        return kind_of(self.measure or measure) == "length"
