"""Reading in a process of its own: for formats whose libraries are native code, which a damaged file can crash.

The child (``fbx_child.py``, ``usd_child.py``) writes plain arrays into an .npz file, with everything that is no array as
JSON in the array ``story``. Whatever happens to it, here it is arrays or one sentence.
"""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.reading import check_readable

PATIENCE = 300.0  # seconds until a file that cannot be read is given up, by the clock
START_SECONDS = 15.0  # of processor time that a child may take for a small file: its imports take one or two
SECONDS_PER_MEGABYTE = 3.0  # of such files in its folder; most take a tenth of it, but damage can keep USD busy for ever
MEMORY = 4 * 2**30  # bytes a child may use; the largest real character takes a tenth of that
LIMITED = Path(__file__).with_name("limited.py")
# Every thread reserves memory that it does not use, and a machine of many cores would spend the limit on that.
# USD looks for files in this search path too, which is not for files from elsewhere to use.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1", "MALLOC_ARENA_MAX": "2",
               "PXR_AR_DEFAULT_SEARCH_PATH": ""}  # fmt: skip
REASON_LENGTH = 300  # characters; a library's own words may go on for pages

Story = dict[str, Any]


def arrays_of(
    script: Path, path: Path, kind: str, *, patience: float = PATIENCE, memory: int = MEMORY, seconds: float | None = None
) -> tuple[Story, dict[str, np.ndarray]]:
    """What a child script has found in a file. ``kind`` is the format's name for people.

    ``seconds`` of processor time are what it may take, which does not depend on how busy the machine is; by default by size.
    """
    check_readable(path)
    seconds = _seconds_for(path, kind) if seconds is None else seconds
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "arrays.npz"
        # "-P": modules beside the script must not stand in for those of the standard library that have their names.
        limits = [str(LIMITED), str(memory), str(math.ceil(seconds))]
        command = [sys.executable, "-P", *limits, str(script), str(path.resolve()), str(target)]
        with (Path(folder) / "said").open("w+b") as said:
            try:
                code = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=patience, check=False,
                    cwd=folder, env=os.environ | ENVIRONMENT,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                raise AkdError(f"{path.name} was not read within {patience:.0f} seconds; convert it to GLB.") from None
            if code or not target.is_file():
                reason = _reason(code, _last_line(said), seconds)
                raise AkdError(f"{path.name} cannot be read as {kind} ({reason}); export it again, or convert it to GLB.")
        return loaded(target, path)


def loaded(target: Path, path: Path) -> tuple[Story, dict[str, np.ndarray]]:
    """The story and the arrays that a child wrote about the file at ``path``."""
    with np.load(target) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            raise AkdError(f"{path.name} contains numbers that are not finite (in {name}); export it again.")
    return json.loads(arrays.pop("story").tobytes()), arrays


def _seconds_for(path: Path, kind: str) -> float:
    """How long reading may take. A USD file is composed of others in its folder, so that these count too."""
    with suppress(OSError):
        alike = (other for other in path.resolve().parent.iterdir() if other.suffix.lower().startswith(f".{kind.lower()}"))
        megabytes = sum(other.stat().st_size for other in alike if other.is_file()) / 1e6
        return min(START_SECONDS + SECONDS_PER_MEGABYTE * megabytes, PATIENCE)
    return PATIENCE


def _reason(code: int, last_line: str, seconds: float) -> str:
    """Why the child ended. One that was killed by its own fault has no last words that mean anything."""
    if code < 0 and _signal_name(-code) == "SIGXCPU":
        return f"it takes more than {math.ceil(seconds)} seconds of processor time"
    if code < 0:
        return f"the reader crashed with {_signal_name(-code)}"
    if last_line.startswith("MemoryError"):
        return "it needs more memory than a file may take"
    return last_line or f"the reader ended with code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(said: Any) -> str:
    said.seek(max(said.seek(0, os.SEEK_END) - 8192, 0))
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:REASON_LENGTH] if lines else ""
