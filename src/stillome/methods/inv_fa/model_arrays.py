"""A fitted model as named arrays, for storage, and back."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.encoder import FactorEncoder
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.own_units import OwnUnits
from stillome.methods.stages.motion_effect.basis import MotionBasis
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.presence import Presence
from stillome.methods.stages.replay.small_values import SmallValues
from stillome.methods.stages.replay.support import Support
from stillome.methods.stages.replay.zeros import ZeroModel


def to_arrays(part: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a dataclass of arrays and such dataclasses, by dotted names."""
    arrays: dict[str, NDArray[Any]] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if is_dataclass(value):
            arrays |= to_arrays(value, f"{prefix}{item.name}.")
        else:
            arrays[prefix + item.name] = np.asarray(value)
    return arrays


def from_arrays(arrays: dict[str, NDArray[Any]]) -> InvariantModel:
    """Rebuild a model from what `to_arrays` gave."""
    parts: dict[str, Any] = {
        "basis": MotionBasis,
        "effect": MotionEffect,
        "encoder": FactorEncoder,
        "decoder": Decoder,
        "zeros": ZeroModel,
        "presence": Presence,
        "small": SmallValues,
        "support": Support,
        "inference": ConfoundInference,
        "calibration": Calibration,
        "own_units": OwnUnits,
    }
    built = {
        name: kind(**{item.name: arrays[f"{name}.{item.name}"] for item in fields(kind)})
        for name, kind in parts.items()
    }
    for item in fields(InvariantModel):
        if item.name not in built:
            built[item.name] = arrays[item.name]
    return InvariantModel(**built)
