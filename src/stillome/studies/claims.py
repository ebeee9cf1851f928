"""One page of all claims: what the paper says, what came out, and why.

`stillome reproduce all` writes it; from folders of runs that were made study by study, one for each
seed,

    python -m stillome.studies.claims FOLDER [FOLDER ...] studies/CLAIMS.md

writes it too.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from stillome.exceptions import FileError, StillomeError
from stillome.persistence import written_aside
from stillome.spreadsheets import with_formulas
from stillome.studies.catalogue import STUDIES
from stillome.studies.judged import from_text
from stillome.studies.network_training import settings_in_words
from stillome.studies.over_seeds import over_seeds
from stillome.studies.study import (
    ALL_COLUMNS,
    AS_PUBLISHED,
    DATA,
    FAILS,
    HOLDS,
    INV_FA,
    MANIFEST,
    MODEL,
    NO_VERDICT,
    NOT_TESTED,
    OF_GATE,
    ONLY_INV_FA,
    QUICK_NOTE,
    UNTESTABLE,
    Claim,
)

HEAD = ("", "claim", *ALL_COLUMNS, "verdict")
VERDICTS = (HOLDS, ONLY_INV_FA, FAILS, UNTESTABLE, NO_VERDICT)
SAME = ("Quick", "Data", "Versions")
SAID = ("Commit", "Time", "Not run")
CODE_AND_TEXT = (
    "Settings are those of the paper's text. The authors' released code differs from the text: a "
    "dense layer from V² to V² values follows ξ + ψ, ξ and α are not trained, and counts are "
    "divided by 100. That code was not run for this page; a network written anew with these "
    "three differences is measured in benchmarks/README.md (`released variant`). Appendix D prints "
    "the pairwise Gaussian KL with one term exchanged (Σ₁⁻¹ for Σ₀⁻¹ in the quadratic form) and "
    "log(σ)² for log σ²; equation (10) prints log p(y | z) without the factor 1 + λ and with the "
    "opposite sign, where Appendix D has both right. The correct forms are used."
)


def claims_page(claims: Mapping[str, Sequence[Claim]], manifest: Mapping[str, Any]) -> str:
    """Return the page as Markdown, from the claims by study and the entries of a manifest."""
    everything = [claim for some in claims.values() for claim in some]
    parts = ["# The paper's claims, and what became of them", _made_by(manifest)]
    parts += [
        _counts(everything),
        f"A claim *holds* if the paper's own model fulfils it with the paper's settings "
        f"({AS_PUBLISHED}), by its interval and not by the point. It *holds only for {INV_FA}* if "
        f"stillome's default does and the paper's model does not; {INV_FA} is a factor analysis "
        "and not a variational auto-encoder. With several seeds, each with a cohort of its own, "
        "figures are means over seeds, brackets are their 95 % intervals over seeds (Student's t), "
        "and the verdict is given by these. It is *not testable on simulated data* if its answer "
        "was put into the simulation; there is *no verdict* where the data cannot give one. "
        "With one seed brackets are explained below each table; a dash means that a "
        "method has no such figure. Simulated cohorts stand in for HCP and ABCD unless real data "
        "are named above: a claim about people that does not hold here may hold for them.",
        "## Settings",
        settings_in_words(),
        CODE_AND_TEXT,
    ]
    for study, some in claims.items():
        if some:
            parts += [f"## {study}", _table(some)]
    return "\n\n".join(parts) + "\n"


def _counts(claims: Sequence[Claim]) -> str:
    """Count the verdicts, apart for whom the claims are about."""
    rows = [("about", *VERDICTS, "claims"), ("---",) * (len(VERDICTS) + 2)]
    for about in (MODEL, OF_GATE, DATA):
        own = [claim.verdict for claim in claims if claim.about == about]
        rows.append((about, *(str(own.count(verdict)) for verdict in VERDICTS), str(len(own))))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page_of_folders(folders: Sequence[Path]) -> str:
    """Return the page of the studies whose results these folders hold, one folder for each seed.

    With several seeds figures are means over seeds with their intervals, and verdicts are given by
    these (`over_seeds`). A study that was run with some of the seeds only is headed by those.

    Raises
    ------
    FileError
        If a folder holds none, or if they were made with different options or versions.
    """
    pages = [_read(folder) for folder in folders]
    manifests = [manifest for _, found in pages for manifest in found]
    if any(manifest[key] != manifests[0][key] for manifest in manifests for key in SAME):
        places = ", ".join(map(str, folders))
        raise FileError(f"{places}: studies made with different options or versions; redo them.")
    joined, simulated = {}, manifests[0]["Data"] is None
    for name in STUDIES:
        runs = [found[name] for found, _ in pages if name in found]
        seeds = ", ".join(str(told[0]["Seed"]) for found, told in pages if name in found)
        few = 0 < len(runs) < len(pages)
        title = f"{name} (seed {seeds})" if few else name
        joined[title] = over_seeds(runs, simulated=simulated) if runs else []
    told = {key: _different(manifests, key) for key in ("Seed", "Commit")}
    told["Command"] = _commands(manifests)
    told["Time"] = _times(manifests)
    told["Not run"] = ", ".join(name for name, claims in joined.items() if not claims)
    return claims_page(joined, manifests[0] | told)


def _times(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Say how long each study took, by the clock, with all its seeds."""
    took = {name: [m["Seconds"] for m in manifests if m["Study"] == name] for name in STUDIES}
    parts = [f"{name} {sum(some) / 60:.1f}" for name, some in took.items() if some]
    everything = sum(sum(some) for some in took.values()) / 60
    return f"{everything:.0f} minutes by the clock ({', '.join(parts)})"


