"""Whether motion can be read from features: probes, and the certificate made of them."""
