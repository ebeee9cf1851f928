"""Section 5.1 and Appendix G of the paper: connectomes before and after adjustment for motion.

Figure 4: edge means, differences between motion groups and principal components, for what was
observed, GATE, inv-VAE as published and inv-FA. Figure 5: the 15 edges that changed most.
Figures A4 to A6: the same for a confound of two dimensions, residual translation and rotation. The
correction-scale figure: how much adjustment changes those who moved little and much, as histograms
and by edge. ``measures_*.tsv`` is explained in `studies.applied`.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from stillome.cohort.edges import edges_to_matrices
from stillome.plot import (
    plot_changed_edges,
    plot_components,
    plot_correction,
    plot_edge_differences,
    plot_edge_means,
)
from stillome.plot.labels import measure_label
from stillome.studies.adjustment_claims import claims_of
from stillome.studies.applied import (
    OBSERVED,
    Applied,
    apply_method,
    component_table,
    correction_table,
    measures,
)
from stillome.studies.effect_claims import no_flirt_claim
from stillome.studies.real_data import study_cohorts
from stillome.studies.study import (
    AS_PUBLISHED,
    GATE,
    INV_FA,
    QUICK_NOTE,
    Claim,
    Options,
    Outcome,
    edge_table,
    methods,
)
from stillome.studies.study_cohort import StudyCohort, dropped_of

ORDER = (GATE, AS_PUBLISHED, INV_FA)
SHOWN = {AS_PUBLISHED: "as_published", INV_FA: "inv_fa"}
QUICK_FIGURES = "quick: of residual misalignment, only part of the figures is drawn"
CHANGE = "adjusted − observed, mean over subjects (fibres)"


def run(options: Options) -> Outcome:
    figures: dict[str, Figure] = {}
    numbers: dict[str, pd.DataFrame] = {}
    claims: list[Claim] = []
    cohorts = study_cohorts(options)
    for study in cohorts:
        for columns in filter(None, ((study.head_motion,), study.residual)):
            given = study.with_residual() if columns == study.residual else study
            part = _Part(given, columns, options)
            figures |= part.figures
            numbers |= part.numbers
            claims += claims_of(given, columns, part.applied, part.table, options)
        if not study.residual:
            claims.append(no_flirt_claim(study, "Appendix G, Figures A4 to A6"))
    notes = [QUICK_NOTE, QUICK_FIGURES] if options.quick else []
    inputs = [i for s in cohorts for i in s.inputs]
    return Outcome(figures, numbers, claims, inputs, notes, dropped_of(cohorts))


class _Part:
    """One cohort, adjusted for one set of confounds."""

    def __init__(self, study: StudyCohort, columns: tuple[str, ...], options: Options) -> None:
        self.study, self.columns = study, columns
        self.X = study.cohort.edges
        self.groups = {
            name: study.cohort.motion_groups(name, quantile=study.quantile) for name in columns
        }
        moved = study.cohort.motion[list(columns)].to_numpy(dtype=float)
        self.applied: dict[str, Applied] = {}
        for name, model in methods(options, lengths=study.cohort.lengths).items():
            options.step(f"{study.name}, {' and '.join(columns)}: {name}")
            self.applied[name] = apply_method(
                *(model, self.X, moved, study.motion_free, options, study.families)
            )
        options.step(f"{study.name}, {' and '.join(columns)}: measuring")
        self.table = measures(self.applied, self.X, moved, self.groups, study.motion_free, options)
        self.networks = {OBSERVED: self.X} | {n: self.applied[n].adjusted for n in ORDER}
        residual = columns == study.residual
        # Quick runs draw less: it takes longer than fitting there.
        self.drawn = dict(list(self.groups.items())[: options.size(len(columns), 1)])
        drawn = self._matrices() | self._components()
        drawn |= self._changes() if not (residual and options.quick) else {}
        drawn |= self._corrections() if residual or not study.residual else {}
        slug = study.name.replace(" ", "_").lower()
        circle = "A6" if residual else "5"
        other = "4" if not residual else "A5" if "HCP" in study.name else "A4"
        self.figures, self.numbers = {}, {f"figure{other}_{slug}_measures": self.table}
        for name, (figure, table) in drawn.items():
            title = f"figure{circle if name.startswith('circle') else other}_{slug}_{name}"
            self.figures[title], self.numbers[title] = figure, table

    def _matrices(self) -> dict[str, tuple[Figure, pd.DataFrame]]:
        regions = self.study.cohort.regions
        means = {n: edges_to_matrices(edges.mean(axis=0)) for n, edges in self.networks.items()}
        answer = {"edge_means": (plot_edge_means(means, regions), edge_table(means, regions))}
        for column, groups in self.drawn.items():
            differences = {
                name: edges_to_matrices(
                    edges[groups.large].mean(axis=0) - edges[groups.small].mean(axis=0)
                )
                for name, edges in self.networks.items()
            }
            figure = plot_edge_differences(differences, regions)
            answer[f"differences_{column}"] = figure, edge_table(differences, regions)
        return answer

    def _components(self) -> dict[str, tuple[Figure, pd.DataFrame]]:
        answer = {}
        for column, groups in self.drawn.items():
            shown = np.union1d(groups.small, groups.large)
            raw = {OBSERVED: np.log1p(self.X[shown])}
            latents = {f"z, {name}": self.applied[name].Z[shown] for name in ORDER}
            motion = self.study.cohort.motion[[column]].iloc[shown]
            figure = plot_components(raw, motion[column], latents=latents, measure=column)
            answer[f"components_{column}"] = figure, component_table(raw, latents, motion)
        return answer

    def _changes(self) -> dict[str, tuple[Figure, pd.DataFrame]]:
        regions = self.study.cohort.regions
        answer = {}
        for name, slug in SHOWN.items():
            change = self.applied[name].adjusted - self.X.astype(float)
            mean = edges_to_matrices(change.mean(axis=0))
            figure = plot_changed_edges(mean, regions, title=name, label=CHANGE)
            answer[f"circle_{slug}"] = figure, edge_table({"change": mean}, regions)
        return answer

    def _corrections(self) -> dict[str, tuple[Figure, pd.DataFrame]]:
        regions = self.study.cohort.regions
        answer = {}
        for column, groups in self.drawn.items():
            panels = {}
            for name, slug in SHOWN.items():
                adjusted = self.applied[name].adjusted
                for size, members in zip(("small", "large"), groups[:2], strict=True):
                    change = adjusted[members].mean(axis=0) - self.X[members].mean(axis=0)
                    panels[f"{name}, {size}"] = edges_to_matrices(change)
                title = f"Correction by {name}, groups by {measure_label(column)}"
                histogram = plot_correction(self.X, adjusted, groups, title=title)
                shares = correction_table(self.X, adjusted, groups)
                answer[f"correction_{slug}_{column}"] = histogram, shares
            figure = plot_edge_differences(panels, regions, label=CHANGE)
            answer[f"correction_by_edge_{column}"] = figure, edge_table(panels, regions)
        return answer
