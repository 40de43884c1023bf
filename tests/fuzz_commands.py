"""Odd command lines and damaged run folders: every one must end in a value or one sentence, and write nothing elsewhere.

``python tests/fuzz_commands.py --cases 2000 --seed 1`` runs that many of each kind; ``--kind runs --first 17 --cases 1``
repeats one. Every case depends only on the seed and its number. The last line printed is JSON; exit code 1 if one failed.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trimesh

sys.path.insert(0, str(Path(__file__).resolve().parent))

from akd.cli import main
from akd.distill.modifiers import Modified
from akd.files.gltf.write_rig import write_rig
from akd.files.writing import LEFTOVER
from akd.pipeline import animate, runs
from akd.pipeline.run_folder import FILES
from fuzzing import limit_memory
from quick_runs import JOB, begin, quickly
from stick_rigs import person
from test_animate import closed_prior
from test_kills import person_motion

SECONDS_PER_CASE = 60
CODES = {0, 1, 2, 130}
LONGEST_SENTENCE = 2000
WRITTEN_BY_NOBODY = "outside"
"""A folder beside the one that commands run in; nothing in it may change."""

VALUES = [
    "", " ", "-", "--", "0", "-1", "1", "3", "0.5", "1e9", "1e-9", "nan", "inf", "-inf", "99999999999999999999", "x", "None",
    "..", ".", "/", "../outside/keep.txt", "../outside", "folder", "file", "file/x", "n" * 300, "in.glb", "in.glb#walk",
    "in.glb#", "in.glb#nope", "in.obj", "in.bvh", "in.npz", "empty.glb", "broken.glb", "fifo", "link.glb", "hard.glb", "run",
    "ring.glb", "run/motion.npz", "run/rig.glb", "out.glb", "out.bvh", "out.png", "out.mp4", "out.ply", "new/deep/out.glb",
    "[/b]", "\x1b[31m", "ü", "走", "\udcff", "%s", "{}", "a dog walking", "a person", "a purple unicorn flying", "+x", "-z",
    "walk", "trot", "fly", "embedded", "/nowhere/at/all", "sds", "dds", "auto", "paper", "con", "~", "*", "$(id)", "'", '"',
    "a\nb", "true",
]  # fmt: skip
OPTIONS = {
    "animate": [
        "--seconds", "--n", "--seed", "--prior", "--out", "--resume", "--force", "--height", "--forward", "--estimator",
        "--guidance", "--learning-rate", "--loop", "--in-place", "--no-expand", "--track", "--recipe",
    ],
    "creature": ["--gait", "--seed", "--cycles", "--out", "--sheet", "--preview", "--list", "--force"],
    "rig": ["--out", "--template", "--skeleton", "--reweight", "--heat", "--sheet", "--forward", "--height", "--force"],
    "inspect": ["--json", "--forward", "--height"],
    "evaluate": ["--json", "--fps", "--forward", "--height"],
    "convert": ["--out", "--name", "--fps", "--root", "--names", "--keys", "--loop-suffix", "--force", "--forward", "--height"],
    "splat": ["--out", "--mode", "--count", "--seed", "--force"],
    "track": ["--out", "--recipe", "--upright", "--substeps", "--fps", "--no-film", "--limits", "--force", "--json", "--forward",
              "--height"],
    "retarget": ["--out", "--travel", "--name", "--fps", "--force", "--json", "--height"],
    "picture": ["--out", "--view", "--size", "--ground", "--force", "--forward", "--height"],
    "follow": ["--first", "--from", "--to", "--masks", "--fps", "--camera", "--out", "--resume", "--force", "--height"],
}  # fmt: skip
LIKELY = {
    "animate": ["a person walking", "in.glb"], "creature": ["a dog"], "rig": ["in.obj"], "evaluate": ["in.glb"],
    "inspect": ["in.glb", "in.obj", "in.bvh"], "convert": ["in.glb"], "splat": ["in.obj"], "track": ["in.glb", "run"],
    "retarget": ["in.glb"], "picture": ["in.glb", "in.obj"], "follow": ["in.glb"],
}  # fmt: skip
FLAGS = {"--force", "--list", "--json", "--loop", "--in-place", "--no-expand", "--track", "--reweight", "--loop-suffix",
         "--no-travel", "--no-film", "--ground"}  # fmt: skip


def odd_command(chance: np.random.Generator) -> list[str]:
    """A command whose parts are mostly in place and mostly odd."""
    name = str(chance.choice(list(OPTIONS)))
    words = [name, str(chance.choice(LIKELY[name])) if chance.random() < 0.7 else str(chance.choice(VALUES))]
    if name == "retarget" or chance.random() < 0.1:
        words.append("in.glb" if chance.random() < 0.6 else str(chance.choice(VALUES)))
    if name == "animate":
        words += ["--iterations", "1", "--draws", "1", "--seconds", "0.1"]
    if name == "convert":
        words += ["--out", "out.bvh"]
    for option in chance.choice(OPTIONS[name], size=int(chance.integers(0, 4)), replace=False):
        words += [str(option)] if option in FLAGS else [str(option), str(chance.choice(VALUES))]
    if chance.random() < 0.05:
        chance.shuffle(words)
    return words


def odd_json(value: Any, chance: np.random.Generator) -> Any:
    """A JSON value with one entry changed, removed or added, somewhere."""
    odd = [None, True, -1, 0, 1e300, 10**40, "", "x", [], {}, [1], {"a": 1}, float("nan"), "../..", "\ud800"]
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = str(chance.choice(sorted(value)))
        kind = chance.random()
        if kind < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if kind < 0.2:
            return {**value, f"{key}_": value[key]}
        return {**value, key: odd_json(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.5:
        index = int(chance.integers(len(value)))
        return [odd_json(part, chance) if place == index else part for place, part in enumerate(value)]
    return odd[int(chance.integers(len(odd)))]


def odd_bytes(data: bytes, chance: np.random.Generator) -> bytes:
    start = int(chance.integers(len(data) + 1))
    end = min(start + int(2 ** chance.uniform(0, 8)), len(data))
    kind = int(chance.integers(5))
    if kind == 0:
        return data[:start]
    if kind == 1 and data:
        place = min(start, len(data) - 1)
        return data[:place] + bytes([data[place] ^ 1 << int(chance.integers(8))]) + data[place + 1 :]
    if kind == 2:
        return data[:start] + data[end:]
    if kind == 3:
        return data[:end] + data[start:end] + data[end:]
    return data[:start] + chance.bytes(int(chance.integers(1, 40))) + data[start:]


def damage_run(folder: Path, chance: np.random.Generator) -> None:
    """Change one to three files of a run; results are mostly gone, so that there is something left to do."""
    if chance.random() < 0.8:
        (folder / "result.json").unlink()
    for _ in range(int(chance.integers(1, 4))):
        path = folder / str(chance.choice(["config.json"] * 4 + ["checkpoint.safetensors"] * 3 + ["log.jsonl"] * 2 + [*FILES]))
        kind = chance.random()
        if kind < 0.08 and path.is_dir():  # by an earlier damage
            path.rmdir()
        elif kind < 0.08:
            path.unlink(missing_ok=True)
        elif kind < 0.12 and path.is_file():
            path.unlink()
            path.mkdir()
        elif path.is_file() and path.suffix == ".json" and kind < 0.8:
            with contextlib.suppress(ValueError):
                path.write_text(json.dumps(odd_json(json.loads(path.read_bytes()), chance)))
        elif path.is_file():
            path.write_bytes(odd_bytes(path.read_bytes(), chance))


def state(folder: Path) -> dict[str, Any]:
    """Names, contents and links of a folder."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        found[str(path)] = path.read_bytes() if path.is_file() and not path.is_symlink() else path.is_symlink()
    return found


