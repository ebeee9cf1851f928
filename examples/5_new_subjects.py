"""
5. New subjects and a stored model
==================================

A model that was fitted once can be applied to people who come later, here or at another place. This tutorial fits, stores and loads a
model, applies it to unseen people and to one person alone, and to people whose motion was not measured.
"""

# %%
# Fit and store
# -------------
# The model is stored as JSON and plain arrays, without pickles. It holds no connectome of a person, so that it can be given to others.
# On the command line: ``stillome fit``.

import tempfile
from pathlib import Path

from stillome import InvFA, simulate_cohort

cohort = simulate_cohort(260, "thinning", n_traits=1, random_state=3).cohort
first, later = cohort.select(range(180)), cohort.select(range(180, 260))

model = InvFA(lengths=cohort.lengths)
model.fit(first.X, first.traits["trait_1"], confounds=first.confounds("rms_mm"))
place = model.save(Path(tempfile.mkdtemp()) / "model")
print(*sorted(path.name for path in place.iterdir()), sep="\n")

# %%
# Apply it to people who come later
# ---------------------------------
# ``transform`` gives z, ``adjust`` the connectomes at motion 0, ``predict`` the trait. On the command line these are verbs of the same
# names.

loaded = InvFA.load(place)
motion = later.confounds("rms_mm")
z = loaded.transform(later.X, confounds=motion)
adjusted = loaded.adjust(later.connectomes, confounds=motion)
predicted = loaded.predict(later.X, confounds=motion)
print(z.shape, adjusted.shape, predicted.shape)

# %%
# Is motion gone in people the model has not seen?
# ------------------------------------------------
# This is the harder test, and the one that matters for later people. First edge by edge: the correlation of every edge with motion.

from dataclasses import replace

from stillome.evaluate import describe_motion_effects
from stillome.plot import plot_qcsc

records = {
    "as scanned": describe_motion_effects(later, "rms_mm").qcsc,
    "adjusted": describe_motion_effects(replace(later, connectomes=adjusted), "rms_mm").qcsc,
}
plot_qcsc(records)

# %%
# Then all edges together: single edges can look clean while a probe that sees all of them still finds motion.

from stillome import leakage_certificate

raw = leakage_certificate(later.X, motion, kind="counts", n_permutations=250)
print(leakage_certificate(adjusted, motion, kind="counts", n_permutations=250).sentence("A*", raw))

# %%
# One person alone
# ----------------
# A person gets the same answer alone and in company, whatever the order.

alone = loaded.adjust(later.connectomes[7:8], confounds=motion.iloc[7:8])
print((alone[0] == adjusted[7]).all())

# %%
# Motion that was not measured
# ----------------------------
# inv-FA infers missing motion from the connectome. The inferred value has a standard deviation; it is rougher than a measured one.

import numpy as np

inferred = loaded.infer_confounds(later.X)
r = np.corrcoef(inferred.mean[:, 0], motion["rms_mm"])[0, 1]
print(
    f"correlation of inferred and measured motion {r:.2f}, usual error {inferred.sd[0, 0]:.2f} mm"
)
unknown = loaded.adjust(later.connectomes)  # without confounds: everybody's motion is inferred
for name, found in {
    "as scanned": later.connectomes,
    "adjusted": adjusted,
    "by inferred": unknown,
}.items():
    print(f"{name}: {found.sum(axis=(1, 2)).mean() / 2:.0f} fibres per person")

# %%
# Another reference
# -----------------
# ``reference`` is the motion at which connectomes are wanted, in the unit of the column. Nobody lies perfectly still; to compare with
# scans of a careful study, adjust to its usual motion instead of 0.

at_usual = loaded.adjust(later.connectomes, confounds=motion, reference=[0.1])
print(f"{at_usual.sum(axis=(1, 2)).mean() / 2:.0f} fibres per person at 0.1 mm")
