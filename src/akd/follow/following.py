"""Following a clip, step by step: track a frame, or refine all frames once; everything it needs to go on is a few arrays.

    tracking (a step per frame) → refining (a step per iteration) → refining with standing feet held → done
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from akd.contact.stance import Stance
from akd.errors import AkdError
from akd.follow.body import Body, Coordinates, posed
from akd.follow.clip import Clip
from akd.follow.coordinates import to_coordinates, to_motion
from akd.follow.evidence import Evidence, gather_evidence, sample
from akd.follow.first_frame import FirstFrame
from akd.follow.fit import Scene, fit_first_pose, look_at_frame, refine
from akd.follow.match import Match, joints_seen, limbs_agree, limbs_seen, overlap, overlaps
from akd.follow.measurements import LIMB_SPREAD, Paint, signed_distance
from akd.follow.plausible import Plausible
from akd.follow.settings import FollowSettings
from akd.follow.standing import find_standing, lock_standing
from akd.follow.subject import Subject
from akd.follow.track import track_frame
from akd.follow.viewing import Viewpoint, look
from akd.motion import Motion
from akd.render.camera import Camera
from akd.render.looks import Look
from akd.rig import Rig

HOLD_ITERATIONS = 5
"""Refinements with standing feet held."""
MAX_RIM = 4.0
"""An outline further than this from where it should be is not a wide or narrow mask [px]."""
MIN_FIRST_OVERLAP = 0.45
"""A first frame that the character covers worse than this shows something else."""
MIN_CHANGE = 0.004
"""A clip whose pixels change by less than this between any two frames is a still (RGB in [0, 1])."""
MAX_ASPECT = 0.04
"""Largest difference of shape between a clip and the picture of its first frame."""


@dataclass(frozen=True, eq=False)
class Followed:
    """A motion followed from a clip."""

    rig: Rig
    motion: Motion
    """On the character's own skeleton, at the clip's rate, standing feet locked."""
    camera: Camera
    """Of every frame, at the clip's own size."""
    match: Match
    stance: Stance
    """Which feet stand when."""
    notes: tuple[str, ...]
    """What was found, assumed or left alone, one sentence each."""


