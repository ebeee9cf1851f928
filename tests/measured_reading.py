"""Memory and time that reading or describing one file takes: a process of its own, for the limits.

    python tests/measured_reading.py read FILE
    python tests/measured_reading.py inspect FILE

prints a line of JSON.
"""

import json
import sys
import threading
import time
import warnings
from pathlib import Path

import h5py  # noqa: F401 - libraries are loaded before memory is measured
import nibabel  # noqa: F401
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse  # noqa: F401
import zarr  # noqa: F401

from stillome.exceptions import StillomeError
from stillome.io.connectomes import read_connectomes
from stillome.io.inspection import inspect_path

MOST_TO_INSPECT, SECONDS_TO_INSPECT = 200 * 2**20, 5.0
TIMES, SLACK = 3, 60 * 2**20  # of the answer; libraries allocate a little at first use


def resident() -> int:
    """Return the bytes in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Peak:
    """The most memory in use while it is watched, above that at the start."""

    def __init__(self) -> None:
        self.first, self.most, self._done = resident(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self.most = max(self.most, resident() - self.first)

    def stop(self) -> int:
        """Return the peak."""
        self._done.set()
        self._thread.join()
        return max(self.most, resident() - self.first)


def main() -> None:
    what, path = sys.argv[1:]
    warnings.simplefilter("ignore")
    pd.DataFrame({"a": ["b"]}).to_csv()
    ids = [str(i) for i in range(500)] if path.endswith("large.npy") else None
    peak, begun, said, answer, foreign = Peak(), time.process_time(), "", 0, False
    try:
        if what == "inspect":
            inspect_path(path)
        else:
            data = read_connectomes(path, lazy=False, subjects=ids)
            answer = np.asarray(data.connectomes).nbytes
    except StillomeError as error:
        said = str(error)
    except BaseException as error:
        said, foreign = repr(error), True
    took = time.process_time() - begun
    result = {"peak": peak.stop(), "seconds": took, "answer": answer, "said": said}
    sys.stdout.write(json.dumps(result | {"foreign": foreign}) + "\n")


if __name__ == "__main__":
    main()
