"""FBX written by Blender, as a process of its own: slower than our writer, but with morph targets and all of the file's nodes."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from akd.errors import AkdError
from akd.files.gltf.document import read_document
from akd.files.gltf.write import GltfPack
from akd.files.scene import SceneClip
from akd.files.writing import write_file

VARIABLE = "AKD_BLENDER"
"""Environment variable: a Blender, or a Python in which ``import bpy`` works."""
CHILD = Path(__file__).with_name("blender_child.py")
DENSER = 4
"""Blender samples all clips at whole frames of one rate. Where several have rates of their own it is this many times theirs: a
running fox's feet are within 0.5 % of its height then, and clips end at most a quarter of a frame early."""
PATIENCE = 600.0  # seconds; a character of a million triangles takes one of them


def blender_command() -> list[str]:
    """How a script is run in Blender: by AKD_BLENDER, else by a Blender on the path, else by the ``bpy`` of this Python."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise AkdError(f"{VARIABLE} is {named}, which cannot be run: name a Blender, or a Python that has bpy.")
        return _command_of(Path(found))
    found = shutil.which("blender")
    if found is not None:
        return _command_of(Path(found))
    if importlib.util.find_spec("bpy") is not None:
        return [sys.executable]
    raise AkdError(f"There is no Blender here: set {VARIABLE} to one, or to a Python that has bpy; or leave --writer out.")


def _command_of(program: Path) -> list[str]:
    if program.name.lower().startswith("python"):
        return [str(program)]
    return [str(program), "--background", "--factory-startup", "--python-exit-code", "1", "--python"]


def fbx_from_glb(content: bytes, target: Path, clips: Sequence[SceneClip]) -> None:
    """Let Blender write a GLB as FBX. Its last animations are these clips; others are left out."""
    rate = clips[0].fps if len(clips) == 1 else DENSER * max(clip.fps for clip in clips)
    lengths = [[clip.name, clip.duration * rate] for clip in clips]
    command = [*blender_command(), str(CHILD), "--"]
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source.glb", Path(folder) / "made.fbx"
        source.write_bytes(content)
        source.write_bytes(_with_last_clips(source, len(clips)))
        try:
            done = subprocess.run(
                [*command, str(source), str(made), repr(rate), json.dumps(lengths)], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False, cwd=folder,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AkdError(f"Blender did not write {target} ({error}); leave --writer blender out.") from error
        if done.returncode or not made.is_file():
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"code {done.returncode}"]
            raise AkdError(f"Blender did not write {target} ({said[0][:300]}); leave --writer blender out.")
        write_file(target, made.read_bytes())


def _with_last_clips(path: Path, count: int) -> bytes:
    """The file with its last animations only, called 0, 1, …: Blender shortens long names and changes those that it has."""
    pack = GltfPack.of(read_document(path))
    kept = pack.json["animations"][-count:]
    pack.json["animations"] = [animation | {"name": str(index)} for index, animation in enumerate(kept)]
    return pack.to_bytes()
