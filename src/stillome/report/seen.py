"""What is seen in each figure of this run, in words and numbers: for captions and alt texts."""

import numpy as np
from matplotlib.figure import Figure

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices, matrices_to_edges
from stillome.cohort.validation.sliced import is_sliced
from stillome.evaluate.motion_effects import MotionEffects
from stillome.evaluate.words import listed, number, percent, read_r2, signed_percent, things
from stillome.methods.method_words import method_name
from stillome.plot.labels import measure_label, signed
from stillome.plot.qcsc import consistency_dependence, edge_consistency
from stillome.report.drawn_subjects import drawn_groups, mean_and_deviation, mean_of
from stillome.run.folder import RunFolder
from stillome.run.steps.sliding import motion_thirds

N_CIRCLE_EDGES = 15


def things_counted(folder: RunFolder) -> str:
    """Return what an edge counts: "fibres" or "weight"."""
    return "fibres" if folder.whole_counts else "weight"


def motion_measures(folder: RunFolder, figure: Figure) -> str:
    """Say how strongly the measures correlate."""
    found = folder.cohort.motion.select_dtypes("number").corr(min_periods=3).to_numpy()
    pairs = found[np.triu_indices_from(found, 1)]
    known = pairs[np.isfinite(pairs)]
    if not len(known):
        return "No pair of measures varies in common."
    if len(known) == 1:
        return f"The two measures correlate by r = {number(known[0])}."
    return (
        f"Correlations of the {len(found)} measures range from {number(known.min())} to "
        f"{number(known.max())}."
    )


def motion_effects(folder: RunFolder, figure: Figure) -> str:
    """Say how much motion there is, and how totals differ between the end groups."""
    before, after = folder.motion_effects, folder.effects_left
    low, middle, high = np.quantile(before.motion, [0, 0.5, 1])
    return (
        f"Motion, {measure_label(before.column)}, is {number(middle, 2)} in the median and reaches "
        f"from {number(low, 2)} to {number(high, 2)}. From the group with the least to the group "
        f"with the most motion, {things_counted(folder)} per subject change by "
        f"{_end_to_end(before)} as scanned and by {_end_to_end(after)} after adjusting."
    )


def _end_to_end(effects: MotionEffects) -> str:
    return signed_percent(-effects.share_lost)


def changed_edges(folder: RunFolder, figure: Figure) -> str:
    """Say how many of the drawn edges lose or gain, and which differs most."""
    difference = folder.motion_effects.difference
    rows, columns = edge_indices(len(difference))
    values = difference[rows, columns]
    top = np.argsort(-np.abs(values), kind="stable")[:N_CIRCLE_EDGES]
    top = top[values[top] != 0]
    if not len(top):
        return "No edge differs between the groups."
    names = folder.cohort.regions["name"].astype(str).to_numpy()
    most = top[0]
    n_lose = int((values[top] < 0).sum())
    return (
        f"Of {things(len(top), 'edge')}, {n_lose} {'is' if n_lose == 1 else 'are'} weaker and "
        f"{len(top) - n_lose} stronger at large motion. The largest difference is "
        f"{signed(round(float(values[most]), 1))} ({names[rows[most]]} – {names[columns[most]]})."
    )


def leakage_cohort(folder: RunFolder, figure: Figure) -> str:
    """Say what probes found in the subjects of the fit."""
    return _leakage(folder, "cohort")


def leakage_unseen(folder: RunFolder, figure: Figure) -> str:
    """Say what probes found in subjects who were not in the fit."""
    return _leakage(folder, "unseen")


def _leakage(folder: RunFolder, use: str) -> str:
    said = []
    for one in folder.certificates:
        if (one.use, one.features) != (use, "connectomes"):
            continue
        table = one.found.table
        n_reading = int((table["p_holm"] <= one.found.level).sum())
        said.append(
            f"{method_name(one.method)}: {n_reading} of {things(len(table), 'probe')} "
            f"{'detects' if n_reading == 1 else 'detect'} {folder.removed}, largest R² "
            f"{read_r2(one.found.worst_r2)}"
        )
    text = "; ".join(said)  # the connectomes as scanned come first
    return f"{text[:1].upper()}{text[1:]}."


