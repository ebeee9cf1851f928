"""The paper's equations and the network that maximises them, in torch."""
