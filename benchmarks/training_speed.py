"""How fast the networks train, beside their floors, a dense comparator and inv-FA, in one run.

Run ``python benchmarks/training_speed.py`` (some minutes on two idle cores), with ``--quick`` for
fewer repetitions. ``--fits`` measures whole fits of `InvFA()` and `InvVAE()` instead. Times are the
best of interleaved rounds; the comparator, which is far slower, is timed over a few steps and
scaled to an epoch. On a machine shared with others use ``--cpu``: processor seconds of one thread,
because threads that wait for each other on busy cores slow small steps far more than large ones.

- ours: `run_epoch` of `stillome.methods.graph_vae.train`, Table 1 sizes, λ = 1, one confound, Adam.
- floor: the matrix products of one step alone, forward and backward, and the same optimizer step.
- inv-vae, its floor: the same two for the network that `InvVAE()` trains on the stages of inv-FA.
- dense: encoder V²→1024→2×68, five decoder branches, a V²→V² linear layer and exp, Adam.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from stillome.cohort.edges import edges_to_matrices
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.graph_vae.layers import neighbor_mask
from stillome.methods.graph_vae.network import Architecture, GraphVAEModule, Subjects
from stillome.methods.graph_vae.person_network import (
    FrozenStages,
    PersonNetwork,
    PersonSizes,
    StagedSubjects,
)
from stillome.methods.graph_vae.preparation import NetworkData, Preparation
from stillome.methods.graph_vae.train import TrainingPlan, make_optimizer, run_epoch
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate import simulate_cohort, simulate_communities

Clock = Callable[[], float]

K, R, HIDDEN = 68, 5, 256
P = 3  # functions of motion
# At V = 148 the comparator has 480 M parameters with gradients and two moments: it is left out.
DENSE_LIMIT_BYTES = 4 * 2**30


class Floor:
    """One training step reduced to its matrix products and the optimizer step."""

    def __init__(self, n_regions: int, batch_size: int) -> None:
        n_edges = n_regions * (n_regions - 1) // 2
        shapes = [(n_edges, HIDDEN), (HIDDEN, 2 * K), (K + 1, R * n_regions)]
        shapes.append((R, n_regions, n_regions))
        self.weights = [nn.Parameter(0.01 * torch.randn(shape)) for shape in shapes]
        self.optimizer = torch.optim.Adam(self.weights, lr=1e-5, fused=True)
        self.inputs = torch.randn(batch_size, n_edges)
        self.gradient = torch.randn(batch_size, n_regions, n_regions)

    def step(self) -> None:
        """Multiply forward and backward, and update the weights."""
        first, second, third, fourth = self.weights
        self.optimizer.zero_grad()
        latent = (self.inputs @ first @ second)[:, : K + 1]
        regions = (latent @ third).view(len(latent), R, -1).transpose(0, 1)
        positions = torch.bmm(regions, fourth).permute(1, 2, 0).contiguous()
        torch.bmm(positions, positions.mT).backward(self.gradient)
        self.optimizer.step()


class StagedFloor:
    """One training step of `InvVAE()` reduced to its matrix products and the optimizer step."""

    def __init__(self, n_regions: int, batch_size: int) -> None:
        n_edges = n_regions * (n_regions - 1) // 2
        shapes = [(K, HIDDEN), (HIDDEN, 2 * K), (K, R * n_regions), (R, n_regions, n_regions)]
        self.weights = [nn.Parameter(0.01 * torch.randn(shape)) for shape in shapes]
        self.optimizer = torch.optim.Adam(self.weights, lr=1e-5, fused=True)
        self.loadings = torch.randn(K, n_edges)
        self.inputs = torch.randn(batch_size, K)
        self.gradients = [torch.randn(batch_size, n_regions, n_regions)]
        self.gradients.append(torch.randn(batch_size, n_edges))

    def step(self) -> None:
        """Multiply forward and backward, and update the weights."""
        first, second, third, fourth = self.weights
        self.optimizer.zero_grad()
        latent = (self.inputs @ first @ second)[:, :K]
        regions = (latent @ third).view(len(latent), R, -1).transpose(0, 1)
        positions = torch.bmm(regions, fourth).permute(1, 2, 0).contiguous()
        products = [torch.bmm(positions, positions.mT), latent @ self.loadings]
        torch.autograd.backward(products, self.gradients)
        self.optimizer.step()


class Dense(nn.Module):
    """The comparator: everything V² wide, from plain linear layers."""

    def __init__(self, n_regions: int) -> None:
        super().__init__()
        size = n_regions**2
        self.hidden, self.heads = nn.Linear(size, 1024), nn.Linear(1024, 2 * K)
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Linear(K + 1, n_regions),
                nn.Sigmoid(),
                nn.Linear(n_regions, n_regions),
                nn.Sigmoid(),
            )
            for _ in range(R)
        )
        self.out = nn.Linear(size, size)

    def forward(self, matrices: Tensor, confounds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return rates (B, V²) and the posterior."""
        mean, log_variance = self.heads(self.hidden(matrices).relu()).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        features = torch.cat([latent, confounds], dim=1)
        outer = sum(p[:, :, None] * p[:, None, :] for p in (b(features) for b in self.branches))
        return self.out(outer.flatten(1)).exp(), mean, log_variance


