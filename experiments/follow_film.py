"""Clips with known motion for ``experiments.follow``: artists' motions filmed by VTK, which shares nothing with our own renderer.

Other light (three lamps and highlights), smooth shading by VTK's own normals, another background for every clip, sensor noise,
and H.264 at a low rate on top. Needs ``pip install vtk``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from akd.assets import load_clips
from akd.character.clips import read_clip
from akd.contact.prepare import TargetSettings, prepare
from akd.follow.first_frame import FirstFrame, parse_view
from akd.motion import Motion, resample
from akd.render.camera import Camera, View, bounding_sphere, fitting_distance, following_camera
from akd.render.preview import moving_vertices
from akd.render.raycast import base_colors, points_at_vertices
from akd.rig import Rig

SIZE = (480, 360)
FPS = 24.0
FRAMES = 20
BACKGROUNDS = ((0.85, 0.88, 0.92), (0.95, 0.95, 0.93), (0.55, 0.62, 0.58), (0.80, 0.76, 0.70), (0.30, 0.34, 0.42))
NOISE = 0.012
"""Standard deviation of the sensor's noise, RGB in [0, 1]."""
RATE = 600_000
"""Of H.264 [bit/s]: visible blocks."""


@dataclass(frozen=True, eq=False)
class Filmed:
    """A clip with its truth."""

    rig: Rig
    motion: Motion
    camera: Camera
    """Of every frame."""
    first: FirstFrame
    path: Path
    follows: bool
    """The camera goes along."""


def artist_motion(source: str, frames: int = FRAMES) -> tuple[Rig, Motion]:
    """A clip of a file, with the travel its feet imply where it goes in place, at ``FPS`` and at most so many frames long."""
    rig, names = load_clips(source)
    motion = read_clip(rig, names[0], 30.0).motion
    if rig.legs and motion.frame_count >= 6:
        motion = prepare(rig, motion, TargetSettings(lock=False, balance=False, ground=False)).motion
    motion = resample(motion, FPS)
    return rig, Motion(motion.pose[:frames].to(torch.float32), motion.fps)


def film(source: str, view: str, path: Path, *, follows: bool = False, seed: int = 0, frames: int = FRAMES) -> Filmed:
    """Film a motion from one side into an mp4, which is kept if it is there; ``follows``: the camera goes along with the body."""
    rig, motion = artist_motion(source, frames)
    vertices = moving_vertices(rig, motion)
    middle = (vertices.amin(1) + vertices.amax(1)) / 2
    seen = parse_view(view)
    if follows:
        target, around = middle, bounding_sphere(vertices[0])[1]
    else:
        target = ((vertices.amin((0, 1)) + vertices.amax((0, 1))) / 2).expand(len(vertices), 3)
        around = bounding_sphere(vertices.reshape(-1, 3))[1]
    distance = 1.05 * fitting_distance(around, 30.0, *SIZE)
    camera = following_camera(
        target.float(), View(seen.azimuth, seen.elevation, 1.0), distance=distance, width=SIZE[0], height=SIZE[1], fov=30.0
    )
    if not path.is_file():
        write_h264(path, render(rig, vertices.double().numpy(), camera, seed))
    first = FirstFrame(camera[0:1], motion.pose[0], rig.skeleton.names)
    return Filmed(rig, motion, camera, first, path, follows)


def render(rig: Rig, vertices: np.ndarray, camera: Camera, seed: int) -> np.ndarray:
    """All frames by VTK, with noise."""
    import vtk
    from vtk.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy

    rng = np.random.default_rng(seed)
    mesh = rig.mesh
    corners = mesh.faces.reshape(-1)
    colors = np.clip(base_colors(mesh, points_at_vertices(mesh)), 0, 1)[corners]
    data = vtk.vtkPolyData()
    points = vtk.vtkPoints()
    points.SetData(numpy_to_vtk(np.ascontiguousarray(vertices[0][corners]), deep=1))
    data.SetPoints(points)
    cells = np.concatenate((np.full((len(mesh.faces), 1), 3), np.arange(len(corners)).reshape(-1, 3)), 1).astype(np.int64)
    triangles = vtk.vtkCellArray()
    triangles.SetCells(len(mesh.faces), numpy_to_vtkIdTypeArray(cells.reshape(-1), deep=1))
    data.SetPolys(triangles)
    data.GetPointData().SetScalars(numpy_to_vtk(np.uint8(255 * colors), deep=1))
    normals = vtk.vtkPolyDataNormals()
    normals.SetInputData(data)
    normals.SplittingOff()
    normals.ConsistencyOff()
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputConnection(normals.GetOutputPort())
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().SetSpecular(0.3)
    actor.GetProperty().SetSpecularPower(20)
    actor.GetProperty().SetAmbient(0.25)
    renderer = vtk.vtkRenderer()
    renderer.AddActor(actor)
    renderer.SetBackground(*BACKGROUNDS[seed % len(BACKGROUNDS)])
    kit = vtk.vtkLightKit()
    kit.AddLightsToRenderer(renderer)
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(8)
    window.SetSize(camera.width, camera.height)
    window.AddRenderer(renderer)
    grab = vtk.vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    out = []
    for frame, moved in enumerate(vertices):
        points.SetData(numpy_to_vtk(np.ascontiguousarray(moved[corners]), deep=1))
        data.Modified()
        _aim(renderer, camera, frame)
        window.Render()
        grab.Modified()
        grab.Update()
        picture = vtk_to_numpy(grab.GetOutput().GetPointData().GetScalars()).reshape(camera.height, camera.width, 3)[::-1]
        out.append(np.clip(picture / 255 + NOISE * rng.normal(size=picture.shape), 0, 1))
    return np.uint8(255 * np.stack(out))


def _aim(renderer, camera: Camera, frame: int) -> None:
    """VTK's camera where ours is."""
    pose = camera.world_to_camera[frame].double().numpy()
    eye = camera.centers[frame].double().numpy()
    own = renderer.GetActiveCamera()
    own.SetPosition(*eye)
    own.SetFocalPoint(*(eye + pose[2, :3]))
    own.SetViewUp(*(-pose[1, :3]))
    own.SetViewAngle(float(np.degrees(2 * np.arctan(camera.height / 2 / float(camera.intrinsics[frame, 1, 1])))))
    own.SetClippingRange(0.05, 500.0)


def write_h264(path: Path, frames: np.ndarray) -> None:
    """A compressed video as services hand them out."""
    import av

    part = path.with_name(f"part-{path.name}")
    with av.open(str(part), "w") as container:
        stream = container.add_stream("libx264", rate=int(FPS))
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = frames.shape[2], frames.shape[1], "yuv420p", RATE
        for frame in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    part.rename(path)
