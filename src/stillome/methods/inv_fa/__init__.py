"""The parts of `InvFA`, above the stages that it shares with other methods.

In the order of a fit: `canonical_order` (the result does not depend on the order of the data),
`weights` (connectomes that are not counts), `moments` and `encoder` (z, by factor analysis),
`spreads` (how variances change with motion), `decoder` and `susceptibility` (counts given z and
motion), `inference` (motion that was not measured). `model_fit` fits them in this order, in rounds
where zeros are more than counts of 0. `parts` joins them to one model, `adjusting` applies it,
`tuning` holds the constants that can be varied. `training_subjects` selects the subjects of a fit,
`people` describes their distribution.
"""
