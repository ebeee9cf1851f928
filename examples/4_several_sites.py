"""
4. Several sites, and a new one
===============================

Scanners differ, and their differences look like differences between people. This tutorial removes sites together with motion, and
then teaches the model a site that it has never seen.
"""

# %%
# Three scanners
# --------------
# A simulated cohort gets a site. Each site multiplies the counts of every edge by a factor of its own, which depends on the two
# regions. The third site is set aside: it joins later.

from dataclasses import replace

import numpy as np

from stillome import simulate_cohort

simulated = simulate_cohort(260, "thinning", random_state=2)
cohort = simulated.cohort
rng = np.random.default_rng(0)
site = rng.choice(["Basel", "Osaka", "Utrecht"], cohort.n_subjects, p=[0.5, 0.3, 0.2])
region_effects = dict(zip(("Osaka", "Utrecht"), rng.normal(-0.1, 0.12, (2, 68)), strict=True))


def scanned_at(where, counts):
    """Return the counts of one person as a site finds them."""
    if where not in region_effects:
        return counts
    of_regions = region_effects[where]
    kept = np.exp(np.minimum(of_regions[:, None] + of_regions, 0))
    found = np.triu(rng.binomial(counts, kept), k=1)
    return found + found.T


connectomes = np.stack(
    [scanned_at(where, counts) for where, counts in zip(site, cohort.connectomes, strict=True)]
)
cohort = replace(cohort, connectomes=connectomes, traits=cohort.traits.assign(site=site))
known, new = cohort.select(site != "Utrecht"), cohort.select(site == "Utrecht")
print(known.n_subjects, "people at two sites;", new.n_subjects, "at the new one")

# %%
# Remove motion and site together
# -------------------------------
# ``confounds("rms_mm", "site")`` makes numbers of both: text becomes one column for each level but the most frequent, and everybody is
# adjusted to that one. On the command line: ``--confound rms_mm --confound site --traits participants.tsv``.

from stillome import InvFA

confounds = known.confounds("rms_mm", "site")
print(confounds.head(3))
train, test = known.split(test_size=0.4)
model = InvFA().fit(train.X, confounds=confounds.loc[list(train.subject_ids)])

# %%
# People whom the model has not seen, before and after. Motion and site are probed together; the AUC of a probe that is asked for the
# site is 0.5 if it cannot be told.

from stillome import leakage_certificate
from stillome.plot import plot_leakage

there = confounds.loc[list(test.subject_ids)]
adjusted = model.adjust(test.X, confounds=there)
raw = leakage_certificate(test.X, there, kind="counts", n_permutations=250)
after = leakage_certificate(adjusted, there, kind="counts", n_permutations=250)
for name, found in {"as scanned": raw, "adjusted": after}.items():
    print(f"{name}: largest R² {found.worst_r2:.2f}, largest AUC {found.table['auc'].max():.2f}")
plot_leakage({"raw": raw.table, "inv-fa": after.table}, others=["site"])

# %%
# A site that training never saw
# ------------------------------
# ``adapt`` estimates what a new site does from at least ten people who were scanned there. Nothing of the fitted model changes; the
# copy has one confound more, which is 1 for scans of the new site. On the command line: ``stillome adapt``.

half = new.n_subjects // 2
at_known_sites = np.column_stack([new.motion["rms_mm"], np.zeros(new.n_subjects)])
wiser = model.adapt(new.X[:half], confounds=at_known_sites[:half])
true = np.add.outer(region_effects["Utrecht"], region_effects["Utrecht"])
true = np.minimum(true, 0)[np.triu_indices(68, k=1)]
print(
    f"mean effect on the log rate of an edge: true {true.mean():+.2f}, "
    f"learned from {half} people {wiser.site_effect_.mean:+.2f}"
)

# %%
# The other people of the new site, with the truth that only a simulation has: without ``adapt``, the adjusted connectomes keep what the
# new site does.

from stillome.evaluate import fidelity_r2
from stillome.plot import plot_edge_means

truth = simulated.X_free[site == "Utrecht"][half:]
later = new.connectomes[half:]
without = model.adjust(later, confounds=at_known_sites[half:])
there = np.column_stack([at_known_sites[half:], np.ones(len(later))])
with_it = wiser.adjust(later, confounds=there)
upper = np.triu_indices(68, k=1)
for name, matrices in {
    "as scanned": later,
    "without adapt": without,
    "with adapt": with_it,
}.items():
    print(f"{name}: R² with the motion-free scans {fidelity_r2(matrices[:, *upper], truth):.2f}")

# %%
plot_edge_means(
    {"without adapt": without.mean(axis=0), "with adapt": with_it.mean(axis=0)}, new.regions
)
