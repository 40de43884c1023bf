"""Scenes of real and made rigs, and whether what was read again is the scene that was written."""

from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from akd.assets import load_clips
from akd.character.clips import read_clip
from akd.character.scene import scene_of
from akd.files.scene import Scene
from akd.motion import resample
from akd.rig import FileRig
from sample_rigs import box_rig, stride


def box_scene() -> Scene:
    """A rig of ours with two clips; its mesh has neither materials nor texture coordinates."""
    rig = box_rig(1)
    return scene_of(rig, {"a walk.001": stride(rig, (0.0, 0.5), seconds=1.0), "run": stride(rig, (0.0, 0.5), seconds=0.5)})


def real_scene(path: Path, clip: str) -> Scene:
    """A clip of an artist's file through our skeleton."""
    rig, (name,) = load_clips(f"{path}#{clip}")
    return scene_of(rig, {"Walk|slow.001": resample(read_clip(rig, name, 30).motion, 30)})


def parents_by_name(names: tuple[str, ...], parents: np.ndarray) -> dict[str, str | None]:
    return {name: names[parent] if parent >= 0 else None for name, parent in zip(names, parents, strict=True)}


def skinned(scene: Scene | FileRig, world: np.ndarray) -> np.ndarray:
    """Vertices by linear blend skinning, written out [m]."""
    maps = world @ np.linalg.inv(scene.rest)
    points = np.column_stack((scene.mesh.vertices, np.ones(scene.mesh.vertex_count)))
    return np.einsum("vb,fbij,vj->fvi", scene.weights, maps[:, :, :3], points, optimize=True) * scene.metres


def directions(matrices: np.ndarray) -> np.ndarray:
    """The axes of bones without their lengths."""
    return matrices[..., :3, :3] / np.linalg.norm(matrices[..., :3, :3], axis=-2, keepdims=True)


def assert_same(scene: Scene, back: FileRig, *, limit: float = 1e-5) -> None:
    """Names, hierarchy, rest pose, clips and skinned vertices over every clip, in heights."""
    height = np.ptp(scene.mesh.vertices[:, 1]) * scene.metres
    assert parents_by_name(back.names, back.parents) == parents_by_name(scene.bones, scene.parents)
    order = [back.names.index(name) for name in scene.bones]
    rest = back.rest[order]
    assert np.abs(rest[:, :3, 3] * back.metres - scene.rest[:, :3, 3] * scene.metres).max() < limit * height
    assert np.abs(directions(rest) - directions(scene.rest)).max() < limit
    assert back.sample is not None
    assert len(back.clips) == len(scene.clips)
    for ours, theirs in zip(scene.clips, back.clips, strict=True):
        assert abs(theirs.duration - ours.duration) < 1e-4
        some = np.unique(np.linspace(0, len(ours.times) - 1, 5).round().astype(int))
        world = back.sample(theirs.name, ours.times[some])
        joints = world[..., :3, 3][:, order] * back.metres
        assert np.abs(joints - ours.world[some][..., :3, 3] * scene.metres).max() < limit * height
        for a, b in zip(skinned(scene, ours.world[some]), skinned(back, world), strict=True):
            assert max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max()) < limit * height
