"""The page: every section's words and numbers put into the templates."""

import base64
import hashlib
from functools import partial
from importlib import resources
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from stillome.cohort.scan_words import Words, row_words, rows_counted
from stillome.evaluate.verdict import STATE_WORDS
from stillome.evaluate.words import things
from stillome.methods.method_words import method_name, words_of
from stillome.plot.glass_brain import brain_outlines
from stillome.plot.labels import measure_label
from stillome.report import findings, sections
from stillome.report.figures import Picture
from stillome.report.privacy import Hide, hider_of, large_groups
from stillome.report.slider_data import slider_data
from stillome.report.subject_data import flag_counts, flag_table, spread_table, subject_data
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


def render(
    folder: RunFolder,
    pictures: list[Picture],
    left_out: dict[str, str],
    *,
    with_subjects: bool = False,
) -> str:
    """Return the HTML of the report.

    Parameters
    ----------
    folder : RunFolder
    pictures : list of Picture
    left_out : dict of str to str
        Why a figure is missing, by its title.
    with_subjects : bool, default=False
        Whether single subjects are on the page: ids, rows, connectomes, file names.
    """
    slider = _slider(folder, with_subjects)
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
    words = row_words(folder.cohort.subject_ids)
    environment = Environment(
        loader=PackageLoader("stillome.report"),
        autoescape=True,
        undefined=StrictUndefined,
        # Every text that comes from elsewhere (notes, reasons, remarks) passes here.
        finalize=partial(_told, str if with_subjects else hider_of(folder), words),
        extensions=[_RowWords],
    )
    environment.filters["csp_hash"] = csp_hash
    environment.globals["words"] = words
    page = environment.get_template("report.html").render(
        **_content(folder, with_subjects),
        sections=shown,
        slider=slider,
        data={
            "slider": slider,
            "subjects": subject_data(folder) if with_subjects else None,
            "outlines": brain_outlines() if slider and slider["regions"]["mni"] else None,
        },
        pictures_of=_by_section(pictures, slider),
        left_out=left_out,
        css=_joined("css"),
        js=Markup(words(_joined("js"))),  # noqa: S704 - our own scripts
    )
    return page + "\n"


def csp_hash(script: str) -> Markup:
    """Return the hash by which a content security policy allows one script, and no other.

    Examples
    --------
    >>> csp_hash("")
    Markup('sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
    """
    digest = hashlib.sha256(str(script).encode("utf-8")).digest()
    return Markup(f"sha256-{base64.b64encode(digest).decode('ascii')}")  # noqa: S704 - base64


class _RowWords(Extension):
    """Templates speak of subjects; where rows are scans, of those."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the template in the words of this page."""
        words: Any = self.environment.globals["words"]
        return str(words(source))


def _told(hide: Hide, words: Words, value: Any) -> Any:
    """Hide ids in plain text, and speak of its rows; markup is made here, from groups only."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return words(hide(value))


def _by_section(pictures: list[Picture], slider: dict[str, Any] | None) -> dict[str, list[Picture]]:
    """Return the figures of every section; the slider already shows its glass brain."""
    twice = {"glass_brain"} if slider and slider["regions"]["places"] else set()
    shown = [one for one in pictures if one.name not in twice]
    return {name: [one for one in shown if one.section == name] for name in _TITLES}


def _content(folder: RunFolder, with_subjects: bool) -> dict[str, Any]:
    flags = flag_counts(folder)
    n_flagged = int((folder.subjects["flags"].fillna("") != "").sum())
    return {
        "run": {
            "stillome": folder.header.get("stillome", ""),
            "name": folder.path.resolve().name,
        },
        "with_subjects": with_subjects,
        "subtitle": _subtitle(folder),
        "verdict": judge_run(folder),
        "words": STATE_WORDS,
        "sought": folder.sought,
        "several": bool(folder.settings.other_confounds),
        "facts": sections.key_facts(folder),
        "data_facts": sections.data_facts(folder),
        "dropped": sections.dropped(folder, with_subjects=with_subjects),
        "motion_told": sections.motion_told(folder),
        "changed_edges": sections.changed_edges(folder)
        if with_subjects or large_groups(folder)
        else None,
        "certificates": findings.certificate_tables(folder),
        "fidelity": findings.fidelity_table(folder),
        "graph": findings.graph_table(folder),
        "traits": findings.trait_tables(folder),
        "flags": flags,
        "flag_table": flag_table(folder),
        "spread": spread_table(folder),
        "flags_told": f"{things(n_flagged, 'subject')} of {folder.cohort.n_subjects:,} "
        f"{'carries' if n_flagged == 1 else 'carry'} a flag"
        f"{'; look at these first' if n_flagged and with_subjects else ''}.",
        "diagnostics": findings.diagnostics(folder),
        "methods": sections.methods(folder),
        "provenance": sections.provenance(folder, with_subjects=with_subjects),
    }


def _subtitle(folder: RunFolder) -> str:
    who = rows_counted(
        folder.cohort.subject_ids, "simulated" if folder.header.get("simulated") else ""
    )
    words = words_of(folder.method, folder.settings.parameters)
    kind = f" ({words.what})" if words else ""
    return (
        f"{who}, {folder.cohort.n_regions} regions; motion measured by "
        f"{measure_label(folder.measure)}, adjusted by {method_name(folder.method)}{kind}"
    )


def _slider(folder: RunFolder, with_subjects: bool) -> dict[str, Any] | None:
    data = slider_data(folder, with_subjects=with_subjects)
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
    return Markup("\n".join(texts))  # noqa: S704 - files of this package
