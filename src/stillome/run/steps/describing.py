"""What motion did to this cohort, before anything is removed."""

from stillome.evaluate.motion_effects import describe_motion_effects, edge_table
from stillome.run.folder import Work

N_GROUPS = 10


def effects_step(work: Work) -> None:
    """Write fibres by motion group, the edges that differ most, and each edge's QC–SC."""
    n_groups = min(N_GROUPS, len(work.known) // 2)
    effects = describe_motion_effects(
        work.cohort.select(work.known), work.settings.confounds[0], n_groups=n_groups
    )
    tables = {
        "fibre_totals": effects.totals,
        "changed_edges": effects.changed_edges,
        "qcsc": edge_table(effects),
    }
    work.write_tables("motion_effects", tables)