def group_differences(folder: RunFolder, figure: Figure) -> str:
    """Say how large differences between the motion groups are, before and after."""
    before, after = (
        np.abs(matrices_to_edges(effects.difference[None], check=False)[0])
        for effects in (folder.motion_effects, folder.effects_left)
    )
    return (
        f"The mean absolute difference of an edge is {_size(before.mean())} as scanned and "
        f"{_size(after.mean())} after adjusting; the largest is {_size(before.max())} and "
        f"{_size(after.max())}."
    )


def _size(value: float) -> str:
    return number(value, 1) if value >= 1 else f"{value:.2g}"


def qcsc(folder: RunFolder, figure: Figure) -> str:
    """Say how strongly edges correlate with motion, and on what that depends."""
    before, after = folder.motion_effects.qcsc, folder.effects_left.qcsc
    consistency = raw_consistency(folder)
    by_length = not np.isnan(before.length_dependence)
    ordered = "length (above) and by their consistency" if by_length else "consistency"
    parts = [
        f"Edges are ordered by their {ordered} over subjects. The median |r| is "
        f"{number(before.median_absolute)} as scanned and "
        f"{number(after.median_absolute)} after adjusting; {percent(before.share_significant)} and "
        f"{percent(after.share_significant)} of edges are significant"
    ]
    if by_length:
        parts.append(_dependence("length", before.length_dependence, after.length_dependence))
    by_consistency = [consistency_dependence(one, consistency) for one in (before, after)]
    if np.isfinite(by_consistency).all():
        parts.append(_dependence("consistency", *by_consistency))
    return f"{'. '.join(parts)}."


def _dependence(name: str, before: float, after: float) -> str:
    return f"The rank correlation of r with {name} is {number(before)} and {number(after)}"


def raw_consistency(folder: RunFolder) -> Floats:
    """Return the consistency of every edge in the raw connectomes, shape (E,)."""
    connectomes = folder.cohort.connectomes
    if is_sliced(connectomes):
        mean, deviation = mean_and_deviation(connectomes, folder.known)
        return np.asarray(mean / np.where(deviation > 0, deviation, np.nan))
    return edge_consistency(matrices_to_edges(connectomes[folder.known], check=False))


def components(folder: RunFolder, figure: Figure) -> str:
    """Say how both components correlate with motion, as written above the panels."""
    said = [
        f"{axes.get_title(loc='left')} {text.get_text().removeprefix('r with motion: ')}"
        for axes in figure.axes
        for text in axes.texts
        if text.get_text().startswith("r with motion: ")
    ]
    return f"Correlations of the first and the second component with motion: {'; '.join(said)}."


def correction(folder: RunFolder, figure: Figure) -> str:
    """Say how much an edge was changed on average in both groups."""
    drawn, groups = drawn_groups(folder)
    means = []
    for members in (groups.small, groups.large):
        places = drawn[members]
        raw = matrices_to_edges(folder.cohort.connectomes[places], check=False)
        adjusted = matrices_to_edges(folder.adjusted[places], check=False)
        means.append(float((adjusted - raw.astype(np.float64)).mean()))
    small, large = (signed(float(f"{mean:.3g}")) for mean in means)
    return (
        f"An edge changes by {small} {things_counted(folder)} on average at small motion and by "
        f"{large} at large motion."
    )


def edge_means(folder: RunFolder, figure: Figure) -> str:
    """Say how totals change by adjusting, in each group that is drawn."""
    subjects = folder.subjects
    said = []
    for title, members in motion_thirds(folder.motion[:, 0], folder.known).items():
        before, after = (
            float(subjects[name].to_numpy()[members].mean())
            for name in ("fibres_raw", "fibres_adjusted")
        )
        change = signed_percent(after / before - 1) if before > 0 else "–"
        said.append(f"{title} {_total(before)} → {_total(after)} ({change})")
    return f"Mean {things_counted(folder)} per subject, as scanned → adjusted: {'; '.join(said)}."


