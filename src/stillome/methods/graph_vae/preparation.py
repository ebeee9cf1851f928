"""From the users' units to what a network reads, learned from training subjects only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.graph_vae.equations import log_factorial
from stillome.methods.graph_vae.network import Subjects

# Added to the standard deviation of an edge on the log scale: no division by 0 for an edge that is
# always absent, and no large inputs from one that is nearly always absent.
SPREAD_FLOOR = 0.1


@dataclass(frozen=True)
class Standardizer:
    """(values − center) / scale per column; NaN stays NaN."""

    center: Floats
    scale: Floats

    @classmethod
    def fit(cls, values: Floats) -> Self:
        """Learn mean and standard deviation of the known values of each column.

        Examples
        --------
        >>> Standardizer.fit(np.array([[1.0], [np.nan], [3.0]])).center.tolist()
        [2.0]
        """
        known = ~np.isnan(values)
        number = np.maximum(known.sum(0), 1)
        center = np.where(known, values, 0.0).sum(0) / number
        spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(0) / number)
        return cls(center, np.where(spread > 0, spread, 1.0))

    def apply(self, values: Floats) -> Floats:
        """Return standardised values."""
        return (values - self.center) / self.scale

    def undo(self, values: Floats) -> Floats:
        """Return values in the users' units."""
        return values * self.scale + self.center


class NetworkData(NamedTuple):
    """What a network is trained on, in the users' units; C and T may be 0."""

    edges: NDArray[Any]  # (n, E)
    confounds: Floats  # (n, C)
    traits: Floats  # (n, T), NaN = missing

    def take(self, rows: NDArray[np.intp]) -> "NetworkData":
        """Return some of the subjects."""
        return NetworkData(*(values[rows] for values in self))


@dataclass(frozen=True)
class Preparation:
    """What is learned about edges, confounds and traits before the network is.

    Counts run over four orders of magnitude, and a linear layer on raw counts overflows the
    exponentials behind it; the encoder reads log1p counts, standardised edge by edge.
    """

    edges: Standardizer
    confounds: Standardizer
    traits: Standardizer

    @classmethod
    def fit(cls, data: NetworkData) -> Self:
        """Learn from training subjects."""
        logs = np.log1p(np.asarray(data.edges, dtype=np.float32))
        center = logs.mean(0, dtype=np.float64)
        spread = logs.std(0, dtype=np.float64) + SPREAD_FLOOR
        return cls(
            Standardizer(center, spread),
            Standardizer.fit(data.confounds),
            Standardizer.fit(data.traits),
        )

    def subjects(self, data: NetworkData, *, dtype: torch.dtype = torch.float32) -> Subjects:
        """Return subjects as tensors on the scales the network reads."""
        counts = torch.from_numpy(np.array(data.edges)).to(dtype)  # a copy: X may be read-only
        return Subjects(
            inputs=self.inputs(counts),
            counts=counts,
            log_factorial=log_factorial(counts),
            confounds=torch.from_numpy(self.confounds.apply(data.confounds)).to(dtype),
            traits=torch.from_numpy(self.traits.apply(data.traits)).to(dtype),
        )

    def inputs(self, counts: torch.Tensor) -> torch.Tensor:
        """Return what the encoder reads of counts (n, E)."""
        center = torch.from_numpy(self.edges.center).to(counts.dtype)
        scale = torch.from_numpy(self.edges.scale).to(counts.dtype)
        return counts.log1p().sub_(center).div_(scale)

    def arrays(self) -> dict[str, Floats]:
        """Return everything as named arrays, for storage."""
        return {
            f"{part}.{name}": getattr(getattr(self, part), name)
            for part in ("edges", "confounds", "traits")
            for name in ("center", "scale")
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild what `arrays` gave."""
        parts = ("edges", "confounds", "traits")
        return cls(*(Standardizer(arrays[f"{p}.center"], arrays[f"{p}.scale"]) for p in parts))
