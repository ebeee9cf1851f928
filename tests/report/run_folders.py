"""Small run folders with real results: a simulated cohort, a fitted model, its certificates."""

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.evaluate import (
    compare_methods,
    fidelity_report,
    graph_measures,
    leakage_certificate,
    predict_trait,
)
from stillome.io.write import provenance, write_dataset_description
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.linear.edgewise import EdgewiseRegression
from stillome.persistence import write_json, write_table
from stillome.simulate import simulate_cohort

OURS, BASELINE = "inv-fa", "edgewise"
HOSTILE_ID = "<script>alert('x')</script>"
N_UNSEEN = 21
_PERMUTATIONS = 120


def small_cohort(n_subjects=70, n_regions=20, seed=0):
    """Keep the first regions of both hemispheres; one subject's id tries to be a program."""
    simulated = simulate_cohort(n_subjects, "thinning", n_traits=1, random_state=seed)
    cohort = simulated.cohort
    half = n_regions // 2
    kept = np.r_[0:half, 34 : 34 + n_regions - half]
    ids = [*cohort.subject_ids[:-1], HOSTILE_ID]
    part = Cohort(
        ids,
        cohort.connectomes[:, kept][:, :, kept],
        motion=cohort.motion.set_axis(ids),
        traits=cohort.traits.set_axis(ids),
        regions=cohort.regions.iloc[kept].reset_index(drop=True),
        lengths=cohort.lengths[np.ix_(kept, kept)],
    )
    return part, simulated.motion_free[:, kept][:, :, kept]


def write_run(folder, cohort, truth=None, *, confound="rms_mm", traits=True):
    """Fit, certify, adjust and predict, and leave what `stillome run` leaves."""
    (folder / "work").mkdir(parents=True)
    motion = cohort.motion[[confound]].to_numpy(dtype=float)
    model = InvFA(n_components=8).fit(cohort.edges, confounds=motion)
    _write_header(folder, cohort, confound, simulated=truth is not None)
    cohort.save(folder / "work" / "cohort")
    adjusted = model.adjust(cohort.edges, confounds=motion)
    Z = model.transform(cohort.edges, confounds=motion)
    np.save(folder / "work" / "adjusted.npy", edges_to_matrices(adjusted))
    if truth is not None:
        np.save(folder / "work" / "truth.npy", truth)
    _write_latents(folder, cohort, Z, model)
    baseline = EdgewiseRegression(n_components=8).fit(cohort.edges, confounds=motion)
    answers = {OURS: adjusted, BASELINE: baseline.adjust(cohort.edges, confounds=motion)}
    _write_fidelity(folder, cohort, answers, truth, motion)
    baseline_z = baseline.transform(cohort.edges, confounds=motion)
    _write_certificates(folder, cohort, answers, {OURS: Z, BASELINE: baseline_z}, motion)
    _write_subjects(folder, cohort, adjusted, confound)
    _write_slider(folder, cohort, model, motion)
    if traits:
        _write_traits(folder, cohort, confound)
    return folder


def _write_header(folder, cohort, confound, simulated):
    settings = {
        "connectomes": ["connectomes/<all>.csv"],
        "motion": ["motion.tsv"],
        "traits": ["participants.tsv"],
        "trait": list(cohort.traits.columns),
        "confounds": [confound],
        "keep": [],
        "method": OURS,
        "baselines": [BASELINE],
        "reference": [0.0],
        "seed": 0,
        "form": "relmat",
    }
    source = {"producer": "MRtrix", "measure": "count", "atlas": "Desikan-Killiany"}
    content = {
        "format": "stillome-run",
        "version": 1,
        "stillome": "0.1.0",
        "command": "stillome run --connectomes connectomes --motion motion.tsv --out results",
        "settings": settings,
        "provenance": provenance(random_state=0) | {"Inputs": {"motion.tsv": "ab" * 32}},
        "source": source | {"triangle": "full"},
        "simulated": simulated,
    }
    write_json(folder / "run.json", content)
    write_dataset_description(folder, "stillome")
    dropped = {"participant_id": ["sub-9001", "sub-9002"], "reason": ["no motion", "no connectome"]}
    write_table(folder / "dropped.tsv", pd.DataFrame(dropped))
    write_table(folder / "motion.tsv", cohort.motion.rename_axis("participant_id"), index=True)


def _write_latents(folder, cohort, Z, model):
    names = [f"z_{k + 1}" for k in range(Z.shape[1])]
    index = pd.Index(cohort.subject_ids, name="participant_id")
    write_table(folder / "latents.tsv", pd.DataFrame(Z, index=index, columns=names), index=True)
    kl = model.diagnostics_.kl_per_dimension.tolist()
    active = model.diagnostics_.active_units
    content = {"active_units": active, "kl_per_unit": kl, "n_components": len(kl)}
    write_json(folder / "diagnostics.json", content)


