"""The sentences of the methods paragraph on traits: what was predicted, and what was not."""

from typing import Any

import pandas as pd

from stillome.evaluate.prediction.trait_sizes import SMALL_VALUES
from stillome.evaluate.words import listed, number
from stillome.methods.method_words import method_name
from stillome.run.folder import RunFolder


def trait_sentences(folder: RunFolder) -> list[str]:
    """Say how well every trait was predicted by every method, failures included."""
    if folder.comparison is None:
        return []
    summary = folder.comparison["summary"]
    found = summary[(summary["status"] == "ok") & summary["r_mean"].notna()]
    how = (
        f"Traits, less what {folder.sought} explained of them in the training subjects, were "
        "predicted by five-fold cross-validation, and methods compared by the corrected resampled "
        "t-test (Nadeau & Bengio, 2003)."
    )
    told = [
        f"{trait}, {listed([_found(row) for row in rows.itertuples()])}"
        for trait, rows in found.groupby("trait", sort=False)
    ]
    numbers = f"Mean r over folds with 95 % interval: {'; '.join(told)}." if told else ""
    parts = [how, numbers, _at_chance(folder, found), _small(summary), *_failed(summary)]
    return [part for part in parts if part]


def _found(row: Any) -> str:
    interval = f"[{number(row.r_low)}, {number(row.r_high)}]"
    return f"{method_name(row.method)} {number(row.r_mean)} {interval}"


def _at_chance(folder: RunFolder, found: pd.DataFrame) -> str:
    """Name the traits that the method of the run did not predict better than chance."""
    ours = found[(found["method"] == folder.method) & ~(found["r_low"] > 0)]
    if ours.empty:
        return ""
    names = listed(list(map(str, ours["trait"])))
    return (
        f"{method_name(folder.method)} did not predict {names} better than chance (the interval "
        "is not above 0)."
    )


def _small(summary: pd.DataFrame) -> str:
    """Name the traits that too few subjects have for a firm answer."""
    sizes = summary.groupby("trait", sort=False)["n_subjects"].min()
    few = sizes[sizes < SMALL_VALUES]
    if few.empty:
        return ""
    names = listed([f"{trait} ({size:.0f} subjects)" for trait, size in few.items()])
    return f"Too small to be conclusive: {names}; fewer than {SMALL_VALUES} have a value."


def _failed(summary: pd.DataFrame) -> list[str]:
    """Name the methods that could not be fitted or gave no prediction, and why."""
    failed = summary[summary["status"] != "ok"]
    return [
        f"{method_name(row['method'])} failed on {row['trait']}: "
        f"{str(row.get('reason') or 'no prediction').rstrip('.')}."
        for _, row in failed.iterrows()
    ]
