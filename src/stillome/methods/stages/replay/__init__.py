"""The counterfactual: a subject's residuals, replayed at the reference motion."""
