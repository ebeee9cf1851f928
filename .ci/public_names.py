"""Public names of stillome, and which of them lack an example that runs.

    python .ci/public_names.py      # prints the names without an example; exit code 1 if any

Public is what ``__all__`` of stillome and of its rooms lists, every method of ``METHODS``, and what
the README and the pages in docs/ name besides. The reference of the API has a page for each.
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isroutine
from typing import Any, NamedTuple

# Rooms in the order of the reference. A name stands in the first room that has it.
ROOMS = {
    "stillome": "What most scripts need",
    "stillome.methods": "Methods",
    "stillome.evaluate": "Leakage, fidelity, prediction",
    "stillome.evaluate.leakage.power": "Power of a certificate",
    "stillome.simulate": "Simulated cohorts",
    "stillome.io": "Readers and writers",
    "stillome.plot": "Figures",
    "stillome.run": "Runs",
    "stillome.report": "The report",
}
# Names that are public without standing in an ``__all__``.
PROMISED = {
    "stillome": ("InvVAE",),  # needs torch, so that a star import must not ask for it
    "stillome.evaluate.leakage.power": (
        "Power",
        "smallest_detected",
        "smallest_detected_in_latents",
    ),
}


class PublicName(NamedTuple):
    """A name that users may rely on."""

    room: str
    module: str  # from which it is imported
    name: str
    value: Any

    @property
    def full(self) -> str:
        """The name with its module."""
        return f"{self.module}.{self.name}"

    @property
    def is_value(self) -> bool:
        """Whether it is a constant, which has no docstring of its own."""
        return not (isclass(self.value) or isroutine(self.value))

    @property
    def has_example(self) -> bool:
        """Whether its docstring (of a constant: that of its room) has lines that run."""
        if not self.is_value:
            return ">>>" in (self.value.__doc__ or "")
        said = import_module(self.room).__doc__ or ""
        lines = [line for line in said.splitlines() if line.lstrip().startswith((">>>", "..."))]
        return any(re.search(rf"(?<!\w){re.escape(self.name)}(?!\w)", line) for line in lines)


def public_names() -> Iterator[PublicName]:
    """Yield every public name once, room by room."""
    seen: set[int] = set()
    for room in ROOMS:
        module = import_module(room)
        places = [(room, name) for name in sorted({*_listed(module), *PROMISED.get(room, ())})]
        if room == "stillome.methods":
            methods = [module.METHODS[name] for name in module.METHODS]
            places += [(method.__module__, method.__name__) for method in methods]
        for place, name in places:
            value = getattr(import_module(place), name)
            if id(value) not in seen:
                seen.add(id(value))
                yield PublicName(room, place, name, value)


def _listed(module: Any) -> list[str]:
    return list(getattr(module, "__all__", []))


def without_example() -> list[str]:
    """Return the public names that no example shows."""
    return [one.full for one in public_names() if not one.has_example]


if __name__ == "__main__":
    missing = without_example()
    print("\n".join(missing) or "Every public name has an example.")
    sys.exit(bool(missing))
