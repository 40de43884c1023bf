"""Does Blender see a GLB as we do? Joints and skinned vertices over the clips of each file, ours against Blender's.

    python tools/blender_check.py --blender-python PYTHON FILE... [--clips 3] [--pictures FOLDER]

PYTHON is an interpreter with ``pip install bpy``. Blender is GPL, so it runs as another process (``blender_measure.py``) and only
numbers pass between the two. Prints one line per file and clip; exits with 1 if a deviation is not below 10⁻⁴ of the height.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from akd.files.gltf.document import GltfSource, accessor
from akd.files.gltf.read import read_gltf
from akd.rig import FileRig

LIMIT = 1e-4
MOST_FRAMES = 40


def key_times(source: GltfSource, clip: int) -> np.ndarray:
    """Times of the clip's densest keys: between keys, programs may interpolate differently."""
    samplers = source.document.json["animations"][clip]["samplers"]
    times = max((accessor(source.document, index) for index in {s["input"] for s in samplers}), key=len)
    return times[np.unique(np.linspace(0, len(times) - 1, MOST_FRAMES).round().astype(int))]


def skinned(file: FileRig, world: np.ndarray) -> np.ndarray:
    """Vertices in each frame, frame × vertex × 3."""
    points = np.c_[file.mesh.vertices, np.ones(file.mesh.vertex_count)]
    maps = world @ np.linalg.pinv(file.rest)
    return np.stack([np.einsum("vb,bij,vj->vi", file.weights, frame, points, optimize=True)[:, :3] for frame in maps])


def what_we_see(path: Path, most_clips: int) -> dict[str, np.ndarray]:
    """Names, times, joints and a few frames of vertices, clip by clip."""
    file = read_gltf(path)
    source, animations = file.document, file.document.document.json.get("animations", [])
    nodes = source.document.json["nodes"]
    seen = {"bones": np.array([nodes[node].get("name", "") for node in source.bone_nodes])}
    chosen = np.unique(np.linspace(0, len(animations) - 1, most_clips).round().astype(int)) if animations else []
    for clip in chosen:
        times = key_times(source, clip)
        assert file.sample is not None
        world = file.sample(file.clips[clip].name, times)
        some = np.unique(np.linspace(0, len(times) - 1, 5).round().astype(int))
        seen |= {f"{clip}/times": times, f"{clip}/joints": world[:, :, :3, 3], f"{clip}/some": some}
        seen[f"{clip}/vertices"] = skinned(file, world[some])
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--blender-python", default=sys.executable, help="an interpreter that has bpy")
    parser.add_argument("--clips", type=int, default=3, help="how many clips of each file to compare")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each clip, rendered by Blender")
    arguments = parser.parse_args()
    worst = 0.0
    for path in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            ours = Path(folder) / "ours.npz"
            np.savez(ours, **what_we_see(path, arguments.clips))
            command = [arguments.blender_python, str(Path(__file__).with_name("blender_measure.py")), str(path), str(ours)]
            command += [str(arguments.pictures)] if arguments.pictures else []
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
        if answer.returncode or not lines:
            print(f"FAIL {path}: {(answer.stderr.strip() or 'Blender found no clip').splitlines()[-1]}")
            worst = np.inf
        for line in lines:
            deviation = max(line.get("joints", np.inf), line.get("vertices", np.inf))
            worst = max(worst, deviation)
            print(f"{'ok  ' if deviation < LIMIT else 'FAIL'} {path.name} {json.dumps(line)}", flush=True)
    sys.exit(0 if worst < LIMIT else 1)


if __name__ == "__main__":
    main()
