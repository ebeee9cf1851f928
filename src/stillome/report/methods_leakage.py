"""The sentences of the methods paragraph on leakage: what was tested, and what was found."""

from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.verdict_power import power_told
from stillome.evaluate.words import listed, number, p_equals, percent, things
from stillome.methods.method_words import method_name
from stillome.run.folder import RunFolder
from stillome.run.judging import graph_before_and_after, judge_run, keeping_told
from stillome.run.run_certificates import RAW, find_certificate

_N_FOLDS = 5


def leakage_sentences(folder: RunFolder) -> list[str]:
    """Return what was tested and found: unseen subjects first, then those of the fit."""
    return [
        _how(folder),
        _found(folder, "unseen"),
        power_told(folder.power("connectomes"), folder.power("z"), folder.removed),
        _graph(folder),
        *keeping_told(folder),
        _found(folder, "cohort"),
        _not_known(folder),
    ]


def _how(folder: RunFolder) -> str:
    notes, removed = folder.certificate_notes, folder.removed
    together = " (groups of subjects were kept together)" if folder.groups is not None else ""
    design = (
        f"Remaining {removed} was not measured in subjects the model had not seen, only in the "
        "subjects it was fitted to."
    )
    where = "in subjects on whom a probe was not trained"
    if notes["repeats"]:
        design = (
            f"Remaining {removed} was measured by cross-fitting: subjects were divided at random "
            f"into {notes['parts']} parts{together}, the connectomes of each part were adjusted by "
            "a model fitted to the other parts, and this was done with "
            f"{things(notes['repeats'], 'random division')}."
        )
        where = "within each part, in subjects on whom a probe was not trained"
    keep = folder.settings.keep
    beyond = (
        f" What {listed(list(keep))} explained of {removed} and of the features was regressed out "
        "before."
        if keep
        else ""
    )
    n_inferred = folder.cohort.n_subjects - len(folder.known)
    inferred = (
        f" {things(n_inferred, 'subject')} without measured confounds were not probed."
        if n_inferred
        else ""
    )
    return (
        f"{design} {removed[0].upper()}{removed[1:]} was predicted {where} ({_N_FOLDS} folds), by "
        "ridge regression, support vector regression, extremely randomised trees (Geurts et al., "
        "2006; Pedregosa et al., 2011) and distance correlation (Székely & Rizzo, 2013). They were "
        "given all edges, which edges were zero, summary numbers of the network, graph measures, "
        "strength and degree of every region, and the latents z. Each probe was tested against "
        f"permuted {removed} ({notes['n_permutations']} permutations; support vectors and trees "
        "by permutations within successive folds), with Holm's (1979) correction over probes at "
        f"{percent(notes['level'])}. Intervals are 95 % bootstrap intervals over subjects. "
        f"{_baselines(folder)}{beyond}{inferred}"
    )


def _baselines(folder: RunFolder) -> str:
    names = ["the connectomes as scanned", *map(method_name, folder.settings.baselines)]
    return f"The {'baseline was' if len(names) == 1 else 'baselines were'} {listed(names)}."


def _found(folder: RunFolder, use: str) -> str:
    """Say what the probes found in one kind of use, failures included."""
    names = {"connectomes": "the adjusted connectomes", "z": "the latents z"}
    told = []
    for features, name in names.items():
        one = find_certificate(folder.certificates, use, folder.method, features)
        if one is not None:
            told.append(
                f"{_outcome(one.found)} {folder.removed} from {name} ({one.found.probes_named()})"
            )
    raw = find_certificate(folder.certificates, use, RAW, "connectomes")
    if not told or raw is None:
        return ""
    others = [
        f"{_outcome(one.found).lower()} it after {method_name(name)} ({one.found.probes_named()})"
        for name in folder.settings.baselines
        if (one := find_certificate(folder.certificates, use, name, "connectomes")) is not None
    ]
    where = {
        "unseen": f"In the {raw.n_subjects} subjects, each adjusted by a model that had not seen "
        "them",
        "cohort": "In the subjects the model was fitted to",
    }[use]
    first = told[0][0].lower() + told[0][1:]
    after = "".join(f"; {part[0].lower()}{part[1:]}" for part in told[1:])
    before = f"{_outcome(raw.found).lower()} it from the connectomes as scanned"
    beside = "".join(f"; {part}" for part in others)
    return f"{where}, {first}{after}; {before} ({raw.found.probes_named()}){beside}."


def _outcome(found: LeakageCertificate) -> str:
    """Return the number of probes that read something; "read" is the past tense here."""
    return (
        "No probe read" if found.passed else f"{found.n_reading} of {len(found.table)} probes read"
    )


def _graph(folder: RunFolder) -> str:
    use = "unseen" if graph_before_and_after(folder, "unseen") is not None else "cohort"
    table = graph_before_and_after(folder, use)
    if table is None:
        return ""
    told = [
        f"{name} {number(row.r_raw)} as scanned and {number(row.r)} adjusted ("
        f"{p_equals(row.p_holm)})"
        for name, row in table.iterrows()
    ]
    where = {"unseen": "In subjects the model had not seen", "cohort": "In the same subjects"}[use]
    return f"{where}, rank correlations of graph measures with motion were: {listed(told)}."


def _not_known(folder: RunFolder) -> str:
    """Say where the verdict is that nothing can be told."""
    if judge_run(folder).state != "unknown":
        return ""
    n_subjects = things(len(folder.known), "subject")
    return f"Whether {folder.removed} was left cannot be told with these {n_subjects}."
