"""
6. Reading the report: good and bad cases
=========================================

Every run ends with a verdict, in the console and at the top of ``report.html``. This page reads it line by line in a good case, and
shows what it says when a method fails and when people are too few.

:doc:`/docs/cli` has the rules by which each verdict is given. What to do after each:

.. list-table::
   :header-rows: 1

   * - verdict
     - what to do
   * - **passed**
     - Use the connectomes.
   * - **with care**
     - Read the lines marked *with care*. More people in the fit help most.
   * - **failed**
     - Do not analyse these connectomes. Try another method, and look at the measure of motion.
   * - **cannot be told**
     - Finding nothing says nothing here. Join cohorts.
"""

# %%
# Three studies
# -------------
# One small function simulates a study and runs everything but the page itself. 23 regions are enough for this.

import tempfile
from dataclasses import replace
from pathlib import Path

from stillome import RunSettings, run_pipeline, simulate_cohort
from stillome.io.write_cohort import write_cohort
from stillome.run import RunFolder, verdict


def study(n_subjects, **settings):
    """Return the folder of a finished run."""
    cohort = simulate_cohort(n_subjects, "thinning", random_state=0).cohort
    few = slice(None, None, 3)
    cohort = replace(
        cohort,
        connectomes=cohort.connectomes[:, few, few],
        regions=cohort.regions.iloc[few],
        lengths=cohort.lengths[few, few],
    )
    place = Path(tempfile.mkdtemp())
    files = write_cohort(place / "study", cohort)
    asked = RunSettings(
        connectomes=(str(files.connectomes),),
        motion=(str(files.motion),),
        confounds=("rms_mm",),
        repeats=1,
        baselines=(),
        **settings,
    )
    return run_pipeline(asked, place / "results", report=False)


good, bad, few = study(400), study(150, method="edgewise"), study(58)

# %%
# A good case
# -----------
# **The first line** has the answer: the largest R² of any probe that predicts motion in people whom the model has not seen, with a 95 %
# interval, beside that of the connectomes as scanned. R² near 0 means that motion cannot be predicted; below 0 is worse than guessing the
# mean.

said = verdict(good)
print(said[0])

# %%
# **The checks** follow, each with its own state. Read first whether motion affected the connectomes as scanned: if it did not, there was
# nothing to remove. Then *Would motion have been noticed?* This is the power. A green verdict without power would be worth nothing.

print(*said[1:6], sep="\n\n")

# %%
# **What was kept** is as important as what was removed: a method that gives everybody the same connectome passes every probe. The
# variance between people should be near 1 times that of people who hardly moved.

print(*said[8:], sep="\n\n")

# %%
# A bad case
# ----------
# Regressing motion out of every edge is what most papers do. Each edge is then uncorrelated with motion. A probe that sees all edges
# together still reads motion, because the regression changes zeros and variances in a way that shows it.

print(*verdict(bad)[:3], sep="\n\n")

# %%
# **The figure of the leakage.** Every row is a probe. Filled markers beat permuted motion; open ones do not. Grey is the range of chance.
# Compare with the connectomes as scanned (raw): good is far from raw and inside the band. (The study of the bad case has 150 people, the
# other 400, from which the row of raw is.)

from stillome.plot import plot_leakage


def unseen(results):
    """Return the certificates of connectomes of people whom the model has not seen, by method."""
    found = RunFolder(results).certificates
    return {
        one.method: one.found.table
        for one in found
        if (one.use, one.features) == ("unseen", "connectomes")
    }


plot_leakage(unseen(bad) | unseen(good))

# %%
# Too few people
# --------------
# With 58 people no probe finds anything, and that says nothing. The verdict does not call it clean.

print(*verdict(few)[:2], sep="\n\n")

# %%
# Graph measures
# --------------
# ``graph_motion.tsv`` has the rank correlation of graph measures with motion, before and after. This is what most analyses use
# afterwards.

table = RunFolder(good).graph_motion
table[table["use"] == "unseen"].pivot(index="measure", columns="method", values="r").round(2)

# %%
# Where else to look
# ------------------
# * **Figures of the cohort that was fitted** say *in-sample* in their captions. They are the easier test.
# * **The slider** of the page shows mean connectomes at any amount of motion.
# * **The methods paragraph** can be pasted into a paper. It says what the probes found, also where they found motion.
# * **Leakage that the power does not reach can be missed.** Green does not mean none.
