"""
8. The paper's model
====================

stillome's default, inv-FA, is a factor model. The paper whose aim it shares has a graph variational auto-encoder, inv-VAE. This tutorial
fits the network as it was published and as stillome has it, and shows where they differ. It needs torch (``pip install 'stillome[vae]'``).
"""

# %%
# A cohort whose truth is known
# -----------------------------

from stillome import InvFA, InvVAE, simulate_cohort

simulated = simulate_cohort(200, "thinning", random_state=6)
X, motion, truth = simulated.X, simulated.confounds, simulated.X_free
fitted, unseen = slice(0, 130), slice(130, None)

# %%
# As published
# ------------
# ``InvVAE.as_published()`` has the settings of the paper: Poisson counts, an encoder of log counts, a decoder that reads z and motion, and
# λ = 1. We give it a larger learning rate and 40 epochs, because at the paper's rate it needs far longer than this page may take.

published = InvVAE.as_published(learning_rate=1e-3, max_epochs=40)
published.fit(X[fitted], confounds=motion[fitted])

# %%
# ``history_`` has the parts of the loss by epoch. If KL falls to zero, z is empty (posterior collapse): an empty z shows no motion either.

from stillome.plot import plot_training

plot_training(published.history_)

# %%
# On the stages of inv-FA
# -----------------------
# ``InvVAE()`` starts at the factors of inv-FA and trains the network further, as long as that helps people who were set aside. Each
# departure from the paper is a parameter, so that every step between the two can be fitted: :doc:`/docs/model` has the list.

network = InvVAE(max_epochs=10).fit(X[fitted], confounds=motion[fitted])
factors = InvFA().fit(X[fitted], confounds=motion[fitted])
models = {"inv-VAE as published": published, "inv-VAE": network, "inv-FA": factors}

# %%
# The latents of people the models have not seen
# ----------------------------------------------
# Each point is a person. If colours are in order along a component, motion can be read from z.

from stillome.plot import plot_components

latents = {
    name: model.transform(X[unseen], confounds=motion[unseen]) for name, model in models.items()
}
plot_components({}, motion[unseen, 0], latents=latents)

# %%
# Motion and person in numbers
# ----------------------------
# The largest R² of the probes that predict motion from z, and what of the person is left in the adjusted connectome: R² with the same
# scan without motion, and the share of people whose adjusted connectome is nearest to their own.

import pandas as pd

from stillome.evaluate import fidelity_r2, identification_rate, probe_scores

rows = {}
for name, model in models.items():
    adjusted = model.adjust(X[unseen], confounds=motion[unseen])
    rows[name] = {
        "motion in z": max(probe_scores(latents[name], motion[unseen]).values()),
        "fidelity": fidelity_r2(adjusted, truth[unseen]),
        "identified": identification_rate(adjusted, truth[unseen]),
    }
pd.DataFrame(rows).T.round(2)

# %%
# One small cohort and a short training prove nothing. The ladder from the published network to ``InvVAE()``, rung by rung, on cohorts that
# development never saw, is in :doc:`/benchmarks/README`.

factors.diagnostics_.active_units, network.diagnostics_.active_units

# %%
# How much each unit of z says about a person, in nats; units at zero are empty.

from stillome.plot import plot_latent_units

kl = network.diagnostics_.kl_per_dimension
plot_latent_units(kl, network.diagnostics_.active_units)
