"""People of whom motion takes fibres, small enough to fit in a moment."""

import numpy as np

N, V = 120, 12
E = V * (V - 1) // 2


class MovingPeople:
    """People of whom motion takes fibres, some more at the second site."""

    def __init__(self, n: int = N, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.motion = rng.lognormal(-1, 0.5, n)
        self.rotation = 0.01 * self.motion * rng.lognormal(0, 0.3, n)
        self.site = (np.arange(n) % 2).astype(float)
        self.people = rng.standard_normal((n, 3))
        person = self.people @ rng.normal(0, 0.4, (3, E))
        self.free = rng.uniform(0, 5, E) + person
        effect = rng.normal(-0.8, 0.2, E) * self.motion[:, None]
        noise = rng.gamma(10, 0.1, (n, E))
        self.X = rng.poisson(np.exp(self.free + effect) * noise)
        self.X_sites = rng.poisson(np.exp(self.free + effect + 0.4 * self.site[:, None]) * noise)
        # Times counts: weights that are no multiples of anything.
        self.grain = np.random.default_rng([seed, 1]).uniform(0.9, 1.1, (n, E))
        self.traits = 100 + 15 * (self.people[:, :2] + 0.3 * rng.standard_normal((n, 2)))
