"""inv-VAE: the paper's graph variational auto-encoder, each departure from it a parameter."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

from stillome.methods.graph_vae.departures import PUBLISHED
from stillome.methods.graph_vae.staged_vae import StagedVAE


@dataclass(eq=False, repr=False)
class InvVAE(StagedVAE):
    """Motion-invariant graph variational auto-encoder.

    The effect of motion on every edge is fitted first, as in `InvFA`. Then a network models the
    person: its encoder and decoder start at the factors of `InvFA`, and add the paper's hidden
    layer and graph convolution, trained by the paper's objective. `adjust` maps the quantile of
    every count to the law of the network at the reference.

    `InvVAE.as_published()` is the paper's own model. The first five parameters are the departures
    from it, one by one; each says its published value.

    Parameters
    ----------
    n_components : int, default=68
        K, the size of z; independent of the number of regions.
    likelihood : {"negative-binomial", "poisson"}
        Of counts. Negative binomial: a dispersion per edge, which changes with motion. Published:
        "poisson".
    encoder_input : {"residual", "log-counts"}
        "residual": what the motion effect does not explain, standardised, and what of z still
        depends on motion is removed. Published: "log-counts", standardised per edge.
    motion_effect : {"pooled", "concatenated", "none"}
        "pooled": an effect per edge, fitted before z exists, with its modulation by z.
        Published: "concatenated", the decoder reads z and c. "none" is GATE.
    decoder : {"linear+graph", "graph"}
        "linear+graph": the factors' loadings, and a graph path of either sign that starts at 0.
        It needs the three settings above. Published: "graph", positive and from random weights.
    adjusting : {"replay", "decode"}
        "replay" keeps the quantile of every observed count. Published: "decode", the expected
        connectome at the reference given z.
    hidden : tuple of int, default=(256,)
        Hidden layers of the encoder, ReLU. Table 1 prints W₁ as 68×256, which does not fit a
        68×68 matrix as input; as published, W₁ is V(V-1)/2 × 256, for the upper triangle. With
        "linear+graph" the layer reads the K scores of the factors.
    n_dimensions : int, default=5
        R, dimensions of the network latent space.
    n_layers : int, default=2
        M, layers of the graph decoder.
    n_neighbors : int or sequence of int, default=32
        k nearest regions in the graph convolution; one for each of the R dimensions if several.
    invariance_weight : float of at least 0, default=0.0
        λ, the weight of the mutual-information bound. The paper prints no value; `as_published`
        has 1. Motion is removed by other means here, and λ = 1 costs information on the person.
    n_samples : int, default=1
        L, Monte-Carlo samples of z for each subject and step.
    learning_rate : float, default=1e-3
        Of Adam. Published: 2e-5 for the real data (5e-6 for the simulations). In 200 epochs of
        1,000 subjects no weight can then change by more than about 0.1.
    batch_size : int, default=32
        Batches are made as equal as possible, none larger than this.
    max_epochs : int, default=100
        Published: 200.
    validation_fraction : float, default=0.1
        Share of the subjects that select the epoch whose weights are kept; 0 for none.
    patience : int, default=10
        Stop after so many epochs without an improvement by `tolerance`; None trains all epochs,
        as the paper does.
    tolerance : float, default=1e-4
        The least improvement that counts, as a share of the loss.
    gradient_clip : float, optional
        Longest gradient of a step; the paper has none.
    lengths : array of shape (V, V), optional
        Mean fibre lengths in mm (0 = unknown): neighbours, and a covariate of motion effects.
        Without them regions with many fibres between them are neighbours.
    memory : float, optional
        Bytes that a fit may take for blocks, as in `InvFA`; beyond it, batches are read from a
        temporary file. As published, and without the linear path, all subjects are in memory.
    random_state : int, Generator or None, default=0
        The same seed gives the same bits; torch's own generator is not touched.
    device : str, default="auto"
        Where to train; results are computed on the CPU.
    checkpoint_dir : path-like, optional
        Folder for a checkpoint after every epoch. The same fit, started again, continues from it
        and ends with the same bits; another fit gets another file.
    callback : callable, optional
        Called with an `EpochRecord` after every epoch.

    Attributes
    ----------
    history_ : pandas.DataFrame
        One row per epoch: loss, nll, kl, marginal_kl, trait_nll, active_units, each
        ``training_`` and ``validation_``, in nats per subject. Epoch 0 are the factors.
    diagnostics_ : LatentDiagnostics
        KL per dimension, active units, and whether the latent collapsed.
    model_ : NetworkModel
        The stages and the network, unless as published.
    network_ : TrainedNetwork
        As published only.
    training_hash_ : str
        SHA-256 of the training connectomes.

    References
    ----------
    Section 3 and Appendices A to E of the inv-VAE paper; equation numbers are in
    `stillome.methods.graph_vae.equations`.

    Examples
    --------
    >>> from stillome.simulate import simulate_cohort
    >>> simulated = simulate_cohort(60, regime="thinning", random_state=0)
    >>> model = InvVAE(10, max_epochs=5).fit(simulated.X, confounds=simulated.confounds)
    >>> model.transform(simulated.X, confounds=simulated.confounds).shape
    (60, 10)
    >>> model.adjust(simulated.X, confounds=simulated.confounds).dtype == simulated.X.dtype
    True
    """

    presets: ClassVar[dict[str, dict[str, Any]]] = {"published": PUBLISHED}

    _: KW_ONLY
    likelihood: Literal["negative-binomial", "poisson"] = "negative-binomial"
    encoder_input: Literal["residual", "log-counts"] = "residual"
    motion_effect: Literal["pooled", "concatenated", "none"] = "pooled"
    decoder: Literal["linear+graph", "graph"] = "linear+graph"
    adjusting: Literal["replay", "decode"] = "replay"
    invariance_weight: float = 0.0
    learning_rate: float = 1e-3
    max_epochs: int = 100
    patience: int | None = 10
    memory: float | None = None

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return this class with the paper's settings (Table 1, Appendix E), unfitted.

        Appendix E has two learning rates: 2e-5 for the real data, which is used here, and 5e-6
        for the simulations (``as_published(learning_rate=5e-6)``).

        Parameters
        ----------
        **overrides
            Parameters with another value.

        Examples
        --------
        >>> InvVAE.as_published(max_epochs=3).get_params()["max_epochs"]
        3
        """
        return cls(**(PUBLISHED | overrides))

    @property
    def _invariance_weight(self) -> float:
        return self.invariance_weight
