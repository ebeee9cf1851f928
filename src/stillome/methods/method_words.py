"""What every method is called in running text, what it does, and what to cite for it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

ZHANG = (
    "Zhang, Y., Liu, M., Zhang, Z., & Dunson, D. (2024). Motion-invariant variational "
    "auto-encoding of brain structural connectomes. Imaging Neuroscience, 2."
)
_LIU = (
    "Liu, M., Zhang, Z., & Dunson, D. B. (2021). Graph auto-encoding brain networks with "
    "applications to analyzing large-scale brain imaging datasets. NeuroImage, 245, 118750."
)
_JOHNSON = (
    "Johnson, W. E., Li, C., & Rabinovic, A. (2007). Adjusting batch effects in microarray "
    "expression data using empirical Bayes methods. Biostatistics, 8, 118–127."
)
_ALIVERTI = (
    "Aliverti, E., Lum, K., Johndrow, J. E., & Dunson, D. B. (2021). Removing the influence of "
    "group variables in high-dimensional predictive modelling. Journal of the Royal Statistical "
    "Society A, 184, 791–811."
)
_MULLAHY = (
    "Mullahy, J. (1986). Specification and testing of some modified count data models. Journal of "
    "Econometrics, 33, 341–365."
)
_HURDLE = (
    "Whether an edge had fibres and how many it had were modelled separately, each with its own "
    "effect of motion (hurdle model; Mullahy, 1986); zeros were treated as counts below the "
    "smallest count that the data contain."
)
_CHEN = (
    "Chen, A. A., Beer, J. C., Tustison, N. J., Cook, P. A., Shinohara, R. T., & Shou, H. (2022). "
    "Mitigating site effects in covariance for machine learning in neuroimaging data. Human Brain "
    "Mapping, 43, 1179–1195."
)
_POMPONIO = (
    "Pomponio, R., Erus, G., Habes, M., et al. (2020). Harmonization of large MRI datasets for the "
    "analysis of brain imaging patterns throughout the lifespan. NeuroImage, 208, 116450."
)
_SHEN = (
    "Shen, R. S., Parker, D., Chen, A. A., et al. (2025). Big data, small bias: harmonizing "
    "diffusion MRI-based structural connectomes to mitigate site-related bias in data integration. "
    "Human Brain Mapping, 46(9), e70256."
)
_ZHOU = (
    "Zhou, Z., Fischl, B., & Aganj, I. (2025). Harmonization of structural brain connectivity "
    "through distribution matching. Human Brain Mapping, 46(9), e70257."
)
_BELROSE = (
    "Belrose, N., Schneider-Joseph, D., Ravfogel, S., Cotterell, R., Raff, E., & Biderman, S. "
    "(2023). LEACE: Perfect linear concept erasure in closed form. Advances in Neural Information "
    "Processing Systems, 36."
)


class MethodWords(NamedTuple):
    """How a method is spoken of.

    Attributes
    ----------
    name : str
        In running text.
    what : str
        What kind of method it is, in a few words.
    did : str
        What it did, as a clause of a methods section; no final full stop.
    cites : tuple of str
        References of its own, besides stillome and the paper of inv-VAE.
    of_counts : str
        What it did more, if the connectomes were whole fibre counts: a sentence, or nothing.
    cites_of_counts : tuple of str
        References of that sentence.
    """

    name: str
    what: str
    did: str
    cites: tuple[str, ...] = ()
    of_counts: str = ""
    cites_of_counts: tuple[str, ...] = ()


METHOD_WORDS = {
    "inv-fa": MethodWords(
        "inv-FA",
        "motion-invariant factor analysis",
        "motion was removed by motion-invariant factor analysis (inv-FA): the effect of motion on "
        "every edge was estimated by negative binomial regression and pooled over edges; the "
        "differences between subjects that motion did not explain were summarised by factors z, "
        "estimated in closed form; and each subject's edges were mapped to the reference motion "
        "by quantile replay, the counterfactual value at the subject's own quantile",
        of_counts=_HURDLE,
        cites_of_counts=(_MULLAHY,),
    ),
    "inv-vae": MethodWords(
        "inv-VAE",
        "motion-invariant graph variational auto-encoder",
        "motion was removed by a motion-invariant graph variational auto-encoder (inv-VAE, after "
        "Zhang et al., 2024): the effect of motion on every edge was estimated by negative "
        "binomial regression and pooled over edges; a neural network, started at a factor model "
        "and trained further as long as that improved the evidence bound of subjects held out, "
        "described by latent variables z the differences between subjects that motion did not "
        "explain; and each subject's edges were mapped to the reference motion by quantile replay, "
        "the counterfactual value at the subject's own quantile",
        of_counts=_HURDLE,
        cites_of_counts=(_MULLAHY,),
    ),
    "inv-vae, published": MethodWords(
        "inv-VAE as published",
        "motion-invariant graph variational auto-encoder",
        "motion was removed by the motion-invariant graph variational auto-encoder of Zhang et al. "
        "(2024; inv-VAE as published): a neural network encodes each connectome in latent "
        "variables z, penalised for their dependence on motion, and a decoder that receives z and "
        "motion reconstructs the connectome at the reference motion",
    ),
    "gate": MethodWords(
        "GATE",
        "graph variational auto-encoder without motion",
        "connectomes were encoded in latent variables z and reconstructed from them by a graph "
        "variational auto-encoder (GATE; Liu et al., 2021), which receives no motion and does not "
        "remove it",
        (_LIU,),
    ),
    "combat": MethodWords(
        "ComBat",
        "empirical Bayes harmonisation",
        "motion was removed by ComBat (Johnson et al., 2007): subjects were divided into batches "
        "by quantiles of motion, and the mean and variance of every edge on the logarithmic scale "
        "were aligned over batches by empirical Bayes estimates",
        (_JOHNSON,),
    ),
    "covbat": MethodWords(
        "CovBat",
        "empirical Bayes harmonisation of means and covariances",
        "motion was removed by CovBat (Chen et al., 2022): subjects were divided into batches by "
        "quantiles of motion; the mean and variance of every edge on the logarithmic scale, and "
        "then of the scores on the principal components, were aligned over batches by empirical "
        "Bayes estimates",
        (_CHEN, _JOHNSON),
    ),
    "combat-gam": MethodWords(
        "ComBat-GAM",
        "empirical Bayes harmonisation with splines of motion",
        "motion was removed by ComBat-GAM (Pomponio et al., 2020): a smooth effect of motion on "
        "every edge on the logarithmic scale, estimated by cubic splines, was subtracted, and the "
        "mean and variance of what is left were aligned over quantiles of motion by empirical "
        "Bayes estimates",
        (_POMPONIO, _JOHNSON),
    ),
    "gamma-glm": MethodWords(
        "gamma GLM",
        "gamma regression of every edge on motion",
        "motion was removed by a gamma GLM with log link of every edge (Shen et al., 2025): the "
        "factor by which the mean of the edge, where it has fibres, changes with motion was "
        "divided out",
        (_SHEN,),
    ),
    "quantile-matching": MethodWords(
        "quantile matching",
        "distribution of every edge matched to that at the reference",
        "motion was removed by quantile matching (distribution matching; Zhou et al., 2025): "
        "subjects were divided into groups by quantiles of motion, and every edge was mapped to "
        "the same quantile of the group of the reference motion",
        (_ZHOU,),
    ),
    "leace": MethodWords(
        "LEACE",
        "linear concept erasure of motion",
        "motion was removed by least-squares concept erasure (LEACE; Belrose et al., 2023): the "
        "principal components of the edges on the logarithmic scale were changed by the smallest "
        "amount after which they are uncorrelated with motion",
        (_BELROSE,),
    ),
    "sog": MethodWords(
        "SOG",
        "sparse factorisation orthogonal to motion",
        "motion was removed by sparse orthogonal-to-group factorisation (SOG; Aliverti et al., "
        "2021): edges on the logarithmic scale were factorised with scores that are uncorrelated "
        "with motion",
        (_ALIVERTI,),
    ),
    "pca-regression": MethodWords(
        "PCA regression",
        "principal components regressed on motion",
        "motion was removed by PCA regression: the principal components of the edges on the "
        "logarithmic scale were regressed on motion, and the fitted effect was subtracted from "
        "the connectomes",
    ),
    "edgewise": MethodWords(
        "edge-wise regression",
        "linear regression of every edge on motion",
        "motion was removed by edge-wise regression: every edge was regressed on motion on the "
        "logarithmic scale, and the fitted effect was subtracted",
    ),
    "raw": MethodWords(
        "as scanned",
        "nothing is removed",
        "connectomes were left as scanned, and no motion was removed",
    ),
}


def words_of(name: str, parameters: Mapping[str, Any]) -> MethodWords | None:
    """Return how a method with these parameters is spoken of; None if it has no words.

    Examples
    --------
    >>> words_of("inv-vae", {"preset": "published"}).name
    'inv-VAE as published'
    """
    preset = f"{name}, {parameters.get('preset')}"
    return METHOD_WORDS.get(preset, METHOD_WORDS.get(name))


def method_name(name: str) -> str:
    """Return the name of a method, or of the raw connectomes, in running text.

    Examples
    --------
    >>> method_name("edgewise"), method_name("raw"), method_name("mine")
    ('edge-wise regression', 'as scanned', 'mine')
    """
    return METHOD_WORDS[name].name if name in METHOD_WORDS else name
