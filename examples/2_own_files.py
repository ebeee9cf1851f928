"""
2. Your own files
=================

This tutorial reads connectomes, motion and traits from the folders that pipelines leave, and joins them by subject. You learn
how to see what stillome found, and what it says when something is wrong.
"""

# %%
# Folders as pipelines leave them
# -------------------------------
# We make up a small study: connectomes as MRtrix3's ``tck2connectome`` writes them (upper triangles, one file per person), logs of
# FSL's eddy, and BIDS' ``participants.tsv``. With a study of your own, you have these already.

import tempfile
from pathlib import Path

import numpy as np

from stillome import simulate_cohort

study = Path(tempfile.mkdtemp()) / "derivatives"
cohort = simulate_cohort(60, "thinning", random_state=1).cohort
rng = np.random.default_rng(0)
rows = ["participant_id\tage\tsite"]
for name, counts, moved in zip(
    cohort.subject_ids, cohort.connectomes, cohort.motion["rms_mm"], strict=True
):
    counts_folder, eddy_folder = study / "mrtrix3" / name, study / "eddy" / name
    counts_folder.mkdir(parents=True)
    np.savetxt(counts_folder / f"{name}_connectome.csv", np.triu(counts), fmt="%d", delimiter=",")
    eddy_folder.mkdir(parents=True)
    steps = moved * rng.uniform(0.5, 1.5, 30)  # mm, volume by volume
    rms = np.column_stack([np.cumsum(steps) / 10, np.r_[0, steps[1:]]])
    np.savetxt(eddy_folder / f"{name}.eddy_movement_rms", rms)
    rows.append(f"{name}\t{rng.uniform(8, 12):.1f}\t{rng.choice(['Ghent', 'Lyon'])}")
(study / "participants.tsv").write_text("\n".join(rows) + "\n")

# %%
# What is in there?
# -----------------
# ``inspect_path`` (``stillome inspect``) looks into a folder and says what it found. Nothing is computed.

from stillome.io import inspect_path

for part in ("mrtrix3", "eddy"):
    found = inspect_path(study / part)
    print(f"{part}: {found.producer}")
    for fact, value in found.facts.items():
        print(f"  {fact}: {value}")

# %%
# Motion
# ------
# ``read_motion`` (``stillome motion``) makes one row per person. Column names carry the unit. For eddy, ``rms_mm`` is the mean
# displacement to the previous volume. :doc:`/docs/motion` lists all files and columns that are known.

from stillome import read_motion
from stillome.plot import plot_motion_measures

motion = read_motion(study / "eddy")
motion.head(3)

# %%
plot_motion_measures(motion)

# %%
# Everything together
# -------------------
# ``read_cohort`` joins by subject id. ``labels="dk68"`` names the 68 regions of Desikan and Killiany, because text matrices have no names.

from stillome import read_cohort

cohort = read_cohort(
    study / "mrtrix3", motion=study / "eddy", traits=study / "participants.tsv", labels="dk68"
)
cohort

# %%
from stillome.plot import plot_edge_means

plot_edge_means(cohort.edge_means(), cohort.regions)

# %%
# When people are missing
# -----------------------
# Who has no motion, or no row in a table that was named, is left out, and a warning says how many. ``dropped=`` writes the list with
# the reasons.

import shutil
import warnings

shutil.rmtree(study / "eddy" / "sub-0003")
with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    fewer = read_cohort(study / "mrtrix3", motion=study / "eddy", labels="dk68")
print(fewer.n_subjects, "people:", notes[0].message)

# %%
# When something is wrong
# -----------------------
# Bad input is refused with one sentence that says what, where, and what to do. In Python it is a
# :class:`~stillome.StillomeError`; on the command line the exit code is 2 and nothing is written.

from stillome import StillomeError

broken = study / "mrtrix3" / "sub-0005" / "sub-0005_connectome.csv"
counts = np.loadtxt(broken, delimiter=",")
counts[0, 1] = -7
np.savetxt(broken, counts, fmt="%d", delimiter=",")
try:
    read_cohort(study / "mrtrix3", motion=study / "eddy")
except StillomeError as error:
    print(str(error).replace(str(study), "derivatives"))

# %%
# The run itself is one command:
#
# .. code-block:: sh
#
#    stillome run --connectomes derivatives/mrtrix3 --motion derivatives/eddy --labels dk68 --out results
