"""New subjects for a fitted model: its regions and confounds are found by name."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.reference import GivenReference, resolve_reference
from stillome.cohort.reordered_matrices import reordered
from stillome.cohort.stored_matrices import NpyRows, StoredMatrices
from stillome.cohort.validation.sliced import is_sliced
from stillome.methods.answer_place import dtype_of_adjusted, reads_slices
from stillome.methods.fitted import FittedModel
from stillome.methods.uncertain_answers import AdjustedConnectomes
from stillome.persistence import read_array
from stillome.run.inferred_motion import InfersMotion, inferred_motion, warn_of_inferred
from stillome.run.study_files import StudyData, StudyFiles, read_study
from stillome.run.subject_tables import PathLike


@dataclass(frozen=True, eq=False)
class NewSubjects:
    """Subjects that a fitted model is applied to.

    Attributes
    ----------
    fitted : FittedModel
    study : StudyData
        As it was read.
    order : array of shape (V,)
        Where each region of the model stands among those that were read.
    confounds : array of shape (n, C), or None
        NaN where unknown; None if neither motion nor traits were named.
    """

    fitted: FittedModel
    study: StudyData
    order: NDArray[np.intp]
    confounds: Floats | None

    @property
    def connectomes(self) -> Any:
        """Connectomes (n, V, V), regions in the model's order; large ones stay in their file."""
        return reordered(self.study.cohort.connectomes, self.order)

    @cached_property
    def inferred(self) -> pd.DataFrame:
        """Confounds that were not known and are inferred; see `inferred_motion`."""
        ids = self.study.cohort.subject_ids
        return inferred_motion(
            self.fitted.model, self.fitted.coding, ids, self.connectomes, self.confounds
        )

    def latents(self) -> pd.DataFrame:
        """Return the representation, one row per subject and a column per latent, ``z_1`` first."""
        with self.fitted.coding.naming(self.study.cohort.subject_ids):
            latents = self.fitted.model.transform(self.connectomes, confounds=self.confounds)
        names = [f"z_{k + 1}" for k in range(latents.shape[1])]
        return pd.DataFrame(latents, index=self.study.index, columns=names)

    def predictions(self) -> pd.DataFrame:
        """Return the predicted traits, one row per subject, in the units of the fit."""
        with self.fitted.coding.naming(self.study.cohort.subject_ids):
            predicted = self.fitted.model.predict(self.connectomes, confounds=self.confounds)
        values = np.reshape(predicted, (len(predicted), -1))
        return pd.DataFrame(values, index=self.study.index, columns=list(self.fitted.traits))

    @overload
    def adjusted(
        self, reference: GivenReference = ..., *, interval: None = ..., **more: Any
    ) -> NDArray[Any]: ...

    @overload
    def adjusted(
        self, reference: GivenReference = ..., *, interval: float, **more: Any
    ) -> AdjustedConnectomes: ...

    def adjusted(
        self,
        reference: GivenReference = (0.0,),
        *,
        interval: float | None = None,
        **more: Any,
    ) -> NDArray[Any] | AdjustedConnectomes:
        """Return connectomes at the reference, regions in the order in which they were read.

        Parameters
        ----------
        reference : sequence of float, or mapping of str to float or str
            As for `resolve_reference`.
        interval : float, optional
            As for the model's ``adjust``; also return bounds.
        **more
            Further arguments of it (``n_draws``).

        Returns
        -------
        array, or AdjustedConnectomes with ``interval``
        """
        if interval is not None:
            more["interval"] = interval
        level = resolve_reference(self.fitted.coding, reference)
        with self.fitted.coding.naming(self.study.cohort.subject_ids):
            answer = self.fitted.model.adjust(
                self.connectomes, confounds=self.confounds, reference=level, **more
            )
        back = np.argsort(self.order)
        if isinstance(answer, AdjustedConnectomes):
            return AdjustedConnectomes(*(reordered(one, back) for one in answer))
        return np.asarray(reordered(answer, back))

    @property
    def stay_in_file(self) -> bool:
        """Whether connectomes are read in slices, and can be adjusted by `adjusted_in`."""
        return is_sliced(self.connectomes) and reads_slices(self.fitted.model)

    def adjusted_in(self, place: Path, reference: GivenReference = (0.0,), **asked: Any) -> Any:
        """Write adjusted connectomes to a `.npy` file as they are made; return them, in the file.

        Parameters
        ----------
        place : pathlib.Path
        reference, **asked
            As for `adjusted`.
        """
        X, model = self.connectomes, cast(Any, self.fitted.model)
        level = resolve_reference(self.fitted.coding, reference)
        with (
            self.fitted.coding.naming(self.study.cohort.subject_ids),
            NpyRows(place, X.shape, dtype_of_adjusted(X)) as out,
        ):
            model.adjust(X, confounds=self.confounds, reference=level, out=out, **asked)
        written = StoredMatrices(read_array(place, memory_map=True))
        return reordered(written, np.argsort(self.order))


def read_new_subjects(
    fitted: FittedModel,
    files: StudyFiles,
    *,
    dropped: PathLike | None = None,
    overwrite: bool = False,
) -> NewSubjects:
    """Read subjects for a fitted model.

    Parameters
    ----------
    fitted : FittedModel
    files : StudyFiles
        Without motion and traits, the confounds are unknown. A method that infers motion does so
        for every subject without; other methods leave out subjects without motion. Traits are
        read only if the model removes a column of them (site, scanner).
    dropped, overwrite
        As for `read_study`.

    Raises
    ------
    FileError, InputError
        If something cannot be read, or the regions or columns are not those of the model.

    Warns
    -----
    StillomeWarning
        If subjects were left out, the connectomes hold another measure than those of the fit, or
        motion is inferred: of whom, and how sure it is.
    """
    others = fitted.coding.others if files.motion or files.traits else ()
    needed = files if others else replace(files, traits=())
    infers = isinstance(fitted.model, InfersMotion)
    study = read_study(
        needed,
        others,
        measures=fitted.coding.motion,
        motion_needed="nothing" if infers else "value",
        dropped=dropped,
        overwrite=overwrite,
    )
    fitted.warn_of_other_measure(study.data.measure)
    order = fitted.order_of(list(study.cohort.regions["name"]))
    motion, traits = (
        table if len(table.columns) else None
        for table in (study.cohort.motion, study.cohort.traits)
    )
    confounds = fitted.confounds_of(motion, traits)
    if confounds is None and infers:
        confounds = np.full((study.cohort.n_subjects, len(fitted.confounds)), np.nan)
    new = NewSubjects(fitted, study, order, confounds)
    warn_of_inferred(new.inferred, fitted.model, fitted.coding)
    return new
