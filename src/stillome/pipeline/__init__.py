"""From files to a run folder, step by step; each step reads what the ones before it wrote."""

from stillome.pipeline.participants import apply_to_participants
from stillome.pipeline.run import run_pipeline
from stillome.pipeline.settings import RunSettings, command_line
from stillome.pipeline.verdict import verdict
from stillome.pipeline.work import Work, open_run

__all__ = [
    "RunSettings",
    "Work",
    "apply_to_participants",
    "command_line",
    "open_run",
    "run_pipeline",
    "verdict",
]
