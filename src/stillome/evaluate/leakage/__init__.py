"""Leakage: probes that predict motion from features, and the certificate made of them."""
