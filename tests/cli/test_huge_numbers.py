"""Numbers in options that no computer can serve are refused in one sentence."""

import pytest
import typer
from click.testing import CliRunner

from stillome.cli.app import app
from stillome.cohort.validation import check_count
from stillome.exceptions import InputError

HUGE = "99999999999999999999999"


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("simulate", "--subjects"),
        ("sample", "--subjects"),
        ("run", "--jobs"),
        ("run", "--repeats"),
        ("adjust", "--draws"),
        ("certify", "--permutations"),
        ("compare", "--folds"),
        ("compare", "--repeats"),
        ("compare", "--components"),
    ],
)
def test_huge_numbers_are_a_sentence(verb, option):
    done = CliRunner().invoke(typer.main.get_command(app), [verb, option, HUGE])
    assert done.exit_code == 2
    assert option in done.output and "less than or equal" in " ".join(done.output.split())


def test_huge_numbers_in_python_too():
    with pytest.raises(InputError, match="whole number ≤ 1,000,000,000"):
        check_count(int(HUGE), "n_components", minimum=1)
