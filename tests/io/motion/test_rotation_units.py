import numpy as np
import pytest

from stillome.exceptions import InputError
from stillome.io.motion.rotation_units import rotations_to_radians


def test_rotations_that_look_like_degrees_are_asked_about():
    with pytest.raises(InputError, match=r"a\.par: rotations up to 2\.1; looks like degrees"):
        rotations_to_radians([0.1, -2.1, np.nan], name="a.par")
    assert rotations_to_radians([2.1], unit="rad").tolist() == [2.1]
    assert rotations_to_radians([90], unit="deg") == pytest.approx([np.pi / 2])
    assert rotations_to_radians([]).shape == (0,)
    with pytest.raises(InputError, match="rotation_unit='grad'"):
        rotations_to_radians([0.1], unit="grad")
