"""The effect of motion on every edge: basis, likelihood, pooling over edges."""
