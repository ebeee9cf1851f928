"""The decoder's graph convolution over nearest neighbours, and the encoder (App. A, Table 1)."""

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from stillome.arrays import Floats
from stillome.methods.graph_vae.fused import EdgeLayout, EdgeLogRate

# Adam moves every weight equally far in a step. The correction of the scores is multiplied by this,
# or else its noise after some epochs costs more of the traits than it explains of the counts.
_CAUTION = 0.03


def neighbor_mask(
    closeness: Floats, n_neighbors: int | Sequence[int], n_dimensions: int
) -> NDArray[np.bool_]:
    """Say whom each region listens to: itself and its k_r closest regions (App. A).

    Parameters
    ----------
    closeness : array of shape (V, V)
        Larger is closer; see `closeness_of_regions`. The diagonal is not looked at.
    n_neighbors : int or sequence of R ints
        k, or one k_r for each latent dimension; at most V-1 are used.
    n_dimensions : int
        R.

    Returns
    -------
    numpy.ndarray of shape (R, V, V)
        Row u of a matrix marks u and its neighbours.

    Examples
    --------
    >>> lengths = np.array([[0, 10, 90], [10, 0, 50], [90, 50, 0.0]])
    >>> neighbor_mask(-lengths, 1, 1)[0].astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 1, 1]]
    """
    n_regions = len(closeness)
    others = np.array(closeness, dtype=np.float64)
    np.fill_diagonal(others, np.inf)  # so that a region is always the first of its own row
    order = np.argsort(-others, axis=1, kind="stable")
    sizes = [n_neighbors] * n_dimensions if isinstance(n_neighbors, int) else list(n_neighbors)
    mask = np.zeros((n_dimensions, n_regions, n_regions), dtype=bool)
    for dimension, size in enumerate(sizes):
        np.put_along_axis(mask[dimension], order[:, : size + 1], True, axis=1)
    return mask


def closeness_of_regions(lengths: Floats | None, mean_counts: Floats) -> Floats:
    """Return how close regions are: short fibres, or where no lengths are known many of them.

    Parameters
    ----------
    lengths : array of shape (V, V) or None
        Mean fibre length in mm; 0 is unknown and counts as farthest.
    mean_counts : array of shape (V, V)
        Mean fibre counts of the training subjects.

    Examples
    --------
    >>> closeness_of_regions(np.array([[0, 30.0], [30.0, 0]]), np.zeros((2, 2)))[0, 1]
    np.float64(-30.0)
    """
    if lengths is None:
        return mean_counts
    return np.where(lengths > 0, -lengths, -np.inf)


