"""A small network and its subjects, for the tests of `stillome.methods.graph_vae`."""

import numpy as np
import torch

from stillome.methods.graph_vae.equations import log_factorial
from stillome.methods.graph_vae.layers import neighbor_mask
from stillome.methods.graph_vae.network import Architecture, GraphVAEModule, Subjects

V, E = 6, 15


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_module(*, k: int = 4, c: int = 1, t: int = 1, layers: int = 2) -> GraphVAEModule:
    closeness = np.random.default_rng(0).random((V, V))
    mask = torch.from_numpy(neighbor_mask(closeness, 2, 3))
    module = GraphVAEModule(Architecture(k, (8,), layers, c, t), mask, seeded())
    module.start_at(torch.full((E,), 5.0))
    return module.double()


def make_subjects(n: int, *, c: int = 1, t: int = 1) -> Subjects:
    generator = seeded(1)
    counts = torch.poisson(torch.full((n, E), 5.0, dtype=torch.float64), generator=generator)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return Subjects(normal(n, E), counts, log_factorial(counts), normal(n, c), normal(n, t))


def make_noise(samples: int, n: int, k: int = 4) -> torch.Tensor:
    return torch.randn(samples, n, k, generator=seeded(2), dtype=torch.float64)
