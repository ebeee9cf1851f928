"""The counterfactual: the residual of a person, replayed at the reference motion."""
