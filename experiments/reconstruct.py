"""PSNR of splats against the mesh they were made from, on held-out views: the table of docs/reconstruct.md.

    python -m experiments.reconstruct [fast|paper|both] [asset folder …]

One row per asset and mode. The 256 × 256 views have another seed than those of reconstruction. The foreground is every pixel
the mesh touches, partly covered edges included; mesh and splats are both laid over mid-grey. Seconds are of one core's own
time, so a busy machine does not count.
"""

import sys
import time
from pathlib import Path

import torch

from akd.errors import AkdError
from akd.files.gltf.read import read_gltf
from akd.mesh import Mesh
from akd.reconstruct.fitted_splats import Views, foreground_psnr, random_views
from akd.reconstruct.skinned import FILE_COUNT, SHADE, Mode, mesh_splats
from akd.render.rasterize import rasterize_splats
from akd.splats import Splats

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"
SIZE, HELD_OUT, HELD_OUT_SEED = 256, 24, 10_000
GREY = torch.full((3,), 0.5)
MODES: tuple[Mode, ...] = ("fast", "paper")


def rigged_meshes(folders: list[str]) -> list[tuple[str, Mesh]]:
    """Every glTF asset with a skin."""
    out = []
    for path in sorted(ASSETS.glob("*/*.glb")):
        if folders and path.parent.name not in folders:
            continue
        try:
            rig = read_gltf(path)
        except AkdError:
            continue
        if rig.names and rig.weights.any():
            out.append((path.parent.name, rig.mesh))
    return out


def quality(splats: Splats, views: Views) -> float:
    pictures = [
        rasterize_splats(splats, views.camera[f : f + 8], background=GREY).image for f in range(0, views.camera.frame_count, 8)
    ]
    return foreground_psnr(torch.cat(pictures), views, GREY)


def main(arguments: list[str]) -> None:
    wanted, *folders = arguments or ["both"]
    modes = [mode for mode in MODES if wanted in (mode, "both")]
    print(f"| asset | mode | splats | core seconds | PSNR [dB] |\n|{'---|' * 5}", flush=True)
    for name, mesh in rigged_meshes(folders):
        held_out = random_views(mesh, HELD_OUT, SIZE, shade=SHADE, seed=HELD_OUT_SEED)
        for mode in modes:
            before = time.process_time()
            splats = mesh_splats(mesh, mode=mode, count=FILE_COUNT, resolution=SIZE)
            seconds = time.process_time() - before
            print(f"| {name} | {mode} | {splats.splat_count} | {seconds:.1f} | {quality(splats, held_out):.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
