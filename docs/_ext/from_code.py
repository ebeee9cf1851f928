"""Parts of pages that are written by the code: ``<!-- from the code: NAME -->`` stands for them."""

import re
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

_PLACE = re.compile(r"^<!-- from the code: ([a-z ]+) -->$", flags=re.MULTILINE)
HOUSE = Path(__file__).parents[2]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    cells = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in cells)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`"


def verbs() -> str:
    """Every verb of the command line with its help and its options."""
    import typer

    from stillome.cli.app import VERBS, app

    command: Any = typer.main.get_command(app)
    context: Any = command.make_context("stillome", [], resilient_parsing=True)
    return "\n\n".join(
        _verb(verb.__name__, command.get_command(context, verb.__name__), context) for verb in VERBS
    )


def _verb(name: str, verb: Any, parent: Any) -> str:
    context = verb.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(["stillome", name, *verb.collect_usage_pieces(context)])
    parts = [f"## {name}", _help(verb.help or ""), f"```text\n{usage}\n```"]
    shown = [p for p in verb.params if not getattr(p, "hidden", False)]
    rows = [_parameter(p, context) for p in shown]
    parts.append(table(("option", "meaning", "default"), rows))
    return "\n\n".join(parts)


def _help(text: str) -> str:
    """Set the example of a help text as a command."""
    told, _, example = text.partition("Example:")
    if not example:
        return told.strip()
    return f"{told.strip()}\n\n```text\n{' '.join(example.split())}\n```"


def _parameter(parameter: Any, context: Any) -> tuple[str, str, str]:
    is_argument = parameter.param_type_name == "argument"
    names = [parameter.metavar or parameter.name.upper()] if is_argument else [*parameter.opts]
    names += parameter.secondary_opts
    meaning = parameter.help or ""
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        meaning += f" One of {', '.join(code(one.value) for one in kind)}."
    return ", ".join(map(code, names)), meaning.strip(), _default(parameter)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "needed"
    value = parameter.default
    if value is None or value is False or value == [] or callable(value):
        return ""
    values = value if isinstance(value, list | tuple) else [value]
    shown = [str(getattr(one, "value", one)) for one in values]
    return ", ".join("yes" if one == "True" else code(one) for one in shown)


def formats() -> str:
    """Every format of connectomes, and whether results can be written in it."""
    from stillome.io.formats import matfiles
    from stillome.io.recognise import FORMATS, WRITERS

    modules: dict[str, list[str]] = {}
    readers = {form.name: form.read.__module__ for form in FORMATS if form.read != matfiles.read}
    writers = {name: write.__module__ for name, write in WRITERS.items()}
    for name, module in (writers | readers).items():
        modules.setdefault(module, []).append(name)
    rows = []
    for module, names in sorted(modules.items(), key=lambda item: item[1][0].casefold()):
        said = (import_module(module).__doc__ or "").split("\n\n")[0]
        back = [name for name in names if name in WRITERS]
        rows.append((", ".join(names), _as_markdown(said), "yes" if back == names else "no"))
    return table(("name that `inspect` gives", "what it is", "`--format same`"), rows)


def _as_markdown(said: str) -> str:
    return said.replace("``", "`").strip()


def motion_names() -> str:
    """Usual names of motion columns, by measure."""
    from stillome.cohort.motion_names import MOTION_NAMES

    rows = []
    for measure, known in MOTION_NAMES.items():
        fields = [f"UK Biobank's field {field}" for field in known.fields]
        rows.append((code(measure), known.meaning, ", ".join([*map(code, known.names), *fields])))
    return table(("measure", "meaning", "names of columns, the most specific first"), rows)


def motion_files() -> str:
    """Return the sources of every measure of motion, the best first."""
    from stillome.io.motion.columns import MEASURES

    rows = [
        (code(measure), "; ".join(said for kind, said in sources.items() if kind != "table"))
        for measure, sources in MEASURES.items()
    ]
    return table(("measure", "computed from, the best source first"), rows)


def methods() -> str:
    """Every method with its class and what to cite."""
    from stillome.methods.method_words import METHOD_WORDS
    from stillome.methods.registry import METHODS

    shorter = {"InvFA": "stillome.InvFA", "InvVAE": "stillome.InvVAE"}
    lines = []
    for name in METHODS:
        words, method = METHOD_WORDS[name], METHODS[name]
        place = shorter.get(method.__name__, f"{method.__module__}.{method.__name__}")
        cites = " ".join(words.cites) or "stillome, and the paper of inv-VAE."
        lines.append(
            f"**{code(name)}**, {{py:class}}`~{place}`: {words.what}\n"
            f": In a methods section: {words.did}.\n: Cite: {cites}\n"
        )
    return "\n".join(lines)


def citation() -> str:
    """How to cite, from CITATION.cff."""
    import yaml

    about = yaml.safe_load((HOUSE / "CITATION.cff").read_text(encoding="utf-8"))
    paper = about["references"][0]
    people = " and ".join(f"{a['family-names']}, {a['given-names']}" for a in paper["authors"])
    software = "\n".join(
        [
            "@software{stillome,",
            f"  author  = {{{{{about['authors'][0]['name']}}}}},",
            f"  title   = {{{about['title']}}},",
            f"  version = {{{about['version']}}},",
            "}",
        ]
    )
    article = "\n".join(
        [
            "@article{zhang2024motion,",
            f"  author  = {{{people}}},",
            f"  title   = {{{paper['title']}}},",
            f"  journal = {{{paper['journal']}}},",
            f"  volume  = {{{paper['volume']}}},",
            f"  year    = {{{paper['year']}}},",
            f"  doi     = {{{paper['doi']}}},",
            "}",
        ]
    )
    said = " ".join(about["message"].split())
    return f"{said}\n\n```bibtex\n{software}\n\n{article}\n```"


PARTS: dict[str, Callable[[], str]] = {
    "verbs": verbs,
    "formats": formats,
    "motion names": motion_names,
    "motion files": motion_files,
    "methods": methods,
    "citation": citation,
}


def fill(app: Any, document: str, source: list[str]) -> None:
    """Put the parts into a page when Sphinx reads it."""
    source[0] = _PLACE.sub(lambda place: PARTS[place[1]](), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
