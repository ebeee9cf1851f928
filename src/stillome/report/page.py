"""The page: every section's words and numbers put into the templates."""

from importlib import resources
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stillome.evaluate.verdict import STATE_WORDS
from stillome.evaluate.words import things
from stillome.methods.method_words import METHOD_WORDS, method_name
from stillome.plot.glass_brain import brain_outlines
from stillome.plot.labels import measure_label
from stillome.report import findings, sections
from stillome.report.figures import Picture
from stillome.report.slider_data import slider_data
from stillome.report.subject_data import flag_counts, subject_data
from stillome.run.folder import RunFolder
from stillome.run.judging import judge_run

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


def render(folder: RunFolder, pictures: list[Picture], left_out: dict[str, str]) -> str:
    """Return the HTML of the report.

    Parameters
    ----------
    folder : RunFolder
    pictures : list of Picture
    left_out : dict of str to str
        Why a figure is missing, by its title.
    """
    slider = _slider(folder)
    absent = {
        name
        for name, there in (
            ("slider", slider is not None),
            ("traits", folder.comparison is not None),
        )
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
        **_content(folder),
        sections=shown,
        slider=slider,
        data={
            "slider": slider,
            "subjects": subject_data(folder),
            "outlines": brain_outlines() if slider and slider["regions"]["mni"] else None,
        },
        pictures_of={name: [p for p in pictures if p.section == name] for name in _TITLES},
        left_out=left_out,
        css=_joined("css"),
        js=_joined("js"),
    )
    return page + "\n"


def _content(folder: RunFolder) -> dict[str, Any]:
    flags = flag_counts(folder)
    n_flagged = int((folder.subjects["flags"].fillna("") != "").sum())
    return {
        "run": {
            "stillome": folder.header.get("stillome", ""),
            "command": folder.header.get("command"),
        },
        "subtitle": _subtitle(folder),
        "verdict": judge_run(folder),
        "words": STATE_WORDS,
        "sought": folder.sought,
        "several": bool(folder.settings.other_confounds),
        "facts": sections.key_facts(folder),
        "data_facts": sections.data_facts(folder),
        "dropped": sections.dropped(folder),
        "motion_told": sections.motion_told(folder),
        "changed_edges": sections.changed_edges(folder),
        "certificates": findings.certificate_tables(folder),
        "fidelity": findings.fidelity_table(folder),
        "graph": findings.graph_table(folder),
        "traits": findings.trait_tables(folder),
        "flags": flags,
        "flags_told": f"{things(n_flagged, 'subject')} of {folder.cohort.n_subjects:,} "
        f"{'carries' if n_flagged == 1 else 'carry'} a flag; look at these first.",
        "diagnostics": findings.diagnostics(folder),
        "methods": sections.methods(folder),
        "provenance": sections.provenance(folder),
    }


def _subtitle(folder: RunFolder) -> str:
    what = "simulated subjects" if folder.header.get("simulated") else "subjects"
    words = METHOD_WORDS.get(folder.method)
    kind = f" ({words.what})" if words else ""
    return (
        f"{folder.cohort.n_subjects:,} {what}, {folder.cohort.n_regions} regions; motion measured "
        f"by {measure_label(folder.measure)}, adjusted by {method_name(folder.method)}{kind}"
    )


def _slider(folder: RunFolder) -> dict[str, Any] | None:
    data = slider_data(folder)
    if data is None:
        return None
    references = data["references"]
    step = min((b - a for a, b in pairwise(references) if b > a), default=1.0)
    unit = folder.measure.rpartition("_")[2]
    return data | {
        "measure": measure_label(folder.measure),
        "unit": _UNITS.get(unit, ""),
        "digits": next((d for d in range(6) if step >= 10.0**-d), 6),
        "things": "fibres" if folder.whole_counts else "weight",
    }


def _joined(kind: str) -> Markup:
    """Put the parts of the page's style or script together, in the order of their names."""
    folder = resources.files("stillome.report") / "templates" / kind
    parts = sorted((part for part in folder.iterdir()), key=lambda part: part.name)
    texts = [part.read_text(encoding="utf-8") for part in parts if part.name.endswith(f".{kind}")]
    return Markup("\n".join(texts))