def _write_fidelity(folder, cohort, answers, truth, motion):
    rows = []
    for method, adjusted in answers.items():
        matrices = edges_to_matrices(adjusted)
        report = fidelity_report(matrices, cohort.connectomes, truth, motion=motion)
        rows.append({"method": method, **vars(report)})
    write_table(folder / "fidelity.tsv", pd.DataFrame(rows))
    raw, after = graph_measures(cohort.edges), graph_measures(answers[OURS])
    table = raw.add_suffix("_raw").join(after.add_suffix("_adjusted"))
    table.insert(0, "participant_id", cohort.subject_ids)
    write_table(folder / "graph_measures.tsv", table)


def _write_certificates(folder, cohort, answers, latents, motion):
    raw = leakage_certificate(cohort.edges, motion, kind="counts", n_permutations=_PERMUTATIONS)
    parts = [("cohort", "raw", "connectomes", raw, len(motion))]
    for method, adjusted in answers.items():
        counts = leakage_certificate(adjusted, motion, kind="counts", n_permutations=_PERMUTATIONS)
        z = leakage_certificate(latents[method], motion, n_permutations=_PERMUTATIONS)
        parts += [("cohort", method, "connectomes", counts, len(motion))]
        parts += [("cohort", method, "z", z, len(motion))]
    model = InvFA(n_components=8).fit(cohort.edges[N_UNSEEN:], confounds=motion[N_UNSEEN:])
    rest = motion[:N_UNSEEN]
    Z = model.transform(cohort.edges[:N_UNSEEN], confounds=rest)
    z = leakage_certificate(Z, rest, n_permutations=_PERMUTATIONS)
    answers = model.adjust(cohort.edges[:N_UNSEEN], confounds=rest)
    counts = leakage_certificate(answers, rest, kind="counts", n_permutations=_PERMUTATIONS)
    parts += [("unseen", OURS, "connectomes", counts, N_UNSEEN), ("unseen", OURS, "z", z, N_UNSEEN)]
    tables = [
        certificate.table.reset_index().assign(
            use=use, method=method, features=features, n_subjects=n, passed=certificate.passed
        )
        for use, method, features, certificate, n in parts
    ]
    columns = ["use", "method", "features", "n_subjects", "probe", "r2", "p_value", "p_holm"]
    table = pd.concat(tables)[[*columns, "null_95", "passed"]]
    write_table(folder / "certificates.tsv", table)
    sentences = [
        {"use": use, "method": method, "features": features, "sentence": found.sentence(features)}
        for use, method, features, found, _ in parts
    ]
    content = {"sentences": sentences, "level": 0.05, "n_permutations": _PERMUTATIONS, "notes": []}
    write_json(folder / "certificates.json", content)


def _write_subjects(folder, cohort, adjusted, confound):
    raw = cohort.edges
    logs = np.log1p(raw), np.log1p(adjusted)
    correlation = [np.corrcoef(a, b)[0, 1] for a, b in zip(*logs, strict=True)]
    moved = cohort.motion[confound] > cohort.motion[confound].quantile(0.9)
    flags = np.where(moved, "moved much", "")
    table = pd.DataFrame(
        {
            "participant_id": cohort.subject_ids,
            **{name: cohort.motion[name].to_numpy() for name in cohort.motion},
            "fibres_raw": raw.sum(axis=1),
            "fibres_adjusted": adjusted.sum(axis=1),
            "change_percent": 100 * (adjusted.sum(axis=1) / raw.sum(axis=1) - 1),
            "zeros_raw": (raw == 0).mean(axis=1),
            "zeros_adjusted": (adjusted == 0).mean(axis=1),
            "correlation": correlation,
            "flags": flags,
        }
    )
    table.loc[0, "flags"] = "moved much;few fibres"
    write_table(folder / "subjects.tsv", table)


def _write_slider(folder, cohort, model, motion):
    order = np.argsort(motion[:, 0])
    tenth = max(len(order) // 10, 1)
    chosen = [order[0], order[len(order) // 2], order[-1], len(order) - 1]
    groups = {
        "all subjects": order,
        "10 % least motion": order[:tenth],
        "10 % most motion": order[-tenth:],
        **{cohort.subject_ids[i]: np.array([i]) for i in chosen},
    }
    references = np.linspace(0, np.quantile(motion, 0.95), 7)
    everybody = [
        edges_to_matrices(model.adjust(cohort.edges, confounds=motion, reference=[level]))
        for level in references
    ]
    np.savez(
        folder / "work" / "slider.npz",
        references=references,
        keys=np.array(list(groups)),
        matrices=np.array(
            [[level[who].mean(axis=0) for level in everybody] for who in groups.values()],
            dtype=np.float32,
        ),
        observed=np.array(
            [cohort.connectomes[who].mean(axis=0) for who in groups.values()], dtype=np.float32
        ),
        observed_motion=np.array([motion[who].mean() for who in groups.values()]),
    )


def _write_traits(folder, cohort, confound):
    found = compare_methods(
        cohort, [OURS, BASELINE], confounds=[confound], cv=2, n_components=5, probe=False
    )
    (folder / "comparison").mkdir()
    for name in ("folds", "summary", "tests"):
        write_table(folder / "comparison" / f"{name}.tsv", getattr(found, name))
    tables = [
        predict_trait(cohort, trait, OURS, [confound], cv=2).assign(trait=trait)
        for trait in cohort.traits
    ]
    write_table(folder / "predictions.tsv", pd.concat(tables), index=True)
