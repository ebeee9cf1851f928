"""inv-FA with a network for the person: what `InvVAE` is where it departs from the paper."""

from dataclasses import replace

import numpy as np

from stillome.methods.graph_vae.network_model import NetworkModel
from stillome.methods.graph_vae.person_fit import PersonFit
from stillome.methods.graph_vae.preparation import Standardizer
from stillome.methods.inv_fa.canonical_order import subject_order
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.inv_fa.new_site import SiteEffect, with_site
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.people import People
from stillome.methods.inv_fa.training_subjects import KnownSubjects
from stillome.methods.linear.component_arrays import prefixed, under
from stillome.methods.storage import ModelState


class ReplayedNetwork(InvFA):
    """The stages of `InvFA` with a `PersonFit` in place of the factors alone.

    Its answers are those of `InvFA`; only the person part, and with it what is stored, differ.
    """

    def train(self, known: KnownSubjects, person: PersonFit, sizes: dict[str, int]) -> None:
        """Fit to subjects with known motion.

        Parameters
        ----------
        known : KnownSubjects
        person : PersonFit
            Its traits are set here.
        sizes : dict
            ``n_regions_``, ``n_features_in_``, ``n_confounds_`` and ``_one_trait``.
        """
        self._set_sizes(sizes)
        order = subject_order(known.edges, known.motion)
        none = np.empty((len(order), 0))
        person.traits = none if known.traits is None else known.traits[order]
        self._person = person
        try:
            self._full_model, _ = self._fit_model(known)
        finally:
            self._person = None
        self._use_weight(1.0, known)

    @property
    def network_model(self) -> NetworkModel:
        """The stages with their network."""
        model: InvariantModel = self._full_model
        assert isinstance(model, NetworkModel)
        return model

    def _model_with(self, site: SiteEffect) -> InvariantModel:
        model = self.network_model
        known = model.person.confounds
        # The network does not read the confounds: the dummy needs no scale of its own.
        scale = Standardizer(np.append(known.center, 0.0), np.append(known.scale, 1.0))
        return replace(
            with_site(model, site),
            person=model.person._replace(confounds=scale),
            remaining=model.remaining.with_function(),
        )

    @property
    def _name(self) -> str:
        return "InvVAE"

    def _set_sizes(self, sizes: dict[str, int]) -> None:
        for name, value in sizes.items():
            setattr(self, name, value)

    def state(self) -> ModelState:
        """Return everything as plain values and arrays, for storage."""
        values, arrays = self.network_model.state()
        return ModelState(values, arrays | prefixed("people.", self.people_.to_arrays()))

    def restore(self, state: ModelState, sizes: dict[str, int]) -> None:
        """Rebuild what `state` gave."""
        self._set_sizes(sizes)
        self._full_model = self.model_ = NetworkModel.from_state(state.values, state.arrays)
        self.people_ = People.from_arrays(under("people.", state.arrays))
        self.confound_distribution_ = self.people_.confounds
        self.n_iter_ = self.model_.n_iter
        self.invariance_weight_ = 1.0
