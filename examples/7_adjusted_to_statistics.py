"""
7. From adjusted connectomes to statistics
==========================================

An adjusted connectome is an estimate. This tutorial carries its uncertainty into a regression, with several draws and Rubin's rules, and
shows a false finding that disappears.
"""

# %%
# A score that goes with motion, and nothing else
# -----------------------------------------------
# 240 people are simulated. We make up a score of impulsivity that is associated with motion only: impulsive people move more. Its true
# association with the brain is zero. The model is fitted to 140 people; the other 100 are analysed.

import numpy as np

from stillome import InvFA, simulate_cohort

simulated = simulate_cohort(240, "thinning", random_state=5)
cohort, motion = simulated.cohort, simulated.confounds
rng = np.random.default_rng(1)
moved = (np.log(motion[:, 0]) - np.log(motion[:, 0]).mean()) / np.log(motion[:, 0]).std()
impulsivity = 0.8 * moved + 0.6 * rng.standard_normal(cohort.n_subjects)

fitted, studied = slice(0, 140), slice(140, None)
model = InvFA(lengths=cohort.lengths).fit(cohort.X[fitted], confounds=motion[fitted])
raw, score = cohort.connectomes[studied], impulsivity[studied]

# %%
# One answer per person
# ---------------------
# ``adjust`` gives one connectome per person. Use it for pictures, prediction and the certificate. Here is the person who moved most.

from stillome.plot import plot_subject

adjusted = model.adjust(raw, confounds=motion[studied])
most = int(motion[studied].argmax())
plot_subject(raw[most], adjusted[most], cohort.regions, name="The person who moved most")

# %%
# Every edge
# ----------
# Impulsive people have fewer fibres as scanned: the figure shows the third with the highest scores minus the third with the lowest. After
# adjusting, what is left is what 100 people give by chance, as in the scans without motion, which only a simulation has.

from stillome.plot import plot_edge_differences

truth = simulated.motion_free[studied]
low, high = np.quantile(score, [1 / 3, 2 / 3])
analysed = {"as scanned": raw, "adjusted": adjusted, "without motion (truth)": truth}
plot_edge_differences(
    {
        name: connectomes[score >= high].mean(axis=0) - connectomes[score <= low].mean(axis=0)
        for name, connectomes in analysed.items()
    },
    cohort.regions,
    label="fibres: highest third − lowest third of the score",
)

# %%
# How many edges have a rank correlation with the score, at a false discovery rate of 5 %?

from scipy.stats import false_discovery_control, pearsonr, rankdata

for name, connectomes in analysed.items():
    edges = connectomes[:, *np.triu_indices(68, k=1)]
    ranks = rankdata(edges[:, edges.std(axis=0) > 0], axis=0)
    p = pearsonr(ranks, rankdata(score)[:, None], axis=0).pvalue
    print(f"{name}: {(false_discovery_control(p) <= 0.05).sum()} edges")

# %%
# Several draws
# -------------
# How many streamlines motion took is not known exactly, nor which. ``n_draws=5`` returns five connectomes per person, each with all that
# is not known drawn anew. Draw 3 of one person belongs with draw 3 of another, because both have the same error of the motion effect.

draws = model.adjust(raw, confounds=motion[studied], n_draws=5)
print(draws.shape, "draws, people, regions, regions")

# %%
# Rubin's rules
# -------------
# Analyse each draw as if it were the data. The variance of the estimate is the mean squared standard error, plus the variance between draws.
# The second part is the uncertainty of the adjustment, which a single answer hides.

from scipy.stats import linregress


def slope(connectomes):
    """Regress fibres per person (in thousands) on the score; return the slope and its variance."""
    fit = linregress(score, connectomes.sum(axis=(1, 2)) / 2000)
    return fit.slope, fit.stderr**2


def pooled(estimates):
    """Join the estimates of several draws."""
    values, variances = np.transpose(estimates)
    between = values.var(ddof=1) if len(values) > 1 else 0.0
    return values.mean(), np.sqrt(variances.mean() + (1 + 1 / len(values)) * between)


for name, estimates in {
    "as scanned": [slope(raw)],
    "adjusted, one answer": [slope(adjusted)],
    "adjusted, five draws": [slope(draw) for draw in draws],
    "without motion (truth)": [slope(truth)],
}.items():
    estimate, error = pooled(estimates)
    print(f"{name}: {estimate:+.2f} ± {error:.2f} thousand fibres per point")

# %%
# Bounds for single edges
# -----------------------
# ``interval=0.9`` also returns bounds for every edge. Bounds of a total or of a graph measure are quantiles of that measure over draws,
# never sums of the bounds of edges.

answer = model.adjust(raw, confounds=motion[studied], interval=0.9)
many = truth >= 10
inside = (answer.lower <= truth) & (truth <= answer.upper)
print(f"{inside[many].mean():.0%} of the true counts of at least 10 lie within their bounds")

# %%
# :doc:`/docs/model` says when Rubin's rules are right and when they are not. If the score is associated with motion *through biology*, it
# must be kept (``covariates_to_keep``); no draw brings back what was removed.
