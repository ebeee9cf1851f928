"""When iterations stop, and what is said when they do not."""

import numpy as np
import pytest

from stillome.exceptions import StillomeWarning
from stillome.methods.stages.convergence import (
    Iterations,
    Relaxation,
    in_standard_errors,
)
from stillome.methods.stages.stage_tuning import StageTuning


def count(iterations: Iterations, stage: str, shrink: float) -> None:
    change = 1.0
    for _ in iterations.of(stage):
        change *= shrink
        if iterations.converged(change):
            break


def test_iterations_are_counted_by_stage_and_the_most_is_kept():
    iterations = Iterations(StageTuning(tolerance=0.1))
    for stage, shrink in (("first", 0.5), ("second", 0.01), ("first", 0.01)):
        count(iterations, stage, shrink)
    assert iterations.n_iter == {"first": 4, "second": 1}


def test_a_stage_that_does_not_converge_is_named():
    iterations = Iterations(StageTuning(max_iter=7))
    with pytest.warns(StillomeWarning, match="'slow' of the fit did not converge in 7 iterations"):
        count(iterations, "slow", 1.0)


def test_parameters_without_information_do_not_count():
    assert in_standard_errors(np.ones(3), np.zeros(3)) == 0
    assert in_standard_errors([0.5, 100.0], [4.0, 0.0]) == 1


@pytest.mark.parametrize("too_far", [1.5, 1.99, 3.0])
def test_relaxed_steps_converge_where_whole_steps_alternate(too_far):
    slopes = np.array([[too_far, 1.0], [too_far, 1.0]])
    target, value, relax = (
        np.array([[1.0, -2.0], [0.3, 5.0]]),
        np.zeros((2, 2)),
        Relaxation(axis=()),
    )
    whole = np.zeros((2, 2))
    for _ in range(12):
        value = value + relax(slopes * (target - value))
        whole = whole + slopes * (target - whole)
    assert np.abs(value - target).max() < 1e-6
    assert too_far == 1.5 or np.abs(whole - target).max() > 0.1


def test_steps_in_one_direction_are_not_shortened():
    relax = Relaxation(axis=None)
    for size in (1.0, 1.1, 1.3, 0.9):
        step = np.full(3, size)
        assert (relax(step) == step).all()


def test_an_iteration_that_only_refines_ends_without_a_warning():
    iterations = Iterations()
    assert list(iterations.of("refining", at_most=3, refines=True)) == [1, 2, 3]
    assert iterations.n_iter == {"refining": 3}
    assert len(list(iterations.of("long", at_most=10**6, refines=True))) == iterations.max_iter


def test_a_stage_with_a_smaller_limit_warns_there():
    with pytest.warns(StillomeWarning, match="did not converge in 3 iterations"):
        assert list(Iterations().of("short", at_most=3)) == [1, 2, 3]
