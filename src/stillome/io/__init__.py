"""Readers and writers, named after the tool that writes the file.

`read_connectomes`, `read_motion` and `read_traits` read the output of a pipeline into one record
each. `read_cohort` joins them by subject. `write_connectomes` writes results.
"""

from stillome.io.cohorts import read_cohort
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import read_connectomes
from stillome.io.inspection import inspect_path
from stillome.io.motion.summary import read_motion
from stillome.io.tables.phenotypes import read_table, read_traits
from stillome.io.write import write_connectomes, write_described_table

__all__ = [
    "ConnectomeData",
    "inspect_path",
    "read_cohort",
    "read_connectomes",
    "read_motion",
    "read_table",
    "read_traits",
    "write_connectomes",
    "write_described_table",
]
