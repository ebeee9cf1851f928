"""A methods paragraph with this run's numbers, ready to paste, and what it cites."""

from stillome.plot.labels import measure_label
from stillome.report.certificates import certificate
from stillome.report.results import Results
from stillome.report.words import listed, method_name, number, read_r2, share, things

REFERENCES = {
    "zhang": "Zhang, Y., Liu, M., Zhang, Z., & Dunson, D. (2024). Motion-invariant variational "
    "auto-encoding of brain structural connectomes. Imaging Neuroscience, 2.",
    "pedregosa": "Pedregosa, F., et al. (2011). Scikit-learn: Machine learning in Python. Journal "
    "of Machine Learning Research, 12, 2825–2830.",
    "geurts": "Geurts, P., Ernst, D., & Wehenkel, L. (2006). Extremely randomized trees. Machine "
    "Learning, 63, 3–42.",
    "szekely": "Székely, G. J., & Rizzo, M. L. (2013). The distance correlation t-test of "
    "independence in high dimension. Journal of Multivariate Analysis, 117, 193–213.",
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
    "Scandinavian Journal of Statistics, 6, 65–70.",
    "nadeau": "Nadeau, C., & Bengio, Y. (2003). Inference for the generalization error. Machine "
    "Learning, 52, 239–281.",
}
_HOW = {
    "inv-fa": "The effect of motion on every edge was estimated by negative binomial likelihood, "
    "pooled over edges; what it did not explain was encoded in a latent z for each subject "
    "(motion-invariant variational auto-encoding; Zhang et al., 2024, as extended in stillome), "
    "and each subject's own residual was replayed at the reference by a randomised quantile map",
    "inv-fa-published": "Connectomes were encoded by the motion-invariant variational "
    "auto-encoder of Zhang et al. (2024)",
    "edgewise": "Every edge was regressed on motion on the logarithmic scale",
}


def methods_paragraph(results: Results) -> str:
    """Write how the data were treated and what was found, in the past tense and in full."""
    parts = [
        _data(results),
        _adjusting(results),
        _certificate(results),
        _traits(results),
        f"Analyses used stillome {results.run.get('stillome', '')} with random seed "
        f"{results.settings.get('seed')}.",
    ]
    return " ".join(part for part in parts if part)


def references(results: Results) -> list[str]:
    """Return what the paragraph cites."""
    cited = ["zhang", "geurts", "holm", "pedregosa", "szekely"]
    if results.comparison:
        cited.append("nadeau")
    return sorted(REFERENCES[name] for name in cited)


def _data(results: Results) -> str:
    cohort, source = results.cohort, results.run.get("source") or {}
    atlas = f" of the {source['atlas']} atlas" if source.get("atlas") else ""
    maker = f", as written by {source['producer']}" if source.get("producer") else ""
    what = "fibre counts" if results.whole_counts else "connection weights"
    dropped = (
        f" {things(len(results.dropped), 'subject')} could not be used."
        if len(results.dropped)
        else ""
    )
    simulated = "simulated " if results.run.get("simulated") else ""
    return (
        f"Structural connectomes of {cohort.n_subjects:,} {simulated}subjects were analysed as "
        f"{what} between {cohort.n_regions} regions{atlas}{maker}.{dropped}"
    )


def _adjusting(results: Results) -> str:
    names = [measure_label(name) for name in results.settings["confounds"]]
    at = f" (reference: {listed(results.reference)})" if results.reference else ""
    keep = results.settings.get("keep") or []
    kept = f", keeping what goes with {listed([str(name) for name in keep])}" if keep else ""
    how = _HOW.get(results.method, f"Motion was removed with {method_name(results.method)}")
    others = listed(results.others_said)
    more = f" The effect of {others} was removed in the same way." if others else ""
    return f"Head motion was measured by {listed(names)}. {how}{at}{kept}.{more}"


def _certificate(results: Results) -> str:
    ours = certificate(results, "cohort", results.method, "connectomes")
    raw = certificate(results, "cohort", "raw", "connectomes")
    if ours is None or raw is None:
        return ""
    removed = results.removed
    level = float(results.certificate_notes.get("level", 0.05))
    outcome = (
        "no probe read" if ours.passed else f"{ours.n_reading} of {len(ours.table)} probes read"
    )
    rows = results.fidelity[results.fidelity["method"] == results.method]
    kept = ""
    if len(rows) and "strength_r" in rows:
        kept = (
            " Across subjects, strength, efficiency and clustering of the adjusted networks "
            f"correlated with those of the unadjusted at {number(rows['strength_r'].iloc[0])}, "
            f"{number(rows['efficiency_r'].iloc[0])} and {number(rows['clustering_r'].iloc[0])}."
        )
    return (
        f"Remaining {removed} was sought in held-out subjects by ridge regression, support vector "
        "regression, extremely randomised trees (Geurts et al., 2006; Pedregosa et al., 2011) and "
        f"distance correlation (Székely & Rizzo, 2013), each tested against permuted {removed} "
        f"with Holm's (1979) correction at {share(level)}. {outcome.capitalize()} {removed} from "
        f"the adjusted connectomes (best R² {read_r2(ours.worst_r2)}, unadjusted "
        f"{read_r2(raw.worst_r2)}).{kept}"
    )


def _traits(results: Results) -> str:
    if not results.comparison:
        return ""
    summary = results.comparison["summary"]
    ours = summary[summary["method"] == results.method].dropna(subset="r_mean")
    if ours.empty:
        return ""
    told = [f"{row.trait} r = {number(row.r_mean)}" for row in ours.itertuples()]
    return (
        f"Traits, less what {results.sought} explained of them in the training subjects, were "
        f"predicted by cross-validation ({listed(told)}; mean over folds) and methods compared by "
        "the corrected resampled t-test (Nadeau & Bengio, 2003)."
    )
