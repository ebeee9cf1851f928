"""Words of the command line that stand for values are read once, and as what they mean."""

import pytest

from stillome.cli import main
from stillome.cli.given_words import parameters_of, value_of
from stillome.exceptions import InputError
from stillome.methods import make_method


@pytest.mark.parametrize(
    ("settings", "weight", "says"),
    [
        (["n_components=2", "n_components=3"], None, "--set n_components was given twice"),
        (["invariance_weight=0.5"], "1", "--invariance-weight and --set invariance_weight"),
        (["n_components"], None, "expected NAME=VALUE"),
    ],
)
def test_what_contradicts_itself_is_refused(settings, weight, says):
    with pytest.raises(InputError, match=says):
        parameters_of(settings, weight)


def test_truth_values_are_no_texts():
    assert [value_of(word) for word in ("true", "False", "FALSE")] == [True, False, False]
    with pytest.raises(InputError, match="adjusting=True; expected 'replay' or 'decode'"):
        make_method("inv-vae", adjusting=value_of("true")).check_parameters()


def test_a_wrong_option_names_the_help_of_its_verb(capsys):
    assert main(["adjust", "--nonsense"]) == 2
    assert "See `stillome adjust --help`" in capsys.readouterr().err
