"""A trained graph VAE: posteriors, expected counts, evidence and new subjects from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.graph_vae.network import Architecture, GraphVAEModule
from stillome.methods.graph_vae.preparation import NetworkData, Preparation
from stillome.methods.storage import ModelState

_ROWS_AT_ONCE = 1024
_BOUND_SAMPLES = 8


class DrawnSubjects(NamedTuple):
    """New subjects: edges (n, E), confounds (n, C) or None, traits (n, T)."""

    edges: NDArray[np.int64]
    confounds: Floats | None
    traits: Floats


@dataclass(frozen=True)
class TrainedNetwork:
    """The network with the scales it was trained on; everything here is in the users' units.

    It answers in double precision, so that an answer does not depend on who else was asked for.
    """

    module: GraphVAEModule
    preparation: Preparation
    mask: NDArray[np.bool_]
    confound_distribution: ConfoundDistribution | None

    def __post_init__(self) -> None:
        self.module.cpu().double().requires_grad_(False)

    @property
    def architecture(self) -> Architecture:
        """The sizes of the network."""
        return self.module.architecture

    def posterior(self, edges: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return mean and log variance of q(z | A), each (n, K)."""
        parts = []
        for rows in _slices(len(edges)):
            counts = torch.from_numpy(
                np.array(edges[rows], dtype=np.float64)
            )  # a copy: X may be read-only
            parts.append(self.module.inference(self.preparation.inputs(counts)))
        mean, log_variance = (torch.cat(values).numpy() for values in zip(*parts, strict=True))
        return mean, log_variance

    def rates(self, latent: Floats, confounds: Floats | None) -> Floats:
        """Return expected counts (n, E) given z (n, K) and c (n, C)."""
        c = np.empty((len(latent), 0)) if confounds is None else confounds
        scaled = torch.from_numpy(self.preparation.confounds.apply(c))
        z = torch.from_numpy(latent)
        parts = [self.module.generative(z[rows], scaled[rows]) for rows in _slices(len(z))]
        return torch.cat(parts).exp_().numpy()

    def traits(self, latent: Floats) -> Floats:
        """Return expected traits (n, T) given z (n, K)."""
        if not self.architecture.n_traits:
            return np.empty((len(latent), 0))
        predicted = self.module.predict(torch.from_numpy(latent)).numpy()
        return self.preparation.traits.undo(predicted)

    def evidence_bound(self, edges: NDArray[Any], confounds: Floats) -> float:
        """Return the mean over subjects of E_q[log p(A | z, c)] − KL(q ‖ p), always the same."""
        generator = torch.Generator().manual_seed(0)
        traits = np.full((len(edges), self.architecture.n_traits), np.nan)
        total = 0.0
        for rows in _slices(len(edges)):
            data = NetworkData(edges[rows], confounds[rows], traits[rows])
            subjects = self.preparation.subjects(data, dtype=torch.float64)
            shape = (_BOUND_SAMPLES, subjects.number, self.architecture.n_components)
            noise = torch.randn(shape, generator=generator, dtype=torch.float64)
            loss = self.module.loss(subjects, noise, 0.0)
            total -= float((loss.nll + loss.kl).sum())
        return total / len(edges)

    def draw(self, n_subjects: int, rng: np.random.Generator) -> DrawnSubjects:
        """Draw z from the prior, c from its copula, then A and y given them."""
        latent = rng.standard_normal((n_subjects, self.architecture.n_components))
        confounds = None
        if self.confound_distribution is not None:
            confounds = self.confound_distribution.draw(n_subjects, rng)
        edges = rng.poisson(self.rates(latent, confounds))
        traits = self.traits(latent)
        if self.architecture.n_traits:
            sigma = self.module.log_sigma.exp().numpy() * self.preparation.traits.scale
            traits += sigma * rng.standard_normal(traits.shape)
        return DrawnSubjects(edges, confounds, traits)

    def state(self) -> ModelState:
        """Return everything as plain values and arrays, for storage."""
        arrays: dict[str, NDArray[Any]] = {"neighbor_mask": self.mask}
        arrays |= {f"scale.{name}": values for name, values in self.preparation.arrays().items()}
        arrays |= {f"network.{n}": t.numpy() for n, t in self.module.state_dict().items()}
        if self.confound_distribution is not None:
            known = self.confound_distribution._asdict()
            arrays |= {f"confounds.{name}": values for name, values in known.items()}
        return ModelState({"architecture": vars(self.architecture)}, arrays)

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        """Rebuild what `state` gave."""
        sizes = dict(state.values["architecture"])
        architecture = Architecture(**(sizes | {"hidden": tuple(sizes["hidden"])}))
        mask = state.arrays["neighbor_mask"].astype(bool)
        module = GraphVAEModule(architecture, torch.from_numpy(mask), torch.Generator()).double()
        weights = below(state.arrays, "network.")
        module.load_state_dict({name: torch.from_numpy(v) for name, v in weights.items()})
        known = below(state.arrays, "confounds.")
        return cls(
            module,
            Preparation.from_arrays(below(state.arrays, "scale.")),
            mask,
            ConfoundDistribution(**known) if known else None,
        )


def below(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with `prefix`, without it."""
    return {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}


def _slices(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)
