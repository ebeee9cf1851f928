"""From files to a run folder, step by step; each step reads what the ones before it wrote."""

from stillome.run.folder import RunFolder
from stillome.run.judging import verdict
from stillome.run.participants import apply_to_participants
from stillome.run.settings import RunSettings, command_line
from stillome.run.slider import Slider

__all__ = [
    "RunFolder",
    "RunSettings",
    "Slider",
    "apply_to_participants",
    "command_line",
    "verdict",
]
