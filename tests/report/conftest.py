"""One run, one report and one browser for all tests of the report."""

import os
import shutil
import tempfile
import time

import pytest
from selenium import webdriver

from report.run_folders import make_eventful, run_small
from stillome.report import write_report
from stillome.run import RunFolder
from stillome.simulate import simulate_cohort

REQUIRED = "STILLOME_REQUIRE_BROWSER"
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A finished run with its report; made once, also where several workers need it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    place, done = base / "finished", base / "finished.done"
    try:
        place.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 240
        while not done.exists():
            assert time.monotonic() < deadline, "the other worker has not finished the run"
            time.sleep(0.2)
        return place / "run"
    run = run_small(place, simulate_cohort(70, "thinning", n_traits=1, random_state=0))
    make_eventful(run)
    write_report(run, with_subjects=True)
    done.touch()
    return run


@pytest.fixture(scope="session")
def folder(run_folder):
    return RunFolder(run_folder)


@pytest.fixture
def copied_run(run_folder, tmp_path):
    """A copy of the run that may be damaged."""
    return shutil.copytree(run_folder, tmp_path / "run")


@pytest.fixture(scope="session")
def browser():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        if os.environ.get(REQUIRED):
            pytest.fail("no Chromium with its driver, and here they must be; run `make browser`")
        pytest.skip("no Chromium with its driver on this machine; `make browser` installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    profile = tempfile.mkdtemp(prefix="stillome-browser-")
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chromium = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chromium
    chromium.quit()
    shutil.rmtree(profile, ignore_errors=True)