class GraphConvolution(nn.Module):
    """X^(m) = h(W X^(m-1) + b) in every latent dimension; W > 0 on the mask, 0 off it (App. A).

    Parameters
    ----------
    mask : tensor of shape (R, V, V), boolean
    generator : torch.Generator
        Draws the first weights.
    """

    mask: Tensor

    def __init__(self, mask: Tensor, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("mask", mask, persistent=False)
        # Rows start near an average over the neighbours.
        average = 1.0 / mask.sum(-1, keepdim=True)
        noise = torch.randn(mask.shape, generator=generator)
        self.log_weight = nn.Parameter(average.log() + 0.1 * noise)
        self.bias = nn.Parameter(torch.zeros(mask.shape[0], 1, mask.shape[1]))

    @property
    def weight(self) -> Tensor:
        """W, shape (R, V, V): positive on the mask, zero off it."""
        return self.log_weight.exp() * self.mask

    def forward(self, positions: Tensor) -> Tensor:
        """Map (R, B, V) to (R, B, V), before h."""
        return torch.baddbmm(self.bias, positions, self.weight.mT)


class LatentSpaceDecoder(nn.Module):
    """z̃ → latent positions of all regions → log rate of every edge, eqs. (4)-(6) and App. A.

    Parameters
    ----------
    n_inputs : int
        K + C.
    mask : tensor of shape (R, V, V), boolean
    n_layers : int
        M; the first maps z̃ to the regions, the other M-1 convolve over the graph.
    generator : torch.Generator
    """

    def __init__(
        self, n_inputs: int, mask: Tensor, n_layers: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        n_dimensions, n_regions = mask.shape[:2]
        # W_r^(1) of all dimensions below each other: one product instead of R.
        self.first = linear(n_inputs, n_dimensions * n_regions, generator)
        self._shape = (n_dimensions, n_regions)
        self.convolutions = nn.ModuleList(
            GraphConvolution(mask, generator) for _ in range(n_layers - 1)
        )
        self.free_weights = nn.Parameter(torch.zeros(n_dimensions))
        self.baseline = nn.Parameter(torch.zeros(n_regions * (n_regions - 1) // 2))
        self._layout = EdgeLayout(n_regions)

    @property
    def dimension_weights(self) -> Tensor:
        """α, shape (R,), positive."""
        return self.free_weights.exp()

    def activation(self, positions: Tensor) -> Tensor:
        """H of all layers, between 0 and 1."""
        return positions.sigmoid()

    def latent_positions(self, features: Tensor) -> Tensor:
        """Map z̃ (B, K+C) to X (R, B, V)."""
        first = self.activation(self.first(features))
        positions = first.view(-1, *self._shape).transpose(0, 1)
        for convolution in self.convolutions:
            positions = self.activation(convolution(positions))
        return positions

    def forward(self, features: Tensor) -> Tensor:
        """Map z̃ (B, K+C) to log rates ξ + ψ (B, E)."""
        answer: Tensor = EdgeLogRate.apply(
            self.latent_positions(features),
            self.dimension_weights,
            self.baseline,
            self._layout.to(features.device),
        )
        return answer


class SignedGraphDecoder(LatentSpaceDecoder):
    """z̃ → a deviation of the log rate of every edge: signed positions, signed α, from 0.

    The graph convolution and ψ_uv = Σ_r α_r X_ur X_vr are the paper's; tanh in place of sigmoid
    and α of any sign let ψ raise one edge and lower another. α and ξ start at 0: so does ψ.
    """

    @property
    def dimension_weights(self) -> Tensor:
        """α, shape (R,), of any sign."""
        return self.free_weights

    def activation(self, positions: Tensor) -> Tensor:
        """h, between -1 and 1."""
        return positions.tanh()


class Encoder(nn.Module):
    """Edges → mean and log variance of q(z | A); ReLU between linear layers (Table 1).

    Parameters
    ----------
    n_inputs : int
        E.
    hidden : sequence of int
    n_components : int
        K.
    generator : torch.Generator
    """

    def __init__(
        self, n_inputs: int, hidden: Sequence[int], n_components: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        sizes = [n_inputs, *hidden, 2 * n_components]
        layers: list[nn.Module] = []
        for size, following in itertools.pairwise(sizes):
            layers += [linear(size, following, generator), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, E) to mean and log variance, each (B, K)."""
        mean, log_variance = self.layers(inputs).chunk(2, dim=1)
        return mean, log_variance


class ScoreEncoder(nn.Module):
    """Scores of the factors → mean and log variance of q(z | A, c): the scores, and a correction.

    Every unit has a gain and a variance of its own. Units that the factors leave empty (`used` is
    0) stay empty: traces of noise in them would be taken for features. The correction comes from
    the paper's hidden layers and starts at 0. They read the scores and not the edges, which takes
    far fewer weights; the two have not been compared.

    Parameters
    ----------
    hidden : sequence of int
    n_components : int
        K.
    generator : torch.Generator
    """

    used: Tensor

    def __init__(
        self, hidden: Sequence[int], n_components: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.correction = Encoder(n_components, hidden, n_components, generator)
        last = self.correction.layers[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        self.register_buffer("used", torch.ones(n_components))
        self.log_gain = nn.Parameter(torch.zeros(n_components))
        self.log_variance = nn.Parameter(torch.zeros(n_components))

    def forward(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, K) to mean and log variance, each (B, K)."""
        mean, log_variance = (_CAUTION * part for part in self.correction(scores))
        log_variance = self.used * (self.log_variance + log_variance)
        return scores * self.log_gain.exp() + self.used * mean, log_variance


def linear(n_inputs: int, n_outputs: int, generator: torch.Generator) -> nn.Linear:
    """Make a linear layer from `generator` alone, without touching torch's global one."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_inputs, n_outputs)
    with torch.no_grad():
        bound = 1.0 / n_inputs**0.5
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.zero_()
    return layer
