"""Runs every command that README.md and docs/tutorial.md show, in order, in an empty folder with the files they name.

    python tests/documented.py [--page README.md] [--whole]

Commands are the lines of fenced blocks without a language, and code in the running text that begins with a program's name.
A comment after ``#`` is left out. Python blocks are run as they are. What cannot run here is in ``NOT_RUN`` with its reason, and
an entry that no page shows any more is an error, as is a command that ends with another code than 0.

Commands that optimise get three iterations instead of ninety (``SHORTENED``), because the check is whether a command works, not
how good its motion is; ``--whole`` leaves them as they are.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
PAGES = ("README.md", "docs/tutorial.md")
PROGRAMS = ("akd", "make", "pip", "python", "akd-env/bin/pip", "akd-env/bin/akd")
INSTALLED = "tests/test_install.py builds the wheel and installs it into an empty environment"
HOURS = "a measurement of hours, whose page says how it was run"
NOT_RUN = {
    "pip install .": INSTALLED,
    "python -m venv akd-env": INSTALLED,
    "akd-env/bin/pip install .": INSTALLED,
    "make docs": "needs mkdocs-material, which is not part of the development environment",
    "make test": "this script is a part of its longer form",
    "python -m experiments.study creatures --seeds 1": HOURS,
    "python -m experiments.study rigs --seeds 1 --assets FOLDER": HOURS,
    "python -m experiments.study actions --prior embedded-actions --recipe looks --seeds 1 --only human --assets FOLDER"
    " --motions FOLDER": "a measurement of minutes, on motions that are no part of the project",
    "python -m experiments.judges recogniser --part test": HOURS,
    "python -m experiments.follow": HOURS,
    "python -m experiments.retarget": HOURS,
    "python -m experiments.formats": "needs Blender and the Khronos validator; its page has the table",
    "python -m experiments.labels --part all": HOURS,
    "python -m experiments.track": HOURS,
    "python -m experiments.true_films": "a measurement of minutes, on motions that are no part of the project",
}
"""Commands that are left out, and why."""
MADE_BY = {"make demo": "demo"}
"""Targets of the Makefile whose last line is run instead: the first ones build the environment that this runs in."""
SHORTENED = {"akd animate": ["--iterations", "3"]}
"""What is added to commands that begin so."""
SHORTENED_PYTHON = ("loop=True)", "loop=True, recipe=akd.Recipe(iterations=3))")
FILES = {
    "fox.glb": "assets/fox_khronos/Fox.glb", "knight.glb": "assets/kaykit_knight/Knight.glb",
    "statue.obj": "assets/static_spot/spot.obj", "walk.bvh": "assets/bvh_cmu_dev/02_01.bvh",
    "wolf.glb": "assets/q_wolf/Wolf.glb", "horse.glb": "assets/q_horse/Horse.glb",
}  # fmt: skip
"""Files that the pages speak of, below ../shared."""
JOBS = """[[jobs]]
prompt = "a dog walking"
iterations = 3
[[jobs]]
prompt = "a dog walking"
seed = 1
iterations = 3
"""
FILMED_RATE = 20.0  # frames per second
LONGEST = 3600  # seconds of one command, on a busy machine


@dataclass(frozen=True)
class Command:
    """Something a page tells people to type."""

    page: str
    line: int
    text: str
    python: bool = False

    @property
    def reason_not_to_run(self) -> str | None:
        return NOT_RUN.get(self.text)


def commands(page: str) -> Iterator[Command]:
    """All commands of a page, in order."""
    fence, block, began = None, list[str](), 0
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if fence == "python":
                yield Command(page, began, "\n".join(block), python=True)
            fence, block, began = (line[3:].strip() if fence is None else None), [], number
        elif fence is None:
            for code in re.findall(r"`([^`]+)`", line):
                # A placeholder such as … is no command, nor is the bare name of one (`akd follow`).
                words = code.split()
                if words[0] in PROGRAMS and len(words) > (2 if words[0] == "akd" else 1) and not re.search(r"[…<>]", code):
                    yield Command(page, number, code)
        elif fence in ("", "sh", "bash", "console"):
            text = re.sub(r"\s+#\s.*$", "", line).strip()
            if text:
                yield Command(page, number, text)
        else:
            block.append(line)


def unknown_entries() -> list[str]:
    """Entries of ``NOT_RUN`` that no page shows."""
    shown = {command.text for page in PAGES for command in commands(page)}
    return sorted(set(NOT_RUN) - shown)


def prepare(folder: Path) -> dict[str, str]:
    """Put the files that pages speak of into a folder, and an ``akd`` of this source tree on the path; the environment."""
    for name, source in FILES.items():
        shutil.copy(SHARED / source, folder / name)
    (folder / "jobs.toml").write_text(JOBS)
    programs = folder / ".programs"
    programs.mkdir()
    for name, run in (("akd", f"{sys.executable} -m akd"), ("python", sys.executable)):
        (programs / name).write_text(f'#!/bin/sh\nexec {run} "$@"\n')
        (programs / name).chmod(0o755)
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths, "NO_COLOR": "1"}


def provide(folder: Path) -> None:
    """The clip that an image-to-video model would make of the picture: the fox of the picture begins to walk on the spot."""
    if not (folder / "first.json").is_file() or (folder / "clip.mp4").is_file():
        return
    import torch

    from akd.assets import load_motion
    from akd.files.video import write_video
    from akd.follow.first_frame import FirstFrame
    from akd.render.preview import still
    from akd.skeleton import Pose

    rig, motion, *_ = load_motion(f"{folder / 'fox.glb'}#Walk", fps=FILMED_RATE)
    first = FirstFrame.load(folder / "first.json", rig)
    angles = motion.pose.angles.to(torch.float32)
    shares = torch.linspace(0, 1, len(angles))[:, None, None].sqrt()
    angles = first.pose.angles + shares * (angles - first.pose.angles)
    poses = [Pose(first.pose.root_position, first.pose.root_rotation, each) for each in angles]
    pictures = [still(rig, pose, first.camera, background=(0.93, 0.93, 0.95))[0].clip(0, 1) for pose in poses]
    write_video(folder / "clip.mp4", torch.stack(pictures), FILMED_RATE)


def arguments(command: Command, *, whole: bool) -> list[str]:
    """What is run for a command."""
    if command.python:
        text = command.text if whole else command.text.replace(*SHORTENED_PYTHON)
        if not whole and text == command.text:
            raise ValueError(f"{command.page}:{command.line}: there is no {SHORTENED_PYTHON[0]} to shorten in this block.")
        return [sys.executable, "-c", text]
    words = shlex.split(command.text.replace("akd-env/bin/akd", "akd"))
    if command.text in MADE_BY:
        words = shlex.split(made_by(MADE_BY[command.text]))
    added = next((extra for start, extra in SHORTENED.items() if words[: len(start.split())] == start.split()), [])
    return words if whole or "--resume" in words else [*words, *added]


def made_by(target: str) -> str:
    """The last line of a target of the Makefile."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    return recipe[1].strip().splitlines()[-1].strip().replace("$(BIN)/", "")


