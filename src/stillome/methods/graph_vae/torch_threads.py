"""How many threads the network uses: one, since those of small layers wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from stillome.threads import one_thread


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """Let torch and the libraries of linear algebra use one thread; a decorator as well."""
    n_threads = torch.get_num_threads()
    with one_thread():
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)
