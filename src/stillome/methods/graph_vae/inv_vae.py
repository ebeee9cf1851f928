"""inv-VAE exactly as the paper prints it: Section 3, Algorithm 1, Appendices A to E."""

from typing import Any, Self

from stillome.methods.graph_vae.estimator import GraphVAE

# Table 1, Appendix E, and the learning rate of the paper's real data (Appendix E; its simulations
# use 5e-6). The paper does not print λ; 1 weighs the bound as much as the likelihood.
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
    "patience": None,
    "gradient_clip": None,
}


class InvVAE(GraphVAE):
    """The paper's motion-invariant graph VAE, with the sizes and the training of its Appendix E.

    Counts are Poisson with log rate ξ + Σ_r α_r X_r X_r'; the latent positions X come from z and
    the confounds c through a graph convolution over the nearest regions. Training maximises
    (1+λ)·E_q[log p(A|z,c) + log p(y|z)] − KL(q(z|A)‖p(z)) − λ·KL(q(z|A)‖q(z)), and `adjust`
    decodes everybody at one level of c. Read `diagnostics_` before any invariance figure: with
    these defaults the latent is often nearly empty.

    Parameters
    ----------
    n_components : int, default=68
        K, the size of z; independent of the number of regions.
    hidden : tuple of int, default=(256,)
        Hidden layers of the encoder, ReLU. Table 1 prints W₁ as 68×256; no 68-vector can stand
        for a 68×68 matrix, so W₁ here reads the whole upper triangle (V(V-1)/2 × 256). It reads
        it as log1p counts, standardised per edge on the training subjects: raw counts overflow.
    n_dimensions : int, default=5
        R, dimensions of the network latent space.
    n_layers : int, default=2
        M, layers of the decoder, sigmoid each.
    n_neighbors : int or sequence of int, default=32
        k nearest regions in the graph convolution; one for each of the R dimensions if several.
    invariance_weight : float, default=1.0
        λ, the weight of the mutual-information bound. The paper names no value.
    conditional : bool, default=True
        Whether the decoder sees the confounds. Without them and with λ = 0 this is GATE.
    n_samples : int, default=1
        L, Monte-Carlo samples of z for each subject and step.
    learning_rate : float, default=2e-5
        Of Adam; the paper's for data, 5e-6 for its simulation. In 200 epochs of 1,000 subjects
        no weight can move by more than about 0.1, which is far from converged; 1e-3 with
        ``patience=20`` converges.
    batch_size : int, default=32
        Batches are made as equal as possible, none larger than this.
    max_epochs : int, default=200
    validation_fraction : float, default=0.1
        Share of the subjects that decide which epoch's weights are kept; 0 for none.
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
        Where to train; answers are computed on the CPU.
    checkpoint_dir : path-like, optional
        Where every epoch leaves a checkpoint. The same fit, started again, goes on from there
        and ends with the same bits; another fit gets another file.
    callback : callable, optional
        Told an `EpochRecord` after every epoch.

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

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return this class with the paper's settings (Table 1, Appendix E), unfitted.

        Parameters
        ----------
        **overrides
            Parameters to set otherwise.

        Examples
        --------
        >>> InvVAE.as_published(max_epochs=3).get_params()["max_epochs"]
        3
        """
        return cls(**(PUBLISHED | overrides))
