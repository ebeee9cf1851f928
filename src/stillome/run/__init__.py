"""From files to a run folder, step by step; each step reads what the ones before it wrote."""

from stillome.run.console_verdict import verdict
from stillome.run.folder import Work, open_run
from stillome.run.participants import apply_to_participants
from stillome.run.pipeline import run_pipeline
from stillome.run.settings import RunSettings, command_line

__all__ = [
    "RunSettings",
    "Work",
    "apply_to_participants",
    "command_line",
    "open_run",
    "run_pipeline",
    "verdict",
]
