"""
1. The first report
===================

This tutorial takes a study from its files to a report. You learn what goes in, what comes out, and where the verdict stands.

The same on the command line is ``stillome demo``, which simulates a larger study and runs everything on it.
"""

# %%
# A study with a known truth
# --------------------------
# 120 people are simulated. Everybody loses streamlines, with a probability that grows with motion and with the length of the
# connection. We keep every second region, only to make this page quickly.

from dataclasses import replace

from stillome import simulate_cohort

cohort = simulate_cohort(120, "thinning", n_traits=1, random_state=0).cohort
few = slice(None, None, 2)
cohort = replace(
    cohort,
    connectomes=cohort.connectomes[:, few, few],
    regions=cohort.regions.iloc[few],
    lengths=cohort.lengths[few, few],
)
cohort

# %%
# Look at the problem first
# -------------------------
# Before anything is removed, see what motion did. The matrix has the mean of the tenth of people who moved most, minus the mean of
# the tenth who moved least. Blue is a loss. Below it stands how the number of fibres falls with motion, and how every edge
# correlates with motion (QC–SC).

from stillome.evaluate import describe_motion_effects
from stillome.plot import plot_motion_effects

effects = describe_motion_effects(cohort, "rms_mm")
plot_motion_effects(effects)

# %%
# Write the study to files
# ------------------------
# Real studies are files. ``write_cohort`` writes one matrix per person, as MRtrix3 does, with tables of motion and of traits.

import tempfile
from pathlib import Path

from stillome.io.write_cohort import write_cohort

place = Path(tempfile.gettempdir()) / "shown"
files = write_cohort(place / "study", cohort, overwrite=True)
print(*sorted(path.name for path in (place / "study").iterdir()), sep="\n")

# %%
# Run everything
# --------------
# :class:`~stillome.RunSettings` says what is asked for: only ``connectomes`` and ``motion`` are needed. ``repeats=1`` divides the
# people once instead of twice to measure the motion that is left, and ``baselines=()`` compares with no other method; both save
# time here. ``command_line`` prints the same run as a command.

from stillome import RunSettings, run_pipeline
from stillome.run import command_line

settings = RunSettings(
    connectomes=(str(files.connectomes),),
    motion=(str(files.motion),),
    confounds=("rms_mm",),
    labels=str(files.regions),
    lengths=str(files.lengths),
    repeats=1,
    baselines=(),
)
print(command_line(settings, "results").replace(str(place / "study"), "study"))
results = run_pipeline(settings, place / "first-report", overwrite=True)

# %%
# What came out
# -------------
# One folder. ``report.html`` is one file that needs no network; the connectomes without motion are in ``adjusted/``.
# :doc:`/docs/cli` lists every file.

print(*sorted(path.name for path in results.iterdir()), sep="\n")

# %%
# The verdict
# -----------
# The report begins with a verdict, which is also printed by ``stillome run``. Its first line speaks of people whom the model
# has not seen. Here it says *with care*, because 120 people are too few to notice a small rest of motion.
# :doc:`6_reading_the_report` explains every line.

from stillome.run import verdict

print(*verdict(results)[:5], sep="\n\n")

# %%
# Before and after
# ----------------
# The report has this figure and many more: fibres per person by motion, as scanned and adjusted. After adjusting, the line is flat.
#
# .. raw:: html
#
#    <p><a class="btn btn-primary" href="../../first-report/report.html">Open the report of this page</a></p>

from stillome.plot import plot_fibre_totals
from stillome.run import RunFolder

folder = RunFolder(results)
plot_fibre_totals({"as scanned": folder.motion_effects, "adjusted": folder.effects_left})