def run_pages(pages: tuple[str, ...], *, whole: bool = False) -> list[str]:
    """Run all commands of some pages, each page in a folder of its own; what went wrong."""
    wrong = [f"NOT_RUN: no page shows {entry!r}" for entry in unknown_entries()]
    for page in pages:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            environment, done = prepare(folder), set[str]()
            for command in commands(page):
                wrong += _run(command, folder, environment, done, whole=whole)
    return wrong


def _run(command: Command, folder: Path, environment: dict[str, str], done: set[str], *, whole: bool) -> list[str]:
    """Run a command that was not run before; what went wrong, if anything."""
    where, shown = f"{command.page}:{command.line}", "python block" if command.python else command.text
    if command.text in done:
        return []
    done.add(command.text)
    reason = command.reason_not_to_run
    if reason is not None:
        print(f"{where}: {shown}: NOT RUN, {reason}", flush=True)
        return []
    provide(folder)
    began = time.monotonic()
    ended = subprocess.run(
        arguments(command, whole=whole), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", timeout=LONGEST, check=False,
    )  # fmt: skip
    last = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
    verdict = "ok" if ended.returncode == 0 else f"CODE {ended.returncode}: {last}"
    print(f"{where}: {shown}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    return [] if ended.returncode == 0 else [f"{where}: {shown}: {verdict}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="append", help="a page instead of all")
    parser.add_argument("--whole", action="store_true", help="do not shorten anything")
    parser.add_argument("--list", action="store_true", help="only list the commands")
    options = parser.parse_args()
    pages = tuple(options.page or PAGES)
    if options.list:
        for page in pages:
            for command in commands(page):
                print(f"{page}:{command.line}: {command.text!r}{' NOT RUN' if command.reason_not_to_run else ''}")
        return
    wrong = run_pages(pages, whole=options.whole)
    print(*wrong or ["All commands work."], sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
