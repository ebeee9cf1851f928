"""What every test of the command line leaves as it found it."""

import sys

import pytest


@pytest.fixture(autouse=True)
def the_hook_comes_back(monkeypatch):
    """Put back the hook for uncaught exceptions, which `main` replaces."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