def dense_step(n_regions: int, subjects: Subjects, batch_size: int) -> Callable[[], None]:
    model = Dense(n_regions)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)
    chosen = subjects.take(torch.arange(batch_size))
    matrices = torch.from_numpy(edges_to_matrices(chosen.inputs.numpy())).flatten(1)
    counts = torch.from_numpy(edges_to_matrices(chosen.counts.numpy())).flatten(1)

    def step() -> None:
        optimizer.zero_grad()
        rate, mean, log_variance = model(matrices, chosen.confounds)
        nll = (rate - counts * (rate + 1e-8).log()).sum(1).mean()
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
        pairs = (mean[:, None] - mean[None]).square() / log_variance.exp()[None]
        (2 * nll + kl + 0.5 * pairs.sum(2).mean()).backward()
        optimizer.step()

    return step


def prepared(n_subjects: int, n_regions: int) -> tuple[Subjects, np.ndarray]:
    simulated = simulate_communities(n_subjects, n_regions=n_regions, random_state=0)
    edges = np.asarray(simulated.X, dtype=np.float32)
    nothing = np.empty((n_subjects, 0))
    data = NetworkData(edges, simulated.confounds, nothing)
    return Preparation.fit(data).subjects(data), edges.mean(0)


def our_epoch(
    n_regions: int, subjects: Subjects, mean_counts: np.ndarray, batch_size: int
) -> Callable[[], None]:
    generator = torch.Generator().manual_seed(0)
    mask = torch.from_numpy(neighbor_mask(edges_to_matrices(mean_counts), 32, R))
    module = GraphVAEModule(Architecture(K, (HIDDEN,), 2, 1, 0), mask, generator)
    module.start_at(torch.from_numpy(mean_counts).clamp_min(1e-3))
    plan = TrainingPlan(2e-5, batch_size, max_epochs=1, invariance_weight=1.0)
    optimizer = make_optimizer(module, plan)

    def epoch() -> None:
        run_epoch(module, subjects, plan, generator, optimizer)

    return epoch


def staged_epoch(
    n_regions: int, subjects: Subjects, mean_counts: np.ndarray, batch_size: int
) -> Callable[[], None]:
    """One epoch of the network of `InvVAE()`; what the stages found is drawn, not fitted."""
    generator = torch.Generator().manual_seed(0)
    n_subjects, n_edges = subjects.counts.shape

    def drawn(*shape: int) -> Tensor:
        return 0.1 * torch.randn(*shape, generator=generator)

    mask = torch.from_numpy(neighbor_mask(edges_to_matrices(mean_counts), 32, R))
    sizes = PersonSizes(K, (HIDDEN,), 2, 0, 0, linear=True, poisson=False)
    stages = FrozenStages(
        baseline=torch.from_numpy(mean_counts).clamp_min(1e-3).log(),
        slopes=drawn(P, n_edges),
        loadings=drawn(K, n_edges),
        susceptibility=drawn(1, K),
        shares=torch.eye(P)[None],
        association=drawn(P, K),
        unit_scale=drawn(P, K),
        log_dispersion=drawn(n_edges) - 2,
        dispersion_slopes=drawn(P),
    )
    module = PersonNetwork(sizes, mask, generator, stages)
    functions, nothing = 10 * drawn(n_subjects, P), torch.zeros(n_subjects, 0)
    people = StagedSubjects(
        10 * drawn(n_subjects, K),
        subjects.counts,
        torch.zeros(n_subjects),
        functions,
        nothing,
        nothing,
    )
    plan = TrainingPlan(1e-3, batch_size, max_epochs=1, invariance_weight=0.0)
    optimizer = make_optimizer(module, plan)

    def epoch() -> None:
        run_epoch(module, people, plan, generator, optimizer)

    return epoch


def seconds(clock: Clock, action: Callable[[], None], times: int = 1) -> float:
    start = clock()
    for _ in range(times):
        action()
    return clock() - start


