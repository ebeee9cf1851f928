"""The departures of `InvVAE` from the paper, and the settings as published."""

from dataclasses import dataclass, fields
from typing import Any, Self

from stillome.exceptions import InputError

# Table 1 and Appendix E. Of the two learning rates of Appendix E, that of the real data: 2e-5 (its
# simulations use 5e-6). The paper does not print λ; 1 gives the bound the weight of the likelihood.
PUBLISHED: dict[str, Any] = {
    "n_components": 68,
    "likelihood": "poisson",
    "encoder_input": "log-counts",
    "motion_effect": "concatenated",
    "decoder": "graph",
    "adjusting": "decode",
    "hidden": (256,),
    "n_dimensions": 5,
    "n_layers": 2,
    "n_neighbors": 32,
    "invariance_weight": 1.0,
    "n_samples": 1,
    "learning_rate": 2e-5,
    "batch_size": 32,
    "max_epochs": 200,
    "validation_fraction": 0.1,
    "patience": None,
    "gradient_clip": None,
}
CHOICES = {
    "likelihood": ("negative-binomial", "poisson"),
    "encoder_input": ("residual", "log-counts"),
    "motion_effect": ("pooled", "concatenated", "none"),
    "decoder": ("linear+graph", "graph"),
    "adjusting": ("replay", "decode"),
}
# The linear path starts at the factors, which are factors of these.
_FACTORS_NEED = {
    "likelihood": "negative-binomial",
    "encoder_input": "residual",
    "motion_effect": "pooled",
}


@dataclass(frozen=True)
class Departures:
    """Where a model departs from the paper; the values are those of the parameters."""

    likelihood: str
    encoder_input: str
    motion_effect: str
    decoder: str
    adjusting: str

    @classmethod
    def of(cls, model: Any) -> Self:
        """Validate the parameters of an `InvVAE`.

        Raises
        ------
        InputError
            Naming the parameter that cannot be used, or that does not go with another.
        """
        chosen = {item.name: getattr(model, item.name) for item in fields(cls)}
        for name, value in chosen.items():
            if value not in CHOICES[name]:
                words = " or ".join(repr(word) for word in CHOICES[name])
                raise InputError(f"{name}={value!r}; expected {words}.")
        if chosen["decoder"] == "linear+graph":
            for name, needed in _FACTORS_NEED.items():
                if chosen[name] != needed:
                    raise InputError(
                        f"decoder='linear+graph' starts at the factors, which need "
                        f"{name}={needed!r}, not {chosen[name]!r}. Set decoder='graph'."
                    )
        departures = cls(**chosen)
        if chosen["motion_effect"] == "none" and departures._departs:
            raise InputError(
                "motion_effect='none' is the network without motion, as published: there is "
                "nothing to replay. Set motion_effect='concatenated' or 'pooled'."
            )
        return departures

    @property
    def _departs(self) -> bool:
        names = ("likelihood", "encoder_input", "decoder", "adjusting")
        return any(getattr(self, name) != PUBLISHED[name] for name in names)

    @property
    def on_stages(self) -> bool:
        """Whether the network stands on the stages of inv-FA; else it is the paper's alone."""
        return self._departs or self.motion_effect == "pooled"
