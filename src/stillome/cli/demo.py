"""`stillome demo`: what head motion does to connectomes, on a cohort whose truth is known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.console import heading, steps, table

if TYPE_CHECKING:
    import pandas as pd

    from stillome.evaluate.motion_effects import MotionEffects

N_SUBJECTS = 400
REGIME = "thinning"
MOTION = "rms_mm"
HEADER = "demo.json"


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("stillome-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another cohort.")] = 0,
    overwrite: Annotated[
        bool, typer.Option(help="Replace the results of an earlier demo.")
    ] = False,
    quiet: Annotated[bool, typer.Option(help="Print the folder of the results only.")] = False,
) -> None:
    """Simulate a realistic cohort and show how head motion changes it.

    400 subjects, 68 regions; every streamline survives with a probability that falls with motion
    and length. Prints tables and writes them with one figure to a folder.
    """
    # Imported here, so that `stillome --help` answers at once.
    from stillome.evaluate.motion_effects import describe_motion_effects
    from stillome.persistence import written_aside
    from stillome.simulate import simulate_cohort

    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as folder,
        steps(4, quiet=quiet) as step,
    ):
        step("Simulating the cohort")
        simulated = simulate_cohort(n_subjects=N_SUBJECTS, regime=REGIME, random_state=seed)
        step("Measuring what motion changed")
        effects = describe_motion_effects(simulated.cohort, MOTION)
        step("Drawing")
        folder.mkdir()
        _draw(effects, folder)
        step("Writing")
        _write_numbers(effects, folder, seed)
    if not quiet:
        print(_summary(effects))
        print(heading("\nResults"))
    for name in ("",) if quiet else ("motion_effects.png", "motion_effects.pdf", "*.tsv"):
        print(f"{'' if quiet else '  '}{out / name}")


def _draw(effects: "MotionEffects", folder: Path) -> None:
    from stillome.plot.motion_effect import plot_motion_effects
    from stillome.plot.style import save_figure

    save_figure(plot_motion_effects(effects), folder / "motion_effects")


def _write_numbers(effects: "MotionEffects", folder: Path, seed: int) -> None:
    from stillome import __version__
    from stillome.evaluate.motion_effects import edge_table
    from stillome.persistence import write_json, write_table

    write_table(folder / "fibre_totals.tsv", effects.totals)
    write_table(folder / "changed_edges.tsv", effects.changed_edges)
    write_table(folder / "qcsc.tsv", edge_table(effects))
    header = {
        "format": "stillome-demo",
        "stillome": __version__,
        "n_subjects": N_SUBJECTS,
        "regime": REGIME,
        "seed": seed,
        "motion": MOTION,
    }
    write_json(folder / HEADER, header)


def _summary(effects: "MotionEffects") -> str:
    qcsc = effects.qcsc
    return "\n".join(
        [
            f"{len(effects.motion)} simulated subjects, {len(effects.regions)} regions; motion is "
            f"{effects.column}; seed and settings in {HEADER}.",
            "",
            heading("Fibres per subject by motion decile"),
            table(_printed_totals(effects.totals)),
            f"  From the first to the last decile {effects.share_lost:.0%} of the fibres are lost.",
            "",
            heading("Edges that differ most, large against small motion (10 % each)"),
            table(_printed_edges(effects.changed_edges)),
            "",
            heading("QC–SC: correlation of each edge with motion (Spearman)"),
            f"  median |r| {qcsc.median_absolute:.2f}; {qcsc.share_significant:.0%} of edges go "
            "with motion (false discovery rate 5 %);",
            f"  r of QC–SC with fibre length {qcsc.length_dependence:+.2f}.",
        ]
    )


def _printed_totals(totals: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        {
            "decile": totals["group"],
            "subjects": totals["n_subjects"],
            f"median {MOTION}": totals["motion_median"].map("{:.2f}".format),
            "fibres": totals["fibres_mean"].map("{:,.0f}".format),
            "± s.e.": totals["fibres_se"].map("{:,.0f}".format),
        }
    )


def _printed_edges(edges: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        {
            "region": edges["region_a"],
            "region ": edges["region_b"],
            "mm": edges["length_mm"].map("{:.0f}".format),
            "small": edges["small_mean"].map("{:,.1f}".format),
            "large": edges["large_mean"].map("{:,.1f}".format),
            "difference": edges["difference"].map("{:+,.1f}".format),
            "change": edges["change"].map("{:+.0%}".format),
        }
    )
