"""No cell of a table that is written starts a formula, and every table is read back as it was."""

import pandas as pd
import pytest

from stillome.exceptions import InputError
from stillome.io.subject_ids import normalise_id
from stillome.io.tables.phenotypes import read_table as read_phenotypes
from stillome.persistence import column_dtypes, read_table, write_table
from stillome.run.run_tables import Columns, read_run_table

TEXTS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "'=quoted", "it's", "-5", "plain", ""]
TABLE = pd.DataFrame({"=name": TEXTS, "value": range(9), "x": [None, *TEXTS[1:]]})


def written(tmp_path):
    path = tmp_path / "table.tsv"
    write_table(path, TABLE)
    return path


def test_no_cell_starts_a_formula(tmp_path):
    cells = [
        cell for line in written(tmp_path).read_text().split("\n") for cell in line.split("\t")
    ]
    risky = [cell for cell in cells if cell.strip('"')[:1] in ("=", "+", "@", "-")]
    assert set(risky) <= {"-5"}


def test_tables_are_read_back_as_they_were(tmp_path):
    back = read_table(written(tmp_path), dtypes=column_dtypes(TABLE))
    assert back["=name"].tolist() == TEXTS and back["x"].tolist()[1:] == TEXTS[1:]
    run = read_run_table(written(tmp_path), Columns(text=("=name",)))
    assert run["=name"].tolist() == TEXTS


def test_a_table_of_subjects_is_read_back_too(tmp_path):
    path = tmp_path / "participants.tsv"
    write_table(path, pd.DataFrame({"participant_id": ["a", "b"], "site": ["=1+1", "@home"]}))
    assert read_phenotypes(path)["site"].tolist() == ["=1+1", "@home"]


def test_ids_that_are_formulas_are_refused():
    with pytest.raises(InputError, match="a formula in a spreadsheet"):
        normalise_id("sub-=HYPERLINK(1)")
