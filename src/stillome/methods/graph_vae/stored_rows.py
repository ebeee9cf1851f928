"""Rows of subjects from which a training takes batches: in memory, or in a temporary file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stillome.counts.block_store import FileStore
from stillome.counts.edge_tables import EdgeTable, StoredTable
from stillome.methods.inv_fa.ordered_table import subject_blocks


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows (n, E) in single precision that stay in a file; those of a batch are read.

    Attributes
    ----------
    store : FileStore
        With one block, so that the edges of a subject stand beside each other.
    rows : tensor of int, shape (n,)
        Which subjects of the store these are.
    device : torch.device
        Where batches are wanted.
    """

    store: FileStore
    rows: Tensor
    device: torch.device

    @property
    def shape(self) -> tuple[int, int]:
        """(n, E)."""
        return len(self.rows), self.store.shape[1]

    def index_select(self, dim: int, chosen: Tensor) -> Tensor:
        """Read some rows, as the method of a tensor of this name does."""
        assert dim == 0
        places = self.rows[chosen.cpu()].tolist()
        read = np.concatenate([self.store.read_rows(slice(at, at + 1)) for at in places])
        return torch.from_numpy(read).to(self.device)

    def some(self, chosen: Tensor) -> "StoredRows":
        """Return some of the rows, still in the file."""
        return replace(self, rows=self.rows[chosen])

    def to(self, device: torch.device) -> "StoredRows":
        """Return the rows with their batches on a device."""
        return replace(self, device=device)


Rows: TypeAlias = Tensor | StoredRows


def rows_of(counts: EdgeTable) -> Rows:
    """Return the rows (n, E) of a table: in memory, or in a file where its blocks are.

    Examples
    --------
    >>> rows_of(EdgeTable.of(np.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not counts.plan.on_disk:
        return torch.from_numpy(np.ascontiguousarray(counts.array(), dtype=np.float32))
    table = counts if isinstance(counts, StoredTable) else counts.stored()
    store = FileStore(counts.shape, [slice(0, counts.shape[1])], np.dtype(np.float32))
    for subjects in subject_blocks(counts.shape):
        store.write_rows(subjects.start, table.subjects(subjects))
    return StoredRows(store, torch.arange(len(counts)), torch.device("cpu"))


def some_rows(values: Rows, chosen: Tensor) -> Rows:
    """Return some of the rows, where they are."""
    if isinstance(values, StoredRows):
        return values.some(chosen)
    return values.index_select(0, chosen)


def parts_of(values: Rows) -> Iterator[NDArray[Any]]:
    """Give all rows in order, a few at a time."""
    for subjects in subject_blocks((*values.shape, 1)[:2]):
        yield values.index_select(0, torch.arange(subjects.start, subjects.stop)).numpy()