def _total(value: float) -> str:
    return number(value, 0) if value >= 100 else f"{value:.3g}"


def glass_brain(folder: RunFolder, figure: Figure) -> str:
    """Say how many edges gain or lose on average."""
    known = folder.known
    means = mean_of(folder.adjusted, known) - mean_of(folder.cohort.connectomes, known)
    change = matrices_to_edges(means[None], check=False)[0]
    return (
        f"On average, {percent((change > 0).mean())} of edges gain and "
        f"{percent((change < 0).mean())} lose by adjusting."
    )


def subject(folder: RunFolder, figure: Figure) -> str:
    """Say how much the subject moved, and how its total changed."""
    place = most_moved(folder)
    row = folder.subjects.iloc[place]
    return (
        f"Motion, {measure_label(folder.measure)}, was {number(folder.motion[place, 0], 2)}; "
        f"{_total(row['fibres_raw'])} {things_counted(folder)} as scanned, "
        f"{_total(row['fibres_adjusted'])} adjusted; the edges before and after correlate by "
        f"r = {number(row['correlation'])} on the log scale."
    )


def most_moved(folder: RunFolder) -> int:
    """Return the position of the subject with the largest motion."""
    return int(folder.known[np.argmax(folder.motion[folder.known, 0])])


def traits(folder: RunFolder, figure: Figure) -> str:
    """Say how well each method predicts each trait."""
    assert folder.comparison is not None, "drawn only where traits were predicted"
    said = []
    for trait, rows in folder.comparison["summary"].groupby("trait", sort=False):
        methods = [f"{method_name(row.method)} {number(row.r_mean)}" for row in rows.itertuples()]
        said.append(f"{trait}: {listed(methods)}")
    return f"Mean r over folds – {'; '.join(said)}."


def trait_components(folder: RunFolder, figure: Figure) -> str:
    """Say how many subjects are drawn."""
    lowest, highest = (len(dots.get_offsets()) for dots in figure.axes[0].collections[:2])  # type: ignore[arg-type]
    return f"Drawn are the {lowest} subjects with the lowest values and the {highest} highest."


def latent_units(folder: RunFolder, figure: Figure) -> str:
    """Say how many dimensions are active, and what they hold."""
    found = folder.diagnostics
    assert found is not None, "drawn only where it was measured"
    return (
        f"{found.active_units} of {things(len(found.kl_per_dimension), 'dimension')} are active; "
        f"the first holds {number(float(found.kl_per_dimension.max()))} nats, all together "
        f"{number(found.kl, 1)}."
    )


def frontier(folder: RunFolder, figure: Figure) -> str:
    """Say between which values leakage changes with the weight."""
    table = folder.frontier
    assert table is not None, "drawn only where weights were tried"
    ordered = table.sort_values("weight")
    first, last = ordered.iloc[0], ordered.iloc[-1]
    return (
        f"The largest R² of any probe is {read_r2(first['worst_r2'])} at weight "
        f"{first['weight']:g} and {read_r2(last['worst_r2'])} at weight {last['weight']:g}; "
        f"{int(table['passed'].sum())} of {things(len(table), 'weight')} pass."
    )


def training(folder: RunFolder, figure: Figure) -> str:
    """Say how far the loss fell, and how much of that in the last tenth of epochs."""
    assert folder.history is not None, "drawn only for networks"
    loss = folder.history["training_loss"].to_numpy(dtype=float)
    late = loss[-max(2, len(loss) // 10)]
    fall = loss[0] - loss[-1]
    part = f" ({percent((late - loss[-1]) / fall)} of that in the last tenth)" if fall > 0 else ""
    return (
        f"The training loss goes from {number(loss[0], 1)} to {number(loss[-1], 1)} in "
        f"{things(len(loss), 'epoch')}{part}."
    )
