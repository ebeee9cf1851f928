"""Which commit of stillome made a result, where it runs from a clone."""

import subprocess
from pathlib import Path


def source_commit() -> str | None:
    """Return the commit of the source that runs, with "and changes" if there are any; else None.

    None where stillome was installed without its repository, or git is missing.
    """
    here = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(here), *words]  # no word is from outside this module
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        commit = git("rev-parse", "--short=12", "HEAD")
        return f"{commit} and changes" if git("status", "--porcelain", "--", str(here)) else commit
    except (OSError, subprocess.CalledProcessError):
        return None
