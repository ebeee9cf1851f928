"""A methods paragraph with this run's numbers, ready to paste, and what it cites."""

from stillome.cohort.scan_words import rows_counted
from stillome.evaluate.words import listed, things
from stillome.methods.method_words import ZHANG, method_name, words_of
from stillome.plot.labels import measure_label
from stillome.report.methods_leakage import leakage_sentences
from stillome.report.methods_traits import trait_sentences
from stillome.run.folder import RunFolder

_PROBES = (
    "Geurts, P., Ernst, D., & Wehenkel, L. (2006). Extremely randomized trees. Machine Learning, "
    "63, 3–42.",
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian "
    "Journal of Statistics, 6, 65–70.",
    "Pedregosa, F., et al. (2011). Scikit-learn: Machine learning in Python. Journal of Machine "
    "Learning Research, 12, 2825–2830.",
    "Székely, G. J., & Rizzo, M. L. (2013). The distance correlation t-test of independence in "
    "high dimension. Journal of Multivariate Analysis, 117, 193–213.",
)
_NADEAU = (
    "Nadeau, C., & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, "
    "52, 239–281."
)


def methods_paragraph(folder: RunFolder) -> str:
    """Write how the data were treated and what was found, in the past tense and in full."""
    parts = [
        _data(folder),
        _adjusting(folder),
        *leakage_sentences(folder),
        *trait_sentences(folder),
        f"Analyses used stillome {folder.header.get('stillome', '')} (The stillome developers), "
        "which implements and extends the work of Zhang et al. (2024), with random seed "
        f"{folder.settings.seed}.",
    ]
    return " ".join(part for part in parts if part)


def references(folder: RunFolder) -> list[str]:
    """Return what the paragraph cites: always stillome and the paper, and the method's own."""
    stillome = (
        "The stillome developers. stillome: structural connectomes without head motion (version "
        f"{folder.header.get('stillome', '')}) [Computer software]."
    )
    words = words_of(folder.method, folder.settings.parameters)
    cited = [stillome, ZHANG, *_PROBES, *(words.cites if words else ())]
    if words and folder.whole_counts:
        cited += words.cites_of_counts
    if folder.comparison is not None:
        cited.append(_NADEAU)
    return sorted(cited)


def motion_reference(folder: RunFolder) -> list[str]:
    """Return the motion adjusted to, in words: one for each measure, or 0 for all."""
    said = folder.reference_said
    words = [said[name] for name in folder.settings.confounds]
    return ["0"] if set(words) == {"0"} else words


def others_removed(folder: RunFolder) -> list[str]:
    """Return what was removed besides motion, in words: "site (adjusted to A)"."""
    said = folder.reference_said
    return [f"{name} (adjusted to {said[name]})" for name in folder.settings.other_confounds]


def _data(folder: RunFolder) -> str:
    cohort, source = folder.cohort, folder.source
    atlas = f" of the {source['atlas']} atlas" if source.get("atlas") else ""
    what = "fibre counts" if folder.whole_counts else "connection weights"
    n_dropped = len(folder.dropped)
    dropped = f" {things(n_dropped, 'subject')} could not be used." if n_dropped else ""
    simulated = "simulated" if folder.header.get("simulated") else ""
    who = rows_counted(cohort.subject_ids, simulated)
    return (
        f"Structural connectomes of {who} were analysed as "
        f"{what} between {cohort.n_regions} regions{atlas}.{dropped}"
    )


def _adjusting(folder: RunFolder) -> str:
    names = [measure_label(name) for name in folder.settings.confounds]
    keep = folder.settings.keep
    kept = f", keeping the effects of {listed(list(keep))}" if keep else ""
    words = words_of(folder.method, folder.settings.parameters)
    did = words.did if words else f"motion was removed with {method_name(folder.method)}"
    law = f" {words.of_counts}" if words and words.of_counts and folder.whole_counts else ""
    others = listed(others_removed(folder))
    more = f" The effect of {others} was removed in the same way." if others else ""
    return (
        f"Head motion was measured by {listed(names)}. {did[0].upper()}{did[1:]} (reference: "
        f"{listed(motion_reference(folder))}){kept}.{law}{more}"
    )
