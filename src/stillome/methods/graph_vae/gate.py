"""GATE: the graph VAE that the paper compares with; it does not model confounds."""

from stillome.methods.graph_vae.estimator import GraphVAE


class GATE(GraphVAE):
    """The network of `InvVAE.as_published` without confounds in the decoder and with λ = 0.

    Confounds may be passed to every method and are not used; `adjust` is the reconstruction,
    which is what the paper shows for GATE, so that it changes a subject who is at the reference,
    too. The parameters are those of `InvVAE` that are no
    departures from the paper, with the values of `as_published`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> person = np.exp(rng.standard_normal((60, 1)) * rng.standard_normal(15))
    >>> X = rng.poisson(20 * person)
    >>> GATE(n_components=4, learning_rate=1e-2, max_epochs=30).fit(X).reconstruct(X).shape
    (60, 15)
    """