def measure(
    n_subjects: int, n_regions: int, batch_size: int, rounds: int, clock: Clock
) -> dict[str, object]:
    subjects, mean_counts = prepared(n_subjects, n_regions)
    steps = -(-n_subjects // batch_size)
    epoch = our_epoch(n_regions, subjects, mean_counts, batch_size)
    floor = Floor(n_regions, batch_size)
    staged = staged_epoch(n_regions, subjects, mean_counts, batch_size)
    staged_floor = StagedFloor(n_regions, batch_size)
    dense_bytes = 16 * n_regions**4
    dense = dense_step(n_regions, subjects, batch_size) if dense_bytes < DENSE_LIMIT_BYTES else None
    some = min(steps, 40)
    times: dict[str, list[float]] = {
        name: [] for name in ("ours", "floor", "inv-vae", "its floor", "dense")
    }
    for turn in range(rounds + 1):
        ours = seconds(clock, epoch)
        floor_time = seconds(clock, floor.step, some) * steps / some
        staged_time = seconds(clock, staged)
        staged_floor_time = seconds(clock, staged_floor.step, some) * steps / some
        dense_time = (
            seconds(clock, dense, 2) * steps / 2 if dense and turn <= max(2, rounds // 2) else None
        )
        if turn:  # the first round warms up
            times["ours"].append(ours)
            times["floor"].append(floor_time)
            times["inv-vae"].append(staged_time)
            times["its floor"].append(staged_floor_time)
            if dense_time is not None:
                times["dense"].append(dense_time)
    best = {name: min(t, default=float("nan")) for name, t in times.items()}
    return {
        "N": n_subjects,
        "V": n_regions,
        "batch": batch_size,
        "ours s/epoch": best["ours"],
        "floor s/epoch": best["floor"],
        "dense s/epoch": best["dense"],
        "inv-vae s/epoch": best["inv-vae"],
        "ours/floor": best["ours"] / best["floor"],
        "inv-vae/its floor": best["inv-vae"] / best["its floor"],
        "dense/ours": best["dense"] / best["ours"],
    }


def peak_memory_of_fit(n_subjects: int, answer: "multiprocessing.Queue[float]") -> None:
    """Fit two epochs on `n_subjects` and answer the peak memory of the process in GB."""
    simulated = simulate_communities(50, random_state=0)
    rng = np.random.default_rng(0)
    edges = simulated.X.astype(np.float32)[rng.integers(0, 50, n_subjects)]
    InvVAE.as_published(max_epochs=2).fit(edges, confounds=rng.random(n_subjects))
    # Not getrusage: its peak begins with that of the process which started this one.
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    answer.put(int(peak.split()[1]) * 1024 / 1e9)


def measure_fits(n_subjects: int, clock: Clock) -> list[dict[str, object]]:
    """Fit both methods to the same simulated cohort of 68 regions, no lengths given."""
    simulated = simulate_cohort(n_subjects, "thinning", random_state=81)
    rows: list[dict[str, object]] = []
    for model in (InvFA(), InvVAE()):
        start = clock()
        model.fit(simulated.X, confounds=simulated.confounds)
        rows.append({"N": n_subjects, "method": type(model).__name__, "fit s": clock() - start})
    rows[1]["epochs"] = len(model.history_) - 1
    rows[1]["best epoch"] = int(model.history_["validation_loss"].idxmin())
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--cpu", action="store_true", help="processor seconds of one thread")
    parser.add_argument("--fits", action="store_true", help="whole fits of InvFA and InvVAE")
    chosen = parser.parse_args()
    clock = time.process_time if chosen.cpu else time.perf_counter
    if chosen.cpu:
        torch.set_num_threads(1)
    if chosen.fits:
        fits = [row for n in (1065, 8646) for row in measure_fits(n, clock)]
        print(pd.DataFrame(fits).to_string(index=False, float_format="{:.3g}".format, na_rep="-"))
        return
    rounds = 3 if chosen.quick else 7
    cases = [(1000, 68), (8646, 68), (1000, 148)]
    rows = [measure(n, v, batch, rounds, clock) for n, v in cases for batch in (32, 256)]
    print(f"{torch.get_num_threads()} thread(s), torch {torch.__version__.split('+')[0]}\n")
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3g}", na_rep="-"))
    context = multiprocessing.get_context("spawn")
    answer: multiprocessing.Queue[float] = context.Queue()
    process = context.Process(target=peak_memory_of_fit, args=(8646, answer))
    process.start()
    print(f"\npeak memory of fit at N = 8646, V = 68: {answer.get():.2f} GB")
    process.join()


if __name__ == "__main__":
    main()
