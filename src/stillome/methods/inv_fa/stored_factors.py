"""What of a fitted `InvFA` is stored, and how it comes back."""

from stillome.methods.diagnostics import LatentDiagnostics
from stillome.methods.inv_fa.model_arrays import from_arrays, to_arrays
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.people import People
from stillome.methods.linear.component_arrays import prefixed, under
from stillome.methods.storage import ModelState
from stillome.methods.uncertain_answers import AdjustingWithIntervals

_KEPT = (
    *("n_regions_", "n_features_in_", "n_confounds_", "_one_trait"),
    *("training_hash_", "invariance_weight_"),
)


class StoredFactors(AdjustingWithIntervals):
    """The part of `InvFA` that turns it into arrays and back."""

    _full_model: InvariantModel
    model_: InvariantModel
    people_: People
    diagnostics_: LatentDiagnostics
    invariance_weight_: float
    n_iter_: dict[str, int]

    def _get_state(self) -> ModelState:
        # Of the model before weighting, so that a loaded one can be weighted anew as well.
        arrays = prefixed("model.", to_arrays(self._full_model))
        arrays |= prefixed("people.", self.people_.to_arrays())
        arrays["kl"] = self.diagnostics_.kl_per_dimension
        values = {name: getattr(self, name) for name in _KEPT}
        return ModelState(values | {"active_units": self.diagnostics_.active_units}, arrays)

    def _set_state(self, state: ModelState) -> None:
        for name in _KEPT:
            setattr(self, name, state.values[name])
        self._full_model = from_arrays(under("model.", state.arrays))
        self.model_ = self._full_model.weighted(self.invariance_weight_)
        self.people_ = People.from_arrays(under("people.", state.arrays))
        self.confound_distribution_ = self.people_.confounds
        self.n_iter_ = self.model_.n_iter
        self.diagnostics_ = LatentDiagnostics(state.arrays["kl"], int(state.values["active_units"]))
