"""Licences and a bill of materials of what stillome needs, from the packages that are installed.

    python .ci/dependencies.py licences             # a table
    python .ci/dependencies.py sbom FILE            # CycloneDX 1.5, JSON

All extras are included. A package that states no licence ends it with exit code 1.
"""

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

NAME = "stillome"
EXTRAS = ("all", "vae", "combat", "cluster", "zarr")


def needed(name: str, extras: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the requirements of one package here, each with the extras that it asks for."""
    from packaging.requirements import Requirement

    found = []
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        chosen = ("", *extras)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in chosen
        ):
            found.append((requirement.name, tuple(requirement.extras)))
    return found


def dependencies() -> list[Distribution]:
    """Return all packages that stillome needs with its extras, sorted by name."""
    pending, found, seen = needed(NAME, EXTRAS), {}, set()
    while pending:
        wanted, extras = pending.pop()
        name = re.sub(r"[-_.]+", "-", wanted).lower()
        if (name, extras) in seen or name == NAME:
            continue
        seen.add((name, extras))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
        pending += needed(name, extras)
    return [found[name] for name in sorted(found)]


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states: an expression, a classifier, or a first line."""
    about = package.metadata
    stated = about.get("License-Expression")
    if stated:
        return stated
    classes = [
        text.rsplit(" :: ", 1)[-1]
        for text in about.get_all("Classifier") or []
        if text.startswith("License ::") and not text.endswith("OSI Approved")
    ]
    lines = (about.get("License") or "").strip().splitlines()
    return " / ".join(classes) or (lines[0][:60] if lines else "")


def component(package: Distribution) -> dict[str, object]:
    """Return one package as CycloneDX lists it."""
    name, version = package.metadata["Name"], package.version
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}",
        "licenses": [{"license": {"name": licence_of(package)}}],
    }


def main() -> None:
    """Print the licences, or write the bill of materials."""
    packages = dependencies()
    if sys.argv[1:2] == ["licences"]:
        print("| package | version | licence |\n|---|---|---|")
        for package in packages:
            licence = licence_of(package) or "NOT STATED"
            print(f"| {package.metadata['Name']} | {package.version} | {licence} |")
    elif sys.argv[1:2] == ["sbom"] and len(sys.argv) == 3:
        content = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": component(distribution(NAME)) | {"type": "application"}},
            "components": [component(package) for package in packages],
        }
        Path(sys.argv[2]).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    else:
        sys.exit(__doc__)
    unknown = [package.metadata["Name"] for package in packages if not licence_of(package)]
    if unknown:
        sys.exit(f"No licence is stated by {', '.join(unknown)}.")


if __name__ == "__main__":
    main()
