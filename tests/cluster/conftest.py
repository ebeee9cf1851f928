"""Two workers in processes of their own, started once; what they share is in one folder."""

import tempfile

import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two:
        yield two


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def client(cluster, shared):
    with Client(cluster) as active:
        active.wait_for_workers(2)
        yield active
