"""
3. ABCD: families and several visits
====================================

In ABCD, siblings take part together and everybody is scanned every two years. Scans of one family are not independent. This tutorial
shows how they stay together, and why the motion of growing children must be removed before growth is studied.
"""

# %%
# Files as ABCD has them
# ----------------------
# We simulate 80 children with two visits. They move less when they are older, and 30 % of the edges change with age. Connectomes
# stand in folders of sessions; motion and families stand in tables of release 5. Visits have other names in the two:
# ``ses-baselineYear1Arm1`` and ``baseline_year_1_arm_1`` are the same.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from stillome.simulate import simulate_visits

simulated = simulate_visits(80, 2, random_state=0)
scans = simulated.cohort
sessions = {"1": "baselineYear1Arm1", "2": "2YearFollowUpYArm1"}
events = {"1": "baseline_year_1_arm_1", "2": "2_year_follow_up_y_arm_1"}

study, rows = Path(tempfile.mkdtemp()), []
for i in range(scans.n_subjects):
    number = int(scans.people[i].removeprefix("sub-"))
    visit = scans.session_ids[i]
    folder = study / "connectomes" / f"sub-NDARINV{number:08d}" / f"ses-{sessions[visit]}"
    folder.mkdir(parents=True)
    np.savetxt(folder / "connectome.csv", scans.connectomes[i], fmt="%d", delimiter=",")
    rows.append(
        {
            "src_subject_id": f"NDAR_INV{number:08d}",
            "eventname": events[visit],
            "dmri_meanmotion": scans.motion["rms_mm"].iloc[i],
            "interview_age_years": scans.traits["age"].iloc[i],
            "rel_family_id": f"family {number // 2}",
        }
    )
table = pd.DataFrame(rows)
table[["src_subject_id", "eventname", "dmri_meanmotion"]].to_csv(study / "motion.csv", index=False)
table.drop(columns="dmri_meanmotion").to_csv(study / "demographics.csv", index=False)

# %%
# Every visit is a scan of its own
# --------------------------------
# Several sessions of a person become several rows. Their ids are ``<person>_ses-<session>``; tables are joined by person and visit.

from stillome import read_cohort

cohort = read_cohort(
    study / "connectomes",
    motion=study / "motion.csv",
    traits=study / "demographics.csv",
    labels="dk68",
)
print(cohort.n_subjects, "scans of", len(set(cohort.people)), "children")
cohort.traits.head(2)

# %%
# Families stay together
# ----------------------
# ``cohort.groups(column)`` says who belongs together: families, and the scans of a child within them. Every method and every
# certificate takes it as ``groups``; on the command line it is ``--group rel_family_id``. Folds and permutations then never divide a
# family, and standard errors count families. Scans of one child stay together even if you name no column.

groups = cohort.groups("rel_family_id")

# %%
# Remove motion, keep age
# -----------------------
# Age is associated with motion and with the brain. Without ``covariates_to_keep`` the part of growth that goes with motion would be
# removed. On the command line it is ``--keep interview_age_years``.

from stillome import InvFA

motion, age = cohort.confounds(), cohort.traits["interview_age_years"]
model = InvFA().fit(cohort.X, confounds=motion, covariates_to_keep=age, groups=groups)
adjusted = model.adjust(cohort.connectomes, confounds=motion)

# %%
# Growth, true and false
# ----------------------
# The mean change from the first visit to the second. As scanned, nearly everything seems to grow, because the children move less.
# After adjusting, what is left resembles the change of the scans without motion, which only a simulation has.

from stillome.plot import plot_edge_differences

second = np.array([session == max(set(cohort.session_ids)) for session in cohort.session_ids])
second ^= age[second].mean() < age[~second].mean()
# Rows of the simulation, in the order in which the files were read.
order = {f"NDARINV{int(p.removeprefix('sub-')):08d}": i // 2 for i, p in enumerate(scans.people)}
rows_of = [2 * order[p] + late for p, late in zip(cohort.people, second, strict=True)]
truth = simulated.motion_free[rows_of]

growth = {
    name: matrices[second].mean(axis=0) - matrices[~second].mean(axis=0)
    for name, matrices in {
        "as scanned": cohort.connectomes,
        "adjusted": adjusted,
        "without motion (truth)": truth,
    }.items()
}
plot_edge_differences(growth, cohort.regions, label="fibres: second visit − first visit")

# %%
edges = np.triu_indices(68, k=1)
for name, change in growth.items():
    agrees = np.corrcoef(change[edges], growth["without motion (truth)"][edges])[0, 1]
    print(
        f"{name}: {change[edges].sum():+.0f} fibres in all; correlation with the truth {agrees:.2f}"
    )

# %%
# Certify with groups
# -------------------
# Certificates exchange motion between whole families. ``nuisance=age`` takes out what motion and latents share through age, which
# was kept on purpose.

from stillome import leakage_certificate

latents = model.transform(cohort.X, confounds=motion)
found = leakage_certificate(latents, motion, nuisance=age, groups=groups)
print(found.sentence("z"))

# %%
# These children were also in the fit. What is left in children whom a model has not seen is measured by ``stillome run``,
# which divides families into parts (:doc:`6_reading_the_report`).
