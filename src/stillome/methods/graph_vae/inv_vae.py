"""inv-VAE, the paper's graph variational auto-encoder: Section 3 and Appendices A to E."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from stillome.exceptions import InputError
from stillome.methods.graph_vae.estimator import GraphVAE

# Table 1 and Appendix E. Of the two learning rates of Appendix E, that of the real data: 2e-5 (its
# simulations use 5e-6). The paper does not print λ; 1 gives the bound the weight of the likelihood.
# These are also the defaults; written out, so that a new default cannot change what was published.
PUBLISHED: dict[str, Any] = {
    "n_components": 68,
    "hidden": (256,),
    "n_dimensions": 5,
    "n_layers": 2,
    "n_neighbors": 32,
    "invariance_weight": 1.0,
    "conditional": True,
    "n_samples": 1,
    "learning_rate": 2e-5,
    "batch_size": 32,
    "max_epochs": 200,
    "validation_fraction": 0.1,
    "patience": None,
    "gradient_clip": None,
}


@dataclass(eq=False, repr=False)
class InvVAE(GraphVAE):
    """The paper's motion-invariant graph VAE, with the sizes and the training of its Appendix E.

    Counts are Poisson with log rate ξ + Σ_r α_r X_r X_r'; the latent positions X come from z and
    the confounds c through a graph convolution over the nearest regions. Training maximises
    (1+λ)·E_q[log p(A|z,c) + log p(y|z)] − KL(q(z|A)‖p(z)) − λ·KL(q(z|A)‖q(z)), and `adjust`
    decodes all subjects at one level of c. Read `diagnostics_` before any invariance figure: with
    these defaults the posterior often nearly collapses to the prior.

    Parameters
    ----------
    n_components : int, default=68
        K, the size of z; independent of the number of regions.
    hidden : tuple of int, default=(256,)
        Hidden layers of the encoder, ReLU. Table 1 prints W₁ as 68×256, which does not fit a
        68×68 matrix as input; here W₁ is V(V-1)/2 × 256, for the upper triangle. Its input are
        log1p counts, standardised per edge on the training subjects: raw counts overflow.
    n_dimensions : int, default=5
        R, dimensions of the network latent space.
    n_layers : int, default=2
        M, layers of the decoder, sigmoid each.
    n_neighbors : int or sequence of int, default=32
        k nearest regions in the graph convolution; one for each of the R dimensions if several.
    invariance_weight : float of at least 0, default=1.0
        λ, the weight of the mutual-information bound. The paper prints no value.
    conditional : bool, default=True
        Whether the decoder sees the confounds. Without them and with λ = 0 this is GATE.
    n_samples : int, default=1
        L, Monte-Carlo samples of z for each subject and step.
    learning_rate : float, default=2e-5
        Of Adam. Appendix E: 2e-5 for the real data, 5e-6 for the simulations. In 200 epochs of
        1,000 subjects no weight can then change by more than about 0.1, which is far from
        convergence; 1e-3 with ``patience=20`` converges.
    batch_size : int, default=32
        Batches are made as equal as possible, none larger than this.
    max_epochs : int, default=200
    validation_fraction : float, default=0.1
        Share of the subjects that select the epoch whose weights are kept; 0 for none.
    patience : int, optional
        Stop after so many epochs without an improvement by `tolerance`; None trains all epochs,
        as the paper does.
    tolerance : float, default=1e-4
        The least improvement that counts, as a share of the loss.
    gradient_clip : float, optional
        Longest gradient of a step; the paper has none.
    lengths : array of shape (V, V), optional
        Mean fibre lengths in mm (0 = unknown), from which neighbours are found; without them
        regions with many fibres between them are neighbours.
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
        ``training_`` and ``validation_``, in nats per subject.
    diagnostics_ : LatentDiagnostics
        KL per dimension, active units, and whether the latent collapsed.
    network_ : TrainedNetwork
    training_hash_ : str
        SHA-256 of the training connectomes.

    References
    ----------
    Section 3 and Appendices A to E of the inv-VAE paper; equation numbers are in
    `stillome.methods.graph_vae.equations`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.random(60)
    >>> person = np.exp(rng.standard_normal((60, 1)) * rng.standard_normal(15))
    >>> X = rng.poisson(20 * person * np.exp(-motion)[:, None])
    >>> model = InvVAE(n_components=4, learning_rate=1e-2, max_epochs=30)
    >>> Z = model.fit(X, confounds=motion).transform(X)
    >>> Z.shape, bool(model.diagnostics_.active_units > 0)
    ((60, 4), True)
    >>> model.adjust(X, reference=0.1).shape
    (60, 15)
    """

    _: KW_ONLY
    invariance_weight: float = 1.0
    conditional: bool = True

    @property
    def _conditional(self) -> bool:
        if not isinstance(self.conditional, bool):
            raise InputError(f"conditional={self.conditional!r}; expected True or False.")
        return self.conditional

    @property
    def _invariance_weight(self) -> float:
        return self.invariance_weight

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
