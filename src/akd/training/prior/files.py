"""Files of a training run: written whole or not at all."""

from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the final name and rename, so that a killed writer leaves nothing half done."""
    part = path.with_name(path.name + ".part")
    write(part)
    part.replace(path)
