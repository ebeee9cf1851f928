"""Folders shaped as the users of HCP and ABCD have them, with what is odd about the real ones."""

import numpy as np
import pandas as pd

from stillome.studies.real_data import BASELINES
from stillome.studies.study_cohort import TRAITS

N_SUBJECTS, N_REGIONS = 44, 6
WITHOUT_FLIRT = 5  # the last ones


def counts_of(moved, seed=0):
    """Counts of as many people as moved, who lost fibres by it."""
    rng = np.random.default_rng(seed)
    person = np.exp(rng.normal(4, 0.6, (len(moved), N_REGIONS, N_REGIONS)))
    counts = np.triu(rng.poisson(person * np.exp(-moved)[:, None, None]), k=1)
    return counts + counts.transpose(0, 2, 1)


def write_connectomes(folder, ids, counts):
    (folder / "connectomes").mkdir(parents=True)
    for subject, matrix in zip(ids, counts, strict=True):
        path = folder / "connectomes" / f"sub-{subject}_connectome.csv"
        np.savetxt(path, matrix, fmt="%d", delimiter=",")


def write_transforms(folder, moved, rng):
    """Write what FLIRT finds between three b = 0 frames and the first."""
    folder.mkdir(parents=True, exist_ok=True)
    for frame in range(2, 5):
        angle, matrix = 0.01 * rng.random(), np.eye(4)
        matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        matrix[:3, 3] = rng.normal(0.2 * moved, 0.05, 3)
        np.savetxt(folder / f"b0_{frame:02d}.mat", matrix)


def write_hcp(folder):
    """HCP: eddy's logs as downloaded, FLIRT in a folder below each subject or beside them.

    The last subjects have no transforms; traits are missing; a person of the tables has no
    connectome; two tables, of which the restricted one has the families; MNI registrations.
    """
    rng = np.random.default_rng(1)
    ids = [str(100307 + i) for i in range(N_SUBJECTS)]
    moved = rng.gamma(3, 0.2, N_SUBJECTS)
    write_connectomes(folder, ids, counts_of(moved))
    for place, (subject, mm) in enumerate(zip(ids, moved, strict=True)):
        logs = folder / subject / "T1w" / "Diffusion" / "eddylogs"
        logs.mkdir(parents=True)
        stem = str(logs / "eddy_unwarped_images")
        np.savetxt(f"{stem}.eddy_movement_rms", [[0, 0], [mm, mm], [2 * mm, mm]])
        drift = np.outer(np.arange(3), [mm, 0, 0, 0.01 * rng.random(), 0, 0])
        np.savetxt(f"{stem}.eddy_parameters", np.hstack([drift, np.zeros((3, 10))]))
        lines = ["One row per scan, one column per slice"] + ["0 1 0"] * int(rng.integers(1, 5))
        (logs / "eddy_unwarped_images.eddy_outlier_map").write_text("\n".join(lines) + "\n")
        xfms = folder / subject / "MNINonLinear" / "xfms"
        xfms.mkdir(parents=True)
        np.savetxt(xfms / "acpc.mat", np.diag([1, 1, 1, 1]))
        if place < N_SUBJECTS - WITHOUT_FLIRT:
            below = folder / subject / "registrations of mine" / "attempt two"
            beside = folder / "b0_to_first" / subject
            write_transforms(below if place % 2 else beside, mm, rng)
    columns = [*TRAITS["HCP"][0].values(), "ReadEng_AgeAdj", "Gender"]
    table = pd.DataFrame(rng.normal(100, 15, (N_SUBJECTS + 1, len(columns))), columns=columns)
    table.iloc[3, 0] = table.iloc[7, 2] = np.nan
    table["Gender"] = "F"
    table.insert(0, "Subject", [*ids, "999999"])
    table.to_csv(folder / "unrestricted_someone.csv", index=False)
    families = [f"{i // 2}_fam" for i in range(N_SUBJECTS + 1)]
    restricted = pd.DataFrame({"Subject": table["Subject"], "Family_ID": families})
    restricted.to_csv(folder / "RESTRICTED_someone.csv", index=False)
    return folder


def write_abcd(folder, release, *, flirt=False):
    """ABCD: tables of several events, by the names of a release; transforms of two sessions."""
    rng = np.random.default_rng(2)
    ids = [f"NDAR_INV{i:08d}" for i in range(N_SUBJECTS)]
    moved = rng.gamma(3, 0.2, N_SUBJECTS)
    write_connectomes(folder, [i.replace("_", "") for i in ids], counts_of(moved))
    traits = list(TRAITS["ABCD"][release == 6].values())
    stem = {4: "dmri_dti_mean", 5: "dmri_mean"}.get(release)
    motion = [f"{stem}{what}" for what in ("motion", "trans", "rot")]
    family = "rel_family_id"
    subject, event, baseline, later = "src_subject_id", "eventname", *BASELINES[:1], "y2"
    if release == 6:
        motion = [f"mr_y_qc__mot__dmri__{what}_mean" for what in ("mot", "trans", "rot")]
        subject, event, baseline, later = "participant_id", "session_id", "ses-00A", "ses-02A"
        family = "ab_g_stc__design_id__fam"
        ids = [f"sub-{i.removeprefix('NDAR_INV')}" for i in ids]
        for path in (folder / "connectomes").iterdir():
            path.rename(path.with_name(path.name.replace("NDARINV", "")))
    if flirt:
        for who, mm in list(zip(ids, moved, strict=True))[:-WITHOUT_FLIRT]:
            label = who.replace("NDAR_INV", "NDARINV").removeprefix("sub-")
            for session, factor in (("ses-baselineYear1Arm1", 1), ("ses-2YearFollowUp", 5)):
                place = folder / "sourcedata" / f"sub-{label}" / session / "flirt_6dof"
                write_transforms(place, factor * mm, rng)
    values = np.column_stack([moved, 0.5 * moved, 0.3 * rng.random(N_SUBJECTS)])
    scores = pd.DataFrame(rng.normal(100, 15, (N_SUBJECTS, 5)), columns=traits)
    scores.iloc[4, 1] = np.nan
    scores[family] = np.arange(N_SUBJECTS) // 2
    tables = {"motion": pd.DataFrame(values, columns=motion), "traits": scores}
    for name, table in tables.items():
        table.insert(0, event, baseline)
        table.insert(0, subject, ids)
        both = pd.concat([table, table.assign(**{event: later})])
        if release == 4:
            says = {c: f"Description of {c}" for c in both.columns}
            pd.concat([pd.DataFrame([says]), both]).to_csv(
                folder / f"abcd_{name}01.txt", sep="\t", index=False
            )
        else:
            both.to_csv(folder / f"{name}.csv", index=False)
    return moved
