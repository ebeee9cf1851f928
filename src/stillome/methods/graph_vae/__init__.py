"""The paper's graph variational auto-encoder in torch: inv-VAE and GATE."""

from stillome.exceptions import require_extra

# Every module of this folder is imported through this one, so that one check is enough.
require_extra("torch", "vae", "The network of inv-vae and gate")
