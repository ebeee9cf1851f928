"""How the networks of the studies are trained: as published, and to convergence.

*As published* are the settings of the paper's Appendix E. At its learning rates no weight can
change by more than about 0.1 in 200 epochs. So that nobody can say that the network was starved, a
second column has the same network trained to convergence: of all combinations of
`CONVERGED_CHOICES`, the one with the smallest loss of held-out subjects after `COMPARED_EPOCHS` is
trained until it improves no more (`converged_networks`). GATE, which has no λ, gets the same
learning rates.
"""

from collections.abc import Sequence
from typing import Any

from stillome.methods.contract import ConnectomeMethod

RATE, RATE_OF_SIMULATIONS = 2e-5, 5e-6  # Appendix E
CONVERGED_TRAINING: dict[str, Any] = {"learning_rate": 1e-3, "max_epochs": 400, "patience": 20}
CONVERGED_CHOICES: dict[str, Sequence[float]] = {
    "learning_rate": (1e-3, 3e-4),
    "invariance_weight": (0.1, 1.0),
}
COMPARED_EPOCHS = 40


def published_training(*, simulation: bool) -> dict[str, Any]:
    """Return learning rate, epochs, batch size and stopping as the paper has them.

    Examples
    --------
    >>> published_training(simulation=True)["learning_rate"]
    5e-06
    """
    rate = RATE_OF_SIMULATIONS if simulation else RATE
    return {"learning_rate": rate, "max_epochs": 200, "batch_size": 32, "patience": None}


def held_out_loss(model: ConnectomeMethod) -> float:
    """Return the smallest negative evidence bound of held-out subjects, in nats, over epochs.

    Without the weight of the invariance penalty, so that it can be compared between weights.
    """
    history = model.history_
    return float((history["validation_nll"] + history["validation_kl"]).min())


def settings_in_words() -> str:
    """Say with which settings every column was trained, for the page of claims."""
    choices = "; ".join(
        f"{name} {' or '.join(f'{v:g}' for v in values)}"
        for name, values in CONVERGED_CHOICES.items()
    )
    shared = "K = 68, encoder 256, R = 5, M = 2, k = 32, batch size 32, Adam"
    return "\n".join(
        [
            f"- inv-VAE (published), GATE: {shared}; learning rate {RATE:g}, "
            f"{RATE_OF_SIMULATIONS:g} for the simulations `section4` and `breakdown`; 200 epochs, "
            "no early stopping, λ = 1 (the paper prints no value; GATE has none). The weights of "
            "the epoch with the smallest loss of the 10 % validation subjects are kept.",
            f"- inv-VAE (converged), GATE (converged): the same network, at most "
            f"{CONVERGED_TRAINING['max_epochs']} epochs, stopped after "
            f"{CONVERGED_TRAINING['patience']} without improvement; {choices}, chosen by the "
            f"evidence bound of held-out subjects after {COMPARED_EPOCHS} epochs, in every fit "
            "anew. In full runs only.",
            "- inv-FA: its defaults.",
        ]
    )
