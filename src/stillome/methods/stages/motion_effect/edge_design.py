"""What edges can share of a motion effect: strength, presence, length, regions and their places."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.edges import edge_indices
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.kept_memory import give_back
from stillome.methods.stages.motion_effect.edge_columns import EdgeColumns
from stillome.methods.stages.motion_effect.region_map import map_features

# An edge that fewer subjects have shows no effect of its own: everything is shared.
_SOMETIMES_PRESENT, _UNKNOWN = 10, 100.0
# Edges from which the variances of what edges share are estimated, to about 2 %; 100 regions have
# 4,950 edges.
_CHOSEN = 5000


@dataclass(frozen=True)
class EdgeDesign:
    """What edges can share: features with free weights, the map, and their two regions.

    Attributes
    ----------
    features : array of shape (E, Q)
    n_regions : int
    mapped : array of shape (E, M)
        From `map_features`.
    least_variances : array of shape (E,)
        Of slopes of log rates. An edge that has fibres in m of n subjects shows them at best with
        the variance 1/m − 1/n, whatever a likelihood says whose zeros are drawn; nothing is known
        where m is small.
    chosen : array of int, or None
        Edges from which variances are estimated; all without.
    """

    features: Floats
    n_regions: int
    mapped: Floats
    least_variances: Floats
    chosen: NDArray[np.intp] | None = None

    @classmethod
    def from_edges(
        cls,
        log_means: Floats,
        lengths: Floats | None,
        n_regions: int,
        present: AnyTable | None = None,
        ranks: NDArray[np.intp] | None = None,
    ) -> "EdgeDesign":
        """Describe edges by their strength and, where known, presence and length (squared too).

        Motion can fill an edge with false fibres, or empty it; both depend on how many subjects
        have the edge.

        Parameters
        ----------
        log_means : array of shape (E,)
            Mean fibre count of each edge, log scale.
        lengths : array of shape (E,) in mm, or None
            0 where unknown.
        n_regions : int
        present : array or table of shape (n, E), optional
            Where subjects have fibres; everywhere without.
        ranks : array of shape (E,), optional
            An order of the edges that does not depend on regions and is otherwise random
            (`edge_ranks`): of more than 5,000 edges that ten subjects have, the first are chosen.
        """
        least_variances, shares = np.zeros(len(log_means)), None
        if present is not None:
            n_present = EdgeTable.of(present).each(lambda block: block.sum(axis=0))
            shares = _log_odds(n_present, len(present))
            usual = n_present >= _SOMETIMES_PRESENT
            least_variances = 1 / np.maximum(n_present, 1) - 1 / len(present)
            least_variances = np.where(usual, least_variances, _UNKNOWN)
            if usual.any():
                # Nothing is known of weaker edges; the effect of strength is not extrapolated.
                log_means = np.maximum(log_means, log_means[usual].min())
        columns = [np.ones(len(log_means))]
        known_lengths: Floats | None = None
        if lengths is not None and lengths.any():
            known_lengths = np.where(lengths > 0, lengths, np.nan)
        for values in (log_means, shares, known_lengths):
            if values is not None and np.nanstd(values) > 0:
                standard = (values - np.nanmean(values)) / np.nanstd(values)
                # An edge of unknown length is taken to be of average length.
                standard = np.nan_to_num(standard)
                columns += [standard, standard**2]
        mapped = map_features(log_means, n_regions)
        chosen = None if ranks is None else _first(ranks, least_variances < _UNKNOWN)
        return cls(np.column_stack(columns), n_regions, mapped, least_variances, chosen)

    def with_individual(self, loadings: AnyFloats | None = None) -> EdgeColumns:
        """Return the full design (E, Q + V + M + K); without loadings (E, K) what edges share."""
        parts: list[AnyFloats] = [self.features, self.mapped]
        parts += [] if loadings is None else [loadings]
        give_back(4 * sum(part.size for part in parts))  # what blocks have left makes room
        regions = edge_indices(self.n_regions)
        n_features = self.features.shape[1]
        # Loadings are in single precision already; nothing is known of an edge to more digits.
        dense = np.hstack(parts, dtype=np.float32, casting="same_kind")
        return EdgeColumns(dense, n_features, *regions, self.n_regions, self.chosen)


def _first(ranks: NDArray[np.intp], known: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Return the known edges with the lowest ranks; None where they are few."""
    # All edges without fibres have the same hash: their ranks follow each other.
    places = np.flatnonzero(known)
    if len(places) <= _CHOSEN:
        return None
    return np.sort(places[np.argsort(ranks[places])[:_CHOSEN]])


def _log_odds(n_present: NDArray[np.intp], n: int) -> Floats:
    """Return the log odds of fibres in an edge (E,), also where all or no subjects have them."""
    return np.asarray(np.log((n_present + 0.5) / (n - n_present + 0.5)))