def _commands(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Return the commands, as one where they differ in the names of studies and seeds only."""
    alike = {
        re.sub(rf"\b{m['Study']}\b", "NAME", re.sub(r"--seed \d+", "--seed SEED", m["Command"]))
        for m in manifests
    }
    one = len(alike) == 1 and len(manifests) > 1
    return alike.pop() if one else "; ".join(dict.fromkeys(m["Command"] for m in manifests))


def _different(manifests: Sequence[Mapping[str, Any]], key: str) -> str:
    return ", ".join(dict.fromkeys(str(manifest[key]) for manifest in manifests if manifest[key]))


def _read(folder: Path) -> tuple[dict[str, list[Claim]], list[dict[str, Any]]]:
    found, manifests = {}, []
    for name in STUDIES:
        if (folder / name / MANIFEST).exists():
            manifests.append(json.loads((folder / name / MANIFEST).read_text(encoding="utf-8")))
            table = pd.read_csv(
                folder / name / "claims.tsv", sep="\t", dtype=str, keep_default_na=False
            )
            found[name] = [_claim(row) for row in with_formulas(table).to_dict("records")]
    if not found:
        raise FileError(f"{folder}: no results of a study; run stillome reproduce first.")
    if any(manifest["Seed"] != manifests[0]["Seed"] for manifest in manifests):
        raise FileError(f"{folder}: studies made with different seeds; redo them.")
    return found, manifests


def _claim(row: dict[Any, str]) -> Claim:
    """Return the claim of one row of ``claims.tsv``."""
    texts: dict[str, Any] = {name: text for name, text in row.items() if name != "judged"}
    return Claim(**texts, judged=from_text(row.get("judged", "")))


def _made_by(manifest: Mapping[str, Any]) -> str:
    """Say how the page was made, so that others can make it again."""
    versions = ", ".join(f"{name} {version}" for name, version in manifest["Versions"].items())
    lines = [
        f"- Command: `{manifest['Command']}`",
        f"- Data: {manifest['Data'] or 'simulated'}; seed: {manifest['Seed']}",
        f"- Versions: {versions}",
        *(f"- {key}: {manifest[key]}" for key in SAID if manifest.get(key)),
    ]
    if manifest["Quick"]:
        lines.append(f"- A quick run on small cohorts, to show that all works ({QUICK_NOTE}).")
    return "\n".join(lines)


def _table(claims: Sequence[Claim]) -> str:
    """Return the figures of a study as a table, and below it how each was tested and why.

    A column without any figure is left out.
    """
    rows: list[tuple[str, ...]] = [HEAD]
    notes = []
    for number, claim in enumerate(claims, start=1):
        figures = (
            *(claim.as_published, claim.converged),
            *(claim.gate, claim.gate_converged, claim.inv_fa),
        )
        on, _, how = re.sub(r"([;:]) ", r"\1|", claim.tested, count=1).partition("|")
        said = f"{claim.claim} ({claim.section}; {on.rstrip(';:')})"
        rows.append((str(number), said, *figures, f"**{claim.verdict}**"))
        named = how.startswith(INV_FA) or not how[1:2].isalpha()  # r, a symbol, stays as it is
        how = f"{how if named else how[:1].upper() + how[1:]}. " if how else ""
        notes.append(f"{number}. {_cell(how + claim.why)}")
    columns = [c for c in zip(*rows, strict=True) if set(c[1:]) != {NOT_TESTED}]
    head, *others = zip(*columns, strict=True)
    rows = [head, ("---",) * len(head), *others]
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([*lines, "", *notes])


def _cell(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def main(arguments: Sequence[str]) -> None:
    """Write the page; arguments are folders of runs, and the page at the end.

    Examples
    --------
    >>> main(["CLAIMS.md"])
    Traceback (most recent call last):
    ...
    SystemExit: 2
    """
    *given, page = map(Path, arguments or ("",))
    if not given:
        sys.stderr.write("usage: python -m stillome.studies.claims FOLDER [FOLDER ...] PAGE\n")
        sys.exit(2)
    try:
        text = page_of_folders(given)
        with written_aside(page, overwrite=True) as aside:
            aside.write_text(text, encoding="utf-8")
    except StillomeError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
