"""The page: every section's words and numbers put into the templates."""

from importlib import resources
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stillome.evaluate.motion_effects import MotionEffects
from stillome.exceptions import InputError
from stillome.plot.glass_brain import brain_outlines
from stillome.plot.labels import measure_label
from stillome.report import findings, sections
from stillome.report.drawings import describe
from stillome.report.figures import Picture
from stillome.report.results import Results
from stillome.report.slider_data import slider_data
from stillome.report.subject_data import flag_counts, subject_data
from stillome.report.verdict import judge
from stillome.report.words import method_name, things

_WORDS = {"good": "passed", "caution": "with care", "bad": "failed"}
_TITLES = {
    "verdict": "Verdict",
    "data": "The data",
    "motion": "How motion acts",
    "removed": "What was removed",
    "slider": "Motion slider",
    "kept": "What was kept",
    "traits": "Traits",
    "subjects": "Subjects",
    "diagnostics": "Diagnostics",
    "methods": "Methods",
    "provenance": "Provenance",
}
_UNITS = {"mm": "mm", "rad": "rad", "deg": "°"}


def render(results: Results, pictures: list[Picture], left_out: dict[str, str]) -> str:
    """Return the HTML of the report.

    Parameters
    ----------
    results : Results
    pictures : list of Picture
    left_out : dict of str to str
        Why a figure is missing, by its title.
    """
    slider = _slider(results)
    absent = {
        name
        for name, there in (("slider", slider is not None), ("traits", bool(results.comparison)))
        if not there
    }
    shown = [
        {"id": name, "title": title, "template": f"sections/{name}.html"}
        for name, title in _TITLES.items()
        if name not in absent
    ]
    environment = Environment(
        loader=PackageLoader("stillome.report"), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("report.html").render(
        **_content(results),
        sections=shown,
        slider=slider,
        data={
            "slider": slider,
            "subjects": subject_data(results),
            "outlines": brain_outlines() if slider and slider["regions"]["mni"] else None,
        },
        pictures_of={name: [p for p in pictures if p.section == name] for name in _TITLES},
        left_out=left_out,
        css=_joined("css"),
        js=_joined("js"),
    )
    return page + "\n"


def _content(results: Results) -> dict[str, Any]:
    effects, told = _effects(results)
    flags = flag_counts(results)
    n_flagged = int((results.subjects["flags"].fillna("") != "").sum())
    return {
        "run": {"stillome": results.run.get("stillome", ""), "command": results.run.get("command")},
        "subtitle": _subtitle(results),
        "verdict": judge(results),
        "words": _WORDS,
        "sought": results.sought,
        "several": bool(results.others),
        "facts": sections.key_facts(results, effects),
        "data_facts": sections.data_facts(results),
        "dropped": sections.dropped(results),
        "motion_told": told,
        "changed_edges": sections.changed_edges(effects) if effects is not None else None,
        "certificates": findings.certificate_tables(results),
        "fidelity": findings.fidelity_table(results),
        "graph": findings.graph_table(results),
        "traits": findings.trait_tables(results),
        "flags": flags,
        "flags_told": f"{things(n_flagged, 'subject')} of {results.cohort.n_subjects:,} "
        f"{'carries' if n_flagged == 1 else 'carry'} a flag; look at these first.",
        "diagnostics": findings.diagnostics(results),
        "methods": sections.methods(results),
        "provenance": sections.provenance(results),
    }


def _effects(results: Results) -> tuple[MotionEffects | None, str]:
    """Return what motion did, and that in words; or why it cannot be said."""
    try:
        effects = describe(results)
    except InputError as error:
        return None, str(error)
    return effects, sections.motion_told(effects, results)


def _subtitle(results: Results) -> str:
    what = "simulated subjects" if results.run.get("simulated") else "subjects"
    return (
        f"{results.cohort.n_subjects:,} {what}, {results.cohort.n_regions} regions; motion "
        f"measured by {measure_label(results.confound)}, removed with {method_name(results.method)}"
    )


def _slider(results: Results) -> dict[str, Any] | None:
    data = slider_data(results)
    if data is None:
        return None
    levels = data["references"]
    step = min((b - a for a, b in pairwise(levels) if b > a), default=1.0)
    unit = results.confound.rpartition("_")[2]
    return data | {
        "measure": measure_label(results.confound),
        "unit": _UNITS.get(unit, ""),
        "digits": next((d for d in range(6) if step >= 10.0**-d), 6),
        "things": "fibres" if results.whole_counts else "weight",
    }


def _joined(kind: str) -> Markup:
    """Put the parts of the page's style or script together, in the order of their names."""
    folder = resources.files("stillome.report") / "templates" / kind
    parts = sorted((part for part in folder.iterdir()), key=lambda part: part.name)
    texts = [part.read_text(encoding="utf-8") for part in parts if part.name.endswith(f".{kind}")]
    return Markup("\n".join(texts))
