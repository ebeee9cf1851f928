"""The paper's networks trained to convergence, their training chosen on held-out subjects."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.model_selection import ParameterGrid

from stillome import InvVAE
from stillome.exceptions import FitError
from stillome.methods.graph_vae.estimator import GraphVAE
from stillome.methods.graph_vae.gate import GATE
from stillome.studies.network_training import COMPARED_EPOCHS, CONVERGED_CHOICES, held_out_loss


class ChosenTraining(GraphVAE):
    """A network whose `fit` compares trainings first, and goes through with the best.

    Every one of `choices` is trained for `COMPARED_EPOCHS`; the smallest loss of held-out
    subjects, who are among those `fit` is given, decides. If the best diverges later, the next one
    is gone through with. Parameters are as before afterwards, and
    `chosen_` says what was chosen.
    """

    choices: ClassVar[dict[str, Sequence[float]]]
    chosen_: dict[str, float]

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **given: Any) -> Self:
        """Choose, and train to convergence; arguments as for the network itself.

        Raises
        ------
        FitError
            If every training diverges.
        """
        tried = []
        for chosen in ParameterGrid(self.choices):
            few = {"max_epochs": min(COMPARED_EPOCHS, self.max_epochs)}
            try:
                self._fit_with(chosen | few, X, y, **given)
                tried.append((held_out_loss(self), chosen))
            except FitError as error:
                diverged = error
        for _, chosen in sorted(tried, key=lambda found: found[0]):
            try:
                self.chosen_ = chosen
                return self._fit_with(chosen, X, y, **given)
            except FitError as error:  # later than it was compared
                diverged = error
        raise diverged

    def _fit_with(
        self, parameters: dict[str, Any], X: ArrayLike, y: ArrayLike | None, **given: Any
    ) -> Self:
        with self._set_for_now(**parameters):
            return super().fit(X, y, **given)

    @contextmanager
    def _set_for_now(self, **parameters: Any) -> Iterator[None]:
        own = {name: getattr(self, name) for name in parameters}
        self.set_params(**parameters)
        try:
            yield
        finally:
            self.set_params(**own)


class ConvergedInvVAE(ChosenTraining, InvVAE):
    """inv-VAE as published, trained to convergence: learning rate and λ are chosen."""

    choices = CONVERGED_CHOICES


class ConvergedGATE(ChosenTraining, GATE):
    """GATE trained to convergence; it has no λ."""

    choices: ClassVar = {"learning_rate": CONVERGED_CHOICES["learning_rate"]}
