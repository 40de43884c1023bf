"""Films on disk: pixels as ``.npy`` first, then labels as ``.json``, so that labels are never without their films."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.files.writing import write_file, written_beside


def write_films(
    labels_file: Path, videos: UInt8[Tensor, "film frame height width 3"], points: Float[Tensor, "film frame row 3"],
    labels: Sequence[Any],
) -> None:  # fmt: skip
    """Write films, the points of their figures and their labels (dataclasses), each file whole or not at all."""
    for path, values in ((labels_file.with_suffix(".npy"), videos), (points_file(labels_file), points.half())):
        with written_beside(path) as part, part.open("wb") as file:
            np.save(file, values.numpy())
    write_file(labels_file, json.dumps([asdict(label) for label in labels]))


def points_file(labels_file: Path) -> Path:
    """The file with the points of the figures in films."""
    return labels_file.with_suffix(".points.npy")


def label_files(folder: Path) -> list[Path]:
    """Labels of all films in a folder, sorted; not those that are being written, whose names end alike."""
    return sorted(path for path in folder.glob("*-*.json") if ".part" not in path.suffixes)