def make_world(world: Path, finished: Path) -> None:
    """The folder that commands run in, and one beside it that they must leave alone."""
    work, outside = world / "work", world / WRITTEN_BY_NOBODY
    work.mkdir()
    outside.mkdir()
    (outside / "keep.txt").write_text("keep")
    for name in ("in.glb", "in.obj", "in.bvh", "broken.glb"):
        shutil.copy(finished.parent / name, work / name)
    shutil.copytree(finished, work / "run")
    (work / "empty.glb").touch()
    (work / "file").write_text("x")
    (work / "folder").mkdir()
    (work / "in.npz").write_bytes((finished / "motion.npz").read_bytes())
    (work / "link.glb").symlink_to("in.glb")
    (work / "hard.glb").hardlink_to(work / "in.glb")
    (work / "ring.glb").symlink_to("ring.glb")
    os.mkfifo(work / "fifo")


def called(arguments: list[str], out: io.StringIO, error: io.StringIO) -> int:
    """Exit code of a command inside this process."""
    sys.argv = ["akd", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return 0


def too_long(*_: object) -> None:
    raise TimeoutError(f"The case took longer than {SECONDS_PER_CASE} s.")


def check_case(arguments: list[str], world: Path) -> int:
    """Run one case and check all that must hold; the exit code."""
    inputs = {name: (world / "work" / name).read_bytes() for name in ("in.glb", "in.obj", "in.bvh")}
    before = state(world / WRITTEN_BY_NOBODY)
    out, error = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
    try:
        code = called(arguments, out, error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    said = error.getvalue()
    assert code in CODES, f"exit code {code}"
    assert "Traceback" not in said, said
    assert "\x1b" not in out.getvalue().replace("\x1b[?25", ""), "an escape sequence was printed"
    if code == 2 and said.startswith("akd: "):
        assert said.count("\n") == 1, f"not one sentence: {said}"
        assert len(said) < LONGEST_SENTENCE, f"a long sentence: {said[:200]}"
    assert code != 2 or said, "no word on what is wrong"
    assert state(world / WRITTEN_BY_NOBODY) == before, "something outside was written"
    assert sorted(path.name for path in world.iterdir()) == [WRITTEN_BY_NOBODY, "work"], "something outside was written"
    assert not [path for path in world.rglob("*") if LEFTOVER.fullmatch(path.name)], "half a file was left"
    for name, data in inputs.items():
        assert (world / "work" / name).read_bytes() == data, f"{name} was changed"
    return code


def commands(number: int, seed: int, world: Path) -> list[str]:
    return odd_command(np.random.default_rng((seed, number)))


def run_folders(number: int, seed: int, world: Path) -> list[str]:
    damage_run(world / "work" / "run", np.random.default_rng((seed, number)))
    return ["animate", "--resume", "run"]


KINDS: dict[str, Callable[[int, int, Path], list[str]]] = {"runs": run_folders, "commands": commands}


def prepare(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Make everything quick, and a finished run with the other inputs beside it."""
    quickly(patch)
    patch.setattr(runs, "load_prior", lambda name="embedded", **options: closed_prior())
    patch.setattr(animate, "finish", lambda task, trajectory: Modified(task.clip(trajectory)))
    patch.setattr("akd.rigging.rig_file.rig_file", lambda *_, **__: person())
    patch.setattr("akd.physics.track.track", _no_physics)
    patch.setattr("akd.pipeline.creature.character", lambda prompt, seed: (person(), ""))
    patch.setattr("akd.pipeline.creature.creature", lambda name, seed: person())
    patch.setattr("akd.pipeline.creature.preview_frames", lambda rig, motion, *_: [torch.zeros(8, 8, 3)] * 2)
    write_rig(person(), {"walk": person_motion()}, folder / "in.glb")
    (folder / "broken.glb").write_bytes((folder / "in.glb").read_bytes()[:2000])
    trimesh.creation.box().export(folder / "in.obj")
    patch.chdir(folder)
    called(["convert", "in.glb", "--out", "in.bvh"], io.StringIO(), io.StringIO())
    return begin(folder / "run", JOB)[0].path


def _no_physics(*_: object, **__: object) -> None:
    from akd.errors import AkdError

    raise AkdError("The body falls over.")


def run_cases(kind: str, first: int, count: int, seed: int, finished: Path, keep: Path | None) -> tuple[Counter, list[str]]:
    ends: Counter = Counter(cases=0)
    failures = []
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory(dir=finished.parent) as place:
            world = Path(place)
            make_world(world, finished)
            arguments = KINDS[kind](number, seed, world)
            os.chdir(world / "work")
            try:
                ends[str(check_case(arguments, world))] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                failures.append(f"{kind} {number}: {arguments}\n{''.join(traceback.format_exception(error)[-4:])}")
                ends["failed"] += 1
                if keep is not None:
                    shutil.copytree(world, keep / f"{kind}-{number}", symlinks=True, ignore=lambda *_: ["fifo"])
            finally:
                os.chdir(finished.parent)
            ends["cases"] += 1
    return ends, failures


def run_all() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument("--keep", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    counts, failures = {}, []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        finished = prepare(patch, Path(folder))
        if sys.platform == "linux":
            limit_memory()
        for kind in KINDS if options.kind == "all" else [options.kind]:
            counts[kind], failed = run_cases(kind, options.first, options.cases, options.seed, finished, options.keep)
            failures += failed
        os.chdir("/")
    for failure in failures[:20]:
        print(failure)
    print(json.dumps(counts))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(run_all())
