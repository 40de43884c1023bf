"""Batches of tiny runs in processes of their own: ``environment`` gives them a closed-form prior, a rig of sticks and small
pictures, and has every iteration that is really computed counted in a file."""

import os
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNTED = "AKD_TEST_ITERATIONS"
PAUSE = "AKD_TEST_PAUSE"
PATIENCE = {
    "RAY_raylet_start_wait_time_s": "600", "RAY_worker_register_timeout_seconds": "600", "RAY_health_check_timeout_ms": "120000",
    "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip
"""A busy machine is slow to start nodes, and slower for workers of a lower priority; that is no fault to be tested."""
HOOK = '''"""Imported by every Python process of a test; patches akd once a batch's work is about to be done in it."""
import sys

class PatchBeforeWork:
    def find_spec(self, name, path=None, target=None):
        if name == "akd.batch.work":
            sys.meta_path.remove(self)
            import quick_batch
            quick_batch.patch_everything()
        return None

sys.meta_path.insert(0, PatchBeforeWork())
'''


def environment(folder: Path, *, pause: float = 0.0) -> dict[str, str]:
    """For processes that work on tiny runs; ``pause`` makes each iteration last so long [s]."""
    hooks = folder / "hooks"
    hooks.mkdir(parents=True, exist_ok=True)
    (hooks / "sitecustomize.py").write_text(HOOK)
    paths = os.pathsep.join(map(str, (hooks, ROOT / "src", ROOT / "tests", ROOT)))
    own = {"PYTHONPATH": paths, COUNTED: str(folder / "iterations.txt"), PAUSE: str(pause), "OMP_NUM_THREADS": "1"}
    return os.environ | own | PATIENCE


def counted_iterations(folder: Path) -> Counter[str]:
    """How often each iteration of each job was computed, as "seed iteration"."""
    return Counter((folder / "iterations.txt").read_text().split("\n")[:-1])


def batch_command(*words: object) -> list[str]:
    return [sys.executable, "-m", "akd", "batch", *map(str, words)]


def write_jobs(path: Path, count: int, *, iterations: int = 3) -> Path:
    """So many tiny jobs that differ in their seed."""
    rows = (f"a person walking,{seed},{iterations},1,0.1" for seed in range(count))
    path.write_text("prompt,seed,iterations,draws,seconds\n" + "\n".join(rows) + "\n")
    return path


def patch_everything() -> None:
    """For the rest of this process."""
    import time

    import pytest

    from akd.distill.loop import Distillation
    from akd.pipeline import kinds
    from quick_runs import quickly
    from test_animate import closed_prior

    patch = pytest.MonkeyPatch()
    quickly(patch)
    patch.setattr(kinds, "load_prior", lambda name="embedded", **options: closed_prior())
    step, counter, pause = Distillation.step, os.environ[COUNTED], float(os.environ[PAUSE])

    def counted(run: Distillation) -> dict[str, float]:
        with open(counter, "a") as file:
            file.write(f"{run.task.seed} {run.iteration}\n")
        time.sleep(pause)
        return step(run)

    patch.setattr(Distillation, "step", counted)
