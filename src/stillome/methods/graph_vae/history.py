"""The course of a training as a table."""

import pandas as pd

from stillome.methods.graph_vae.train import EpochRecord


def history_table(records: list[EpochRecord]) -> pd.DataFrame:
    """Return one row per epoch: ``epoch``, ``training_nll``, ``validation_nll`` and so on."""
    rows = []
    for record in records:
        row: dict[str, float] = {"epoch": record.epoch}
        row |= {f"training_{name}": value for name, value in record.training._asdict().items()}
        if record.validation is not None:
            checked = record.validation._asdict()
            row |= {f"validation_{name}": value for name, value in checked.items()}
        rows.append(row)
    return pd.DataFrame(rows)
