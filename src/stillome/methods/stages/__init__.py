"""Stages that inv-FA and inv-VAE share: the effect of motion, and the replay."""
