"""The parts of `InvFA`: motion's effect on every edge, the person's own part, the counterfactual.

In the order in which they are used: `basis` (smooth functions of motion), `effect` (what motion
does to each edge, by likelihood), `pooling` (what edges learn from each other about it), `moments`
(what a count is expected to be on the log scale), `factors` (the person: encoder and decoder),
`counterfactual` (the same scan at another motion), `inference` (motion that was not measured),
`people` (how the training subjects are spread). `training` says whom a fit can use, `cautions`
what a reader must know.
"""
