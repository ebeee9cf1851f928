"""The reference of the API: a page for every public name, written before Sphinx reads the pages."""

import inspect
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any

from public_names import ROOMS, PublicName, public_names

FOLDER = Path(__file__).parents[1] / "api"


def titled(text: str) -> list[str]:
    """Return a title as reStructuredText has it."""
    return [text, "=" * len(text), ""]


def page_of(one: PublicName) -> str:
    """Return the page of one name: its docstring, and the tutorials that use it."""
    lines = titled(one.full if one.module != one.room else f"{one.room}.{one.name}")
    lines += [f".. currentmodule:: {one.module}", ""]
    if one.is_value:
        lines += [f".. data:: {one.name}", "", f"   {_said(one)}", ""]
    else:
        kind = "autoclass" if isclass(one.value) else "autofunction"
        lines += [f".. {kind}:: {one.name}"]
        members = own_members(one.value) if isclass(one.value) else []
        if members:
            lines += [f"   :members: {', '.join(members)}"]
        lines += [""]
    if not one.name.startswith("_"):
        lines += [f".. minigallery:: {one.full}", "   :add-heading: Tutorials that use it", ""]
    return "\n".join(lines)


def own_members(value: type) -> list[str]:
    """Return the public methods and properties that stillome wrote, inherited ones included."""
    found = {}
    for name in (name for name in dir(value) if not name.startswith("_")):
        member = inspect.getattr_static(value, name)
        code = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        found[name] = str(getattr(code, "__module__", "")).startswith("stillome")
        found[name] &= bool(inspect.getdoc(code)) and not isinstance(code, type)
    return [name for name, ours in found.items() if ours]


def _said(one: PublicName) -> str:
    shown = repr(one.value)
    shown = shown if len(shown) < 400 else ", ".join(one.value)
    return f"``{shown}``. An example stands above its room in the :doc:`index`."


def index_of(names: list[PublicName]) -> str:
    """Return the page that lists all names by room."""
    lines = [":orphan:", "", *titled("API reference")]
    lines += ["Every public name, with an example that is tested. Other names may change.", ""]
    for room, title in ROOMS.items():
        lines += [f"{title}: ``{room}``", "-" * (len(title) + len(room) + 6), ""]
        lines += [inspect.cleandoc(import_module(room).__doc__ or ""), ""]
        for one in (one for one in names if one.room == room):
            lines += [f"* :doc:`{one.name} <{one.full}>` – {_summary(one)}"]
        lines += ["", ".. toctree::", "   :hidden:", ""]
        lines += [f"   {one.name} <{one.full}>" for one in names if one.room == room]
        lines += [""]
    return "\n".join(lines)


def _summary(one: PublicName) -> str:
    if one.is_value:
        return "a constant"
    first = (one.value.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split())


def write_pages(app: Any, config: Any) -> None:
    """Write all pages; a page that is the same as before is left alone, so that it is not read."""
    FOLDER.mkdir(exist_ok=True)
    names = list(public_names())
    pages = {f"{one.full}.rst": page_of(one) for one in names} | {"index.rst": index_of(names)}
    for old in FOLDER.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
