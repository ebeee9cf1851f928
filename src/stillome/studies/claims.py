"""One page of all claims: what the paper says, what came out, and why.

`stillome reproduce all` writes it; from the folder of a run that was made study by study,

    python -m stillome.studies.claims FOLDER studies/CLAIMS.md

writes it too.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from stillome.exceptions import FileError
from stillome.studies.catalogue import STUDIES
from stillome.studies.study import (
    AS_PUBLISHED,
    FAILS,
    GATE,
    HOLDS,
    INV_FA,
    MANIFEST,
    ONLY_INV_FA,
    QUICK_NOTE,
    Claim,
)

HEAD = ("claim", "how it was tested", AS_PUBLISHED, GATE, INV_FA, "verdict", "why")
SAME = ("Quick", "Data", "Seed", "Versions")


def claims_page(claims: Mapping[str, Sequence[Claim]], manifest: Mapping[str, Any]) -> str:
    """Return the page as Markdown, from the claims by study and the entries of a manifest."""
    everything = [claim for some in claims.values() for claim in some]
    counts = "; ".join(
        f"{verdict}: {sum(claim.verdict == verdict for claim in everything)}"
        for verdict in (HOLDS, ONLY_INV_FA, FAILS)
    )
    parts = ["# The paper's claims, and what became of them", _made_by(manifest)]
    parts.append(
        f"Of {len(everything)} claims, {counts}. A claim *holds* if the paper's own model fulfils "
        f"it ({AS_PUBLISHED}: the graph variational auto-encoder with the paper's settings). It "
        f"*holds only for {INV_FA}* if stillome's default does and the paper's model does not; "
        f"{INV_FA} is a factor analysis and not a variational auto-encoder. Brackets are "
        "intervals, explained under “how it was tested”; a dash means that a method has no such "
        "figure. Simulated cohorts stand in for HCP and ABCD unless real data are named above: a "
        "claim about people that does not hold here may hold for them."
    )
    for study, some in claims.items():
        if some:
            parts += [f"## {study}", _table(some)]
    return "\n\n".join(parts) + "\n"


def page_of_folder(folder: Path) -> str:
    """Return the page of the studies whose results a folder holds.

    Raises
    ------
    FileError
        If it holds none, or if they were made with different options or versions.
    """
    found, manifests = {}, []
    for name in STUDIES:
        if (folder / name / MANIFEST).exists():
            manifests.append(json.loads((folder / name / MANIFEST).read_text(encoding="utf-8")))
            table = pd.read_csv(
                folder / name / "claims.tsv", sep="\t", dtype=str, keep_default_na=False
            )
            found[name] = [Claim(**row) for row in table.to_dict("records")]
    if not found:
        raise FileError(f"{folder}: no results of a study; run stillome reproduce first.")
    if any(manifest[key] != manifests[0][key] for manifest in manifests for key in SAME):
        raise FileError(f"{folder}: studies made with different options or versions; redo them.")
    commands = dict.fromkeys(manifest["Command"] for manifest in manifests)
    return claims_page(found, manifests[0] | {"Command": "; ".join(commands)})


def _made_by(manifest: Mapping[str, Any]) -> str:
    """Say how the page was made, so that others can make it again."""
    versions = ", ".join(f"{name} {version}" for name, version in manifest["Versions"].items())
    lines = [
        f"- Command: `{manifest['Command']}`",
        f"- Data: {manifest['Data'] or 'simulated'}; seed: {manifest['Seed']}",
        f"- Versions: {versions}",
    ]
    if manifest["Quick"]:
        lines.append(f"- A quick run on small cohorts, to show that all works ({QUICK_NOTE}).")
    return "\n".join(lines)


def _table(claims: Sequence[Claim]) -> str:
    rows = [HEAD, ("---",) * len(HEAD)]
    for claim in claims:
        said = f"{claim.claim} ({claim.section})"
        figures = (claim.as_published, claim.gate, claim.inv_fa)
        rows.append((said, claim.tested, *figures, f"**{claim.verdict}**", claim.why))
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page_of_folder(Path(sys.argv[1])), encoding="utf-8")
