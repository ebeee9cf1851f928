"""The parts of `InvFA`, above the stages that it shares with other methods.

In the order of a fit: `canonical_order` (the result does not depend on the order of the data),
`weights` (connectomes that are not counts), `moments` and `encoder` (z, by factor analysis),
`spreads` (how variances change with motion), `decoder` and `susceptibility` (counts given z and
motion), `inference` (motion that was not measured). `parts` joins them to one model, `adjusting`
applies it, `tuning` holds all constants. `training_subjects` selects the subjects of a fit,
`people` describes their distribution, `frontier` chooses the invariance weight, `cautions` warns.
"""
