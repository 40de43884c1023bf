"""The camera of a clip that comes without one: the character at ease is tried from many sides until it fits the first frame.

Every view is scaled and shifted onto the subject first, so that only direction and lens are searched; silhouette and colours say
which is best. The best few are then refined by fitting place, turn and pose, and the body's turn goes to the camera at the end.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.follow.body import Body, Coordinates, posed
from akd.follow.clip import Clip
from akd.follow.coordinates import to_coordinates, to_motion
from akd.follow.evidence import gather_evidence, sample
from akd.follow.first_frame import FirstFrame, pose_at_ease
from akd.follow.fit import Scene, fit_first_pose
from akd.follow.match import overlap
from akd.follow.plausible import Plausible
from akd.follow.settings import FollowSettings
from akd.follow.subject import Subject
from akd.follow.viewing import Seen, Viewpoint, look
from akd.render.camera import Camera
from akd.render.looks import Look
from akd.rig import Rig

AZIMUTHS = tuple(range(0, 360, 20))
ELEVATIONS = (-5.0, 8.0, 25.0, 50.0, 85.0)
FOVS = (18.0, 38.0)
"""Fields of view that are tried, full and vertical [degrees]: a long lens and a wide one."""
KEPT = 5
"""Views that are refined."""
MIN_OVERLAP = 0.45
COLOUR_SHARE = 0.6
"""How much a difference of colour (RGB in [0, 1]) counts beside overlap."""
SEARCH_HEIGHT = 128
"""Height of pictures while searching [px]."""
ROOT_CHANGE = 4
"""Rounds of refining a view."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A view and how well it fits."""

    view: Viewpoint
    y: Coordinates
    score: float
    overlap: float


def search_camera(rig: Rig, clip: Clip, subject: Subject, *, look: Look = "natural") -> tuple[FirstFrame, str]:
    """Camera and pose of the first frame, and a sentence on how well they fit."""
    pose = pose_at_ease(rig)
    body, start = Body.of(rig, count=700, look=look), to_coordinates(pose[None])
    small, masks = _shrunk(clip, subject)
    coarse = sorted((_coarse(body, start, small, masks, *view) for view in product(AZIMUTHS, ELEVATIONS, FOVS)),
                    key=lambda each: -each.score)  # fmt: skip
    kept = _different(coarse)
    scene = _first_scene(Body.of(rig, count=900, look=look), clip, subject, kept[0].view, start)
    fine = [_refined(scene, clip, subject, each) for each in kept]
    best = max(fine, key=lambda each: each.score)
    if best.overlap < MIN_OVERLAP:
        raise AkdError(
            f"The character was not found in the first frame of {clip.name}: silhouettes overlap by {best.overlap:.2f} at best."
            " Give a clip of this character, before a plain background and in whole, or make one from `akd picture`."
        )
    rivals = sorted(each.score for each in fine)
    margin = best.score - rivals[-2] if len(rivals) > 1 else 1.0
    doubt = "; another view fits almost as well" if margin < 0.01 else ""
    sentence = f"The camera was found by the first frame: silhouettes overlap by {best.overlap:.2f}{doubt}."
    return _as_first_frame(rig, best, start, clip), sentence


