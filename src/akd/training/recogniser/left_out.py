"""What the recogniser says of subjects and families that it was not trained on."""

import numpy as np
from jaxtyping import Float

from akd.measure.body import Build
from akd.training.recogniser.fit import FitSettings, Table, fit


def left_out_probabilities(
    table: Table, build: Build, settings: FitSettings, *, folds: int | None = None
) -> tuple[tuple[str, ...], Float[np.ndarray, "clip class"]]:
    """Classes, and unsharpened probabilities of every row by a model that saw no clip of its subject or family.

    ``folds``: leave out several groups at a time, in so many folds of about the same number of clips; one by one without.
    """
    classes = tuple(np.unique(table.action).tolist())
    out = np.zeros((len(table.action), len(classes)))
    for groups in group_folds(table.group, folds):
        away = np.isin(table.group, list(groups))
        model, _, _ = fit(table[~away], build, settings)
        columns = [classes.index(name) for name in model.classes]
        out[np.ix_(np.flatnonzero(away), np.array(columns))] = model.raw(table.values[away])
    return classes, out


def group_folds(group: np.ndarray, folds: int | None) -> list[set[str]]:
    """Groups that are left out together: the largest first, each into the fold with the fewest clips."""
    names, counts = np.unique(group, return_counts=True)
    if folds is None:
        return [{name} for name in names.tolist()]
    out: list[set[str]] = [set() for _ in range(folds)]
    size = np.zeros(folds)
    for index in np.argsort(-counts, kind="stable"):
        fold = int(size.argmin())
        out[fold].add(str(names[index]))
        size[fold] += counts[index]
    return [fold for fold in out if fold]