class Following:
    """A fit on its way. Deterministic: the same clip and settings give the same motion, interrupted or not."""

    def __init__(
        self, rig: Rig, clip: Clip, subject: Subject, first: FirstFrame, *, known: bool = True,
        settings: FollowSettings | None = None, view: Viewpoint | None = None, notes: tuple[str, ...] = (),
        look: Look = "natural", ground: bool = True,
    ) -> None:  # fmt: skip
        """``first`` is camera and pose of the first frame, ``known`` from its picture or found in the clip; ``view`` overrides
        its camera for clips whose camera moves. ``look`` is how the clip shows the character; without ``ground`` skin may come
        below it, where a camera that goes along hides how high the body is."""
        check_moves(clip)
        if known:
            check_shape(clip, first)
        self.clip, self.subject, self.first, self.notes = clip, subject, first, notes
        settings = settings or FollowSettings()
        body, evidence = Body.of(rig, look=look), gather_evidence(clip, subject)
        height, width = clip.frames.shape[1:3]
        start = to_coordinates(first.pose[None])
        view = view or Viewpoint.of(first.camera, width, height, clip.frame_count)
        plausible = Plausible.of(body, start, pose_space=settings.plausible > 0)
        settings = replace(settings, points=min(settings.points, len(body.points)))
        if known:
            evidence = calibrated(body, view, start, evidence)
        self.scene = Scene(body, evidence, view, plausible, settings, clip.fps, start if known else None,
                           ground=ground and bool(rig.legs))  # fmt: skip
        self.y = np.repeat(fit_first_pose(self.scene, start), clip.frame_count, 0)
        self.iteration = 0
        self._paint = Paint.none(settings.points, self.scene.blurs)
        self._painted = 0
        self._learn(1)
        if look == "marker":
            self._paint = self._paint.filled(body.colors)
        found = overlap(look_at_frame(self.scene, self.y[:1], 0).mask, evidence.masks[0])
        if found < MIN_FIRST_OVERLAP:
            raise AkdError(
                f"The first frame of {clip.name} does not show this character as expected: silhouettes overlap by {found:.2f}."
                " Give a clip that begins with the picture of --first, or leave --first out to search for the camera."
                if known else
                f"The character was not found in the first frame of {clip.name}: silhouettes overlap by {found:.2f} at best. Give"
                " a clip of this character, before a plain background and in whole, or make one from `akd picture`."
            )  # fmt: skip

    @property
    def iterations(self) -> int:
        """Steps in all."""
        settings = self.scene.settings
        tracked = self.clip.frame_count - 1 if settings.staged else settings.refine_iterations
        return tracked + settings.refine_iterations + HOLD_ITERATIONS

    @property
    def stage(self) -> str:
        """What the next step does."""
        settings = self.scene.settings
        tracked = self.iterations - settings.refine_iterations - HOLD_ITERATIONS
        if self.iteration < tracked:
            return "tracking" if settings.staged else "refining coarsely"
        return "refining" if self.iteration < tracked + settings.refine_iterations else "holding feet"

    def step(self) -> dict[str, float]:
        """One more frame tracked, or all frames refined once; returns numbers for the log."""
        stage = self.stage
        before = self.y.copy()
        if stage == "tracking":
            self._track(self.iteration + 1)
        else:
            if not self.scene.settings.staged:
                self._learn(1)
            elif self._painted < self.clip.frame_count:
                self._learn(self.clip.frame_count)
            standing = find_standing(self.scene.body, self.y, self.clip.fps) if stage == "holding feet" else None
            if stage != "holding feet" or standing is not None:
                fine = 0 if stage == "refining coarsely" else 1
                self.y = refine(self.scene, self.y, self._paint, standing=standing, iterations=1, fine=fine)
        self.iteration += 1
        return {"change": float(np.abs(self.y - before).max())}

    def _track(self, frame: int) -> None:
        self._learn(frame)
        self.y[frame] = track_frame(self.scene, frame, self.y, self._paint)[0]

    def _learn(self, count: int) -> None:
        """Take colours from the frames before ``count``, in order, as they are fitted now."""
        while self._painted < count:
            seen = look_at_frame(self.scene, self.y[self._painted : self._painted + 1], self._painted)
            self._paint = self._paint.learn(self.evidence, self._painted, seen)
            self._painted += 1

    @property
    def evidence(self) -> Evidence:
        return self.scene.evidence

    def arrays(self) -> dict[str, np.ndarray]:
        """All that is needed to go on."""
        blurs = {f"paint{index}": colors for index, colors in enumerate(self._paint.colors.values())}
        return {
            "y": self.y, "iteration": np.array(self.iteration), "painted": np.array(self._painted),
            "known": self._paint.known.astype(np.uint8), **blurs,
        }  # fmt: skip

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what ``arrays`` gave."""
        if arrays["y"].shape != self.y.shape or arrays["known"].shape != self._paint.known.shape:
            raise AkdError("The saved state belongs to another character or clip: begin the run anew with --force.")
        self.y, self.iteration = arrays["y"].copy(), arrays["iteration"].item()
        self._painted = arrays["painted"].item()
        colors = {blur: arrays[f"paint{index}"].copy() for index, blur in enumerate(self._paint.colors)}
        self._paint = Paint(colors, arrays["known"].astype(bool))

    def finish(self, *, going_along: bool = False) -> Followed:
        """Lock standing feet, and measure how well the motion matches."""
        rig, fps = self.scene.body.rig, self.clip.fps
        free = to_motion(rig, self.y, fps)
        motion, stance, notes = lock_standing(rig, free, going_along=going_along)
        seen = look(self.scene.body, self.scene.view, posed(self.scene.body, self.y))
        limbs = self.evidence.limbs
        motionless = np.repeat(self.y[:1], len(self.y), 0)
        view = self.scene.view
        if going_along:  # the motion travels, the camera with it
            view = view.moved((motion.pose.root_position - free.pose.root_position).double().numpy())
        final = overlaps(look(self.scene.body, view, posed(self.scene.body, to_coordinates(motion.pose))), self.evidence.masks)
        still = self._overlaps(motionless)
        match = Match(
            float(final.mean()), float(final.min()), float(still.mean()), limbs_seen(self.scene.body, seen),
            self.subject.confidence, joints_seen(self.scene.body, seen),
            *(None if limbs is None else self._limbs_agree(each) for each in (self.y, motionless)),
        )  # fmt: skip
        return Followed(rig, motion, self._camera(view), match, stance, (*self.notes, *notes))

    def _overlaps(self, y: Coordinates) -> np.ndarray:
        return overlaps(look(self.scene.body, self.scene.view, posed(self.scene.body, y)), self.evidence.masks)

    def _limbs_agree(self, y: Coordinates) -> float:
        assert self.evidence.limbs is not None
        body = self.scene.body
        return limbs_agree(body, look(body, self.scene.view, posed(body, y)), self.evidence.limbs, LIMB_SPREAD * self.scene.unit)

    def _camera(self, view: Viewpoint) -> Camera:
        """Of every frame, at the clip's own size."""
        width, height = self.clip.size
        scale = np.array((width / view.width, height / view.height))
        pose = np.repeat(np.eye(4)[None], len(view.rotation), 0)
        pose[:, :3, :3], pose[:, :3, 3] = view.rotation, view.shift
        k = np.repeat(np.eye(3)[None], len(view.rotation), 0)
        k[:, [0, 1], [0, 1]], k[:, :2, 2] = view.focal * scale, view.middle * scale
        return Camera(torch.from_numpy(pose).float(), torch.from_numpy(k).float(), width, height)


def calibrated(body: Body, view: Viewpoint, start: Coordinates, evidence: Evidence) -> Evidence:
    """The evidence with its outlines moved in or out by what they are off in the first frame, where the pose is known.

    Masks are a little too wide or narrow, by soft edges and compression; half a pixel on a body's rim is a tenth of ℓ of depth.
    """
    edge = evidence.outlines[0]
    mask = look(body, view[slice(0, 1)], posed(body, start))[0].mask
    if not len(edge) or not mask.any():
        return evidence
    away = sample(signed_distance(mask), edge[:, :2])[:, 0]
    near = away[np.abs(away) < MAX_RIM]
    off = float(np.median(near)) if len(near) > len(edge) / 2 else 0.0
    moved = tuple(np.concatenate((each[:, :2] - off * each[:, 2:], each[:, 2:]), 1) for each in evidence.outlines)
    return replace(evidence, outlines=moved)


def check_moves(clip: Clip) -> None:
    """Refuse a still."""
    change = max(float(np.abs(frame.astype(np.int16) - clip.frames[0]).mean()) for frame in clip.frames[1:]) / 255
    if change < MIN_CHANGE / 10:
        raise AkdError(f"Nothing moves in {clip.name}: all its frames are the same picture; give a clip in which something does.")


def check_shape(clip: Clip, first: FirstFrame) -> None:
    """Refuse a clip whose pictures have another shape than the one it should begin with."""
    (width, height), camera = clip.size, first.camera
    if abs(width / height * camera.height / camera.width - 1) > MAX_ASPECT:
        raise AkdError(
            f"{clip.name} is {width} × {height}, but --first is of a picture of {camera.width} × {camera.height}: make the"
            f" picture with --size {width}x{height}, or leave --first out."
        )