def _shrunk(clip: Clip, subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    import cv2

    height, width = clip.frames.shape[1:3]
    size = (max(round(width * SEARCH_HEIGHT / height), 8), SEARCH_HEIGHT)
    frame = cv2.resize(clip.frames[0], size, interpolation=cv2.INTER_AREA).astype(float) / 255
    return frame, cv2.resize(subject.masks[0].astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5


def _coarse(
    body: Body, y: Coordinates, frame: np.ndarray, mask: np.ndarray, azimuth: float, elevation: float, fov: float
) -> Candidate:
    """One direction and lens, scaled and shifted onto the subject."""
    height, width = mask.shape
    row, column = np.nonzero(mask)
    now = posed(body, y)
    points = now.points[0].astype(float)
    middle = (points.min(0) + points.max(0)) / 2
    rotation = view_rotation(azimuth, elevation)
    focal = 0.5 * height / np.tan(np.radians(fov) / 2)
    local = (points - middle) @ rotation.T
    distance = 3.0 * float(np.abs(local).max())
    for _ in range(4):  # perspective makes size and place depend on each other a little
        shift = np.array([0.0, 0.0, distance])
        flat = local[:, :2] / (local[:, 2:] + distance) * focal
        extent = np.ptp(flat, axis=0)
        ratio = float(np.exp(np.mean(np.log(np.maximum(extent, 1e-6) / (np.ptp(column) + 1.0, np.ptp(row) + 1.0)))))
        distance = max(distance * ratio, 1.2 * float(-local[:, 2].min()) + 0.1)
    flat = local[:, :2] / (local[:, 2:] + distance) * focal
    wanted = np.array(((column.min() + column.max() + 1) / 2, (row.min() + row.max() + 1) / 2)) - (width / 2, height / 2)
    shift[:2] = (wanted - (flat.min(0) + flat.max(0)) / 2) * distance / focal
    shift[2] = distance
    centre = np.array([[width / 2, height / 2]])
    view = Viewpoint(rotation[None], (shift - rotation @ middle)[None], np.full((1, 2), focal), centre, width, height)
    seen = look(body, view, now)[0]
    return Candidate(view, y, *_score(body, seen, frame, mask))


def _score(body: Body, seen: Seen, frame: np.ndarray, mask: np.ndarray) -> tuple[float, float]:
    """Overlap less the difference of colours, each after removing its mean: light differs, pattern does not."""
    shared = overlap(seen.mask, mask)
    shown = np.flatnonzero(seen.shown)
    if len(shown) < 10:
        return shared - 1, shared
    own, there = body.colors[shown], sample(frame, seen.places[shown])
    gain = (there.std() + 0.02) / (own.std() + 0.02)
    apart = np.abs((own - own.mean(0)) * min(gain, 2.0) - (there - there.mean(0))).mean()
    return shared - COLOUR_SHARE * float(apart), shared


def view_rotation(azimuth: float, elevation: float) -> np.ndarray:
    """World to camera, looking at the body from a side; angles in degrees as in ``render.camera.View``."""
    a, e = np.radians((azimuth, elevation))
    forward = -np.array((np.cos(e) * np.cos(a), np.sin(e), np.cos(e) * np.sin(a)))
    right = np.cross(forward, (0.0, 1.0, 0.0))
    right /= np.linalg.norm(right)
    return np.stack((right, np.cross(forward, right), forward))


def _different(candidates: list[Candidate]) -> list[Candidate]:
    """The best few that look from clearly different sides."""
    kept: list[Candidate] = []
    for each in candidates:
        ahead = each.view.rotation[0, 2]
        if all(ahead @ other.view.rotation[0, 2] < np.cos(np.radians(28)) for other in kept):
            kept.append(each)
        if len(kept) == KEPT:
            break
    return kept


def _first_scene(body: Body, clip: Clip, subject: Subject, view: Viewpoint, start: Coordinates) -> Scene:
    """All that refining a view needs and that is the same for all views."""
    once = replace(clip, frames=clip.frames[:2], alpha=None)
    evidence = gather_evidence(once, subject[:2])
    return Scene(body, evidence, view, Plausible.of(body, start), FollowSettings(), clip.fps, None, ground=False)


def _refined(scene: Scene, clip: Clip, subject: Subject, candidate: Candidate) -> Candidate:
    """Place, turn and pose fitted to the first frame at full size."""
    height, width = clip.frames.shape[1:3]
    scale = np.array((width / candidate.view.width, height / candidate.view.height))
    old, y = candidate.view, candidate.y
    view = Viewpoint(old.rotation, old.shift, old.focal * scale, old.middle * scale, width, height)
    scene = replace(scene, view=view)
    for _ in range(ROOT_CHANGE):
        y = fit_first_pose(scene, y)
    seen = look(scene.body, view, posed(scene.body, y))[0]
    return Candidate(view, y, *_score(scene.body, seen, clip.frames[0] / 255.0, subject.masks[0]))


def _as_first_frame(rig: Rig, best: Candidate, start: Coordinates, clip: Clip) -> FirstFrame:
    """The body stands as at ease; where the fit has moved and turned it, the camera has moved instead."""
    turn = Rotation.from_rotvec(best.y[0, 3:6]).as_matrix() @ Rotation.from_rotvec(start[0, 3:6]).as_matrix().T
    place = best.y[0, :3] - turn @ start[0, :3]
    pose = np.eye(4)
    pose[:3, :3] = best.view.rotation[0] @ turn
    pose[:3, 3] = best.view.rotation[0] @ place + best.view.shift[0]
    y = best.y.copy()
    y[0, :6] = start[0, :6]
    width, height = clip.size
    scale = np.array((width / best.view.width, height / best.view.height))
    k = np.eye(3)
    k[[0, 1], [0, 1]], k[:2, 2] = best.view.focal[0] * scale, best.view.middle[0] * scale
    camera = Camera(torch.from_numpy(pose[None]).float(), torch.from_numpy(k[None]).float(), width, height)
    found = to_motion(rig, y, 1.0).pose[0].to(torch.float32)
    return FirstFrame(camera, found, rig.skeleton.names)
