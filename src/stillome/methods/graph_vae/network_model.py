"""The fitted stages with a network as person part: counts and motion in, z and laws out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable, StoredTable
from stillome.methods.graph_vae.person_network import PersonNetwork, PersonSizes
from stillome.methods.graph_vae.preparation import Standardizer
from stillome.methods.inv_fa.encoder import encoder_input
from stillome.methods.inv_fa.model_arrays import from_arrays, to_arrays
from stillome.methods.inv_fa.ordered_table import subject_blocks
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.remaining import RemainingDependence
from stillome.methods.linear.component_arrays import prefixed, under
from stillome.methods.stages.numeric_limits import LOG_RATE_RANGE
from stillome.methods.stages.replay.counterfactual import Laws, WeightLaw
from stillome.methods.storage import ModelState

Reads = Literal["scores", "residual", "log-counts"]
_POISSON_DISPERSION = 1e-6  # the negative binomial is Poisson here, to six digits


class TrainedPerson(NamedTuple):
    """A trained `PersonNetwork`, on the CPU and in double precision, with the scales it reads.

    Attributes
    ----------
    network : PersonNetwork
    mask : array of shape (R, V, V)
    reads : {"scores", "residual", "log-counts"}
        What its encoder reads.
    edges, confounds : Standardizer
        Of log(1 + counts) and of the confounds; used by networks that read them.
    """

    network: PersonNetwork
    mask: NDArray[np.bool_]
    reads: Reads
    edges: Standardizer
    confounds: Standardizer

    def posterior(self, inputs: AnyFloats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of q(z | A, c), each (n, K)."""
        found = self.network.posterior(torch.from_numpy(np.asarray(inputs, np.float64)))
        return found.mean.numpy(), (0.5 * found.log_variance).exp().numpy()

    def deviation(self, z: Floats, confounds: Floats) -> Floats:
        """Return what the network adds to log rates (n, E), given z̃ and the confounds (n, C)."""
        scaled = self.confounds.apply(confounds)[:, : self.network.architecture.n_confounds]
        found = self.network.deviation(
            torch.from_numpy(np.asarray(z, np.float64)), torch.from_numpy(scaled)
        )
        return np.asarray(found.numpy())

    def state(self) -> ModelState:
        """Return everything as plain values and arrays, for storage."""
        arrays: dict[str, NDArray[Any]] = {"neighbor_mask": self.mask}
        for part in ("edges", "confounds"):
            arrays |= prefixed(f"{part}.", vars(getattr(self, part)))
        arrays |= {f"network.{n}": t.numpy() for n, t in self.network.state_dict().items()}
        sizes = vars(self.network.architecture)
        return ModelState({"architecture": sizes, "reads": self.reads}, arrays)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild what `state` gave."""
        sizes = dict(values["architecture"])
        mask = arrays["neighbor_mask"].astype(bool)
        network = PersonNetwork(
            PersonSizes(**(sizes | {"hidden": tuple(sizes["hidden"])})),
            torch.from_numpy(mask),
            torch.Generator(),
        )
        weights = under("network.", arrays)
        network.double().load_state_dict({n: torch.from_numpy(v) for n, v in weights.items()})
        scales = (Standardizer(**under(f"{part}.", arrays)) for part in ("edges", "confounds"))
        return cls(network.requires_grad_(False), mask, values["reads"], *scales)


@dataclass(frozen=True)
class NetworkModel(InvariantModel):
    """Everything `InvVAE` learns about connectomes.

    Attributes
    ----------
    person : TrainedPerson
    remaining : RemainingDependence
        What of the network's z still depends on motion; removed.
    pooled : bool
        Whether motion acts by the pooled effect; else the decoder of the network reads it.
    """

    person: TrainedPerson
    remaining: RemainingDependence
    pooled: bool

    @classmethod
    def on(cls, base: InvariantModel, person: TrainedPerson, *, pooled: bool) -> Self:
        """Put a network on fitted stages."""
        nothing = RemainingDependence.none(base.basis.n_functions, len(base.decoder.loadings))
        return cls(**_parts(base), person=person, remaining=nothing, pooled=pooled)

    def encode_known(self, counts: AnyTable, functions: AnyFloats) -> Floats:
        """Return z (n, K) from counts in the model's unit and functions of known motion."""
        mean, _ = self.person.posterior(self.inputs(counts, functions))
        return self.remaining.removed(mean, functions)

    def latent_sd(self, edges: NDArray[Any], confounds: Floats) -> Floats:
        """Return the posterior standard deviation of z (n, K); confounds without NaN."""
        functions = self.basis(confounds)
        _, sd = self.person.posterior(self.inputs(self.counts(edges), functions))
        return np.asarray(sd * np.exp(-functions @ self.remaining.unit_scale))

    def inputs(self, counts: AnyTable, functions: AnyFloats) -> AnyFloats:
        """Return what the encoder of the network reads, (n, K) or (n, E)."""
        if self.person.reads == "scores":
            return super().encode_known(counts, functions)
        counts = EdgeTable.of(counts).array()
        if self.person.reads == "log-counts":
            return self.person.edges.apply(np.log1p(counts))
        single = functions.astype(np.float32)
        values = encoder_input(counts, self.effect, single, whole=bool(self.whole))
        return self.encoder.standardised(values, single)

    def decoder_input(self, latent: Floats, functions: AnyFloats, scanned_at: AnyFloats) -> Floats:
        """Return z̃ (n, K): what was removed from z put back for this motion."""
        latent = self.remaining.restored(latent, functions, scanned_at)
        return super().decoder_input(latent, functions, scanned_at)

    def log_rates(self, z: AnyFloats, functions: AnyFloats, confounds: Floats) -> AnyFloats:
        """Return log rates (n, E) of z̃ at this motion, given as functions and as confounds."""
        own = self.person.deviation(z.astype(np.float64), confounds)
        if self.pooled:
            own = own + super().log_rates(z, functions, confounds)
        return np.clip(own, *LOG_RATE_RANGE)

    def dispersions(self, log_rates: AnyFloats, functions: AnyFloats) -> AnyFloats:
        """Return the dispersion (n, E) around these rates at this motion."""
        if self.person.network.architecture.poisson and self.whole:
            return np.full_like(log_rates, _POISSON_DISPERSION)
        return super().dispersions(log_rates, functions)

    def laws(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None, like: EdgeTable
    ) -> Laws:
        """Return `law` by blocks of edges and by subjects, for a table of these subjects."""
        # The network gives all edges of a subject at once, so that its rates are kept.
        store = like.plan.store(like.shape, np.float64)
        for rows in subject_blocks(like.shape):
            at = None if scanned_at is None else scanned_at[rows]
            store.write_rows(rows.start, self.law(latent[rows], confounds[rows], at).log_rates)
        rates, functions = StoredTable.on(store, like.plan), self.basis(confounds)

        def of_block(edges: slice) -> Callable[[slice], WeightLaw]:
            block, own = rates.look(edges), self.of_edges(edges)

            def of_subjects(rows: slice) -> WeightLaw:
                log_rates = block(rows)
                return WeightLaw(log_rates, own.dispersions(log_rates, functions[rows]))

            return of_subjects

        return of_block

    def log_ratio_sd(self, latent: Floats, confounds: Floats, reference: Floats) -> Floats:
        """Return the posterior sd of log rate(reference) − log rate(motion), (n, E).

        A network that reads motion itself has no posterior of its effect: 0.
        """
        found = super().log_ratio_sd(latent, confounds, reference)
        return found if self.pooled else np.zeros_like(found)

    def state(self) -> ModelState:
        """Return everything as plain values and arrays, for storage."""
        values, arrays = self.person.state()
        arrays = prefixed("person.", arrays)
        arrays |= prefixed("model.", to_arrays(InvariantModel(**_parts(self))))
        arrays |= prefixed("remaining.", vars(self.remaining))
        return ModelState(values | {"pooled": self.pooled}, arrays)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild what `state` gave."""
        return cls(
            **_parts(from_arrays(under("model.", arrays))),
            person=TrainedPerson.from_state(values, under("person.", arrays)),
            remaining=RemainingDependence(**under("remaining.", arrays)),
            pooled=bool(values["pooled"]),
        )


def _parts(model: InvariantModel) -> dict[str, Any]:
    return {item.name: getattr(model, item.name) for item in fields(InvariantModel)}
