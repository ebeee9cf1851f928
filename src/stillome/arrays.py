"""Names for the array types that signatures use."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
