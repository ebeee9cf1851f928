"""The Dask client of this process: whether there is one, and how to get one from an address."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillome.exceptions import InputError, StillomeWarning, require_extra

_SECONDS = 5  # that a scheduler has to answer


def active_client() -> Any:
    """Return the `distributed.Client` that is active here, or None.

    Nothing is imported to find out. Inside a task of a cluster there is none: a block of a block is
    computed where it is.

    Examples
    --------
    >>> active_client() is None
    True
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


@contextmanager
def jobs_on_cluster() -> Iterator[None]:
    """Let joblib give its jobs to the workers of the active client, if there is one."""
    if active_client() is None:
        yield
        return
    from joblib import parallel_config

    with parallel_config("dask"):
        yield


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Compute blocks on the cluster whose scheduler has this address; without one, as usual.

    Parameters
    ----------
    address : str or None
        For example ``tcp://192.168.0.1:8786``.

    Raises
    ------
    InputError
        If no scheduler answers within 5 s.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> with connected(None):
    ...     active_client() is None
    True
    """
    if address is None:
        yield
        return
    require_extra("distributed", "cluster", "A cluster")
    with _client(address) as client:
        if not client.nthreads():
            warnings.warn(
                f"The cluster at {address} has no workers yet; waiting for the first one.",
                StillomeWarning,
                stacklevel=3,
            )
            client.wait_for_workers(1)
        yield


def _client(address: str) -> Any:
    from distributed import Client

    try:
        # A default client that cannot start would stay the scheduler of all Dask arrays.
        Client(address, timeout=_SECONDS, set_as_default=False).close()
        return Client(address, timeout=_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"cluster={address!r}: no Dask scheduler answers there. Check the address, or start "
            "one with `dask scheduler`."
        ) from error
