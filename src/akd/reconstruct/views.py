"""Views of a mesh from all around, for splats to be fitted to and measured by."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.mesh import Mesh
from akd.render.camera import Camera, look_at
from akd.render.follow_camera import bounding_sphere, fitting_distance
from akd.render.raycast import RayScene, mesh_picture
from akd.render.surface import lit_colors

FOV = 30.0
"""Full vertical field of view [degrees]."""


class Views(NamedTuple):
    """Pictures of one mesh."""

    camera: Camera
    images: Float[Tensor, "view height width 3"]
    """Colour over black."""
    alphas: Float[Tensor, "view height width"]
    """Coverage, 0 to 1."""

    def over(self, background: Float[Tensor, "3"]) -> Float[Tensor, "view height width 3"]:
        """The pictures over a plain background."""
        return self.images + (1 - self.alphas[..., None]) * background


def random_views(mesh: Mesh, count: int, size: int, *, shade: float, seed: int, supersample: int = 3) -> Views:
    """Square pictures from directions spread over the whole sphere, the mesh's bounding sphere filling each."""
    camera = random_cameras(mesh, count, size, seed)
    scene = RayScene(mesh.vertices, mesh.faces)

    def shader(hits, directions):
        return lit_colors(mesh, hits.points, shade)

    pictures = [mesh_picture(scene, mesh.vertices, camera, view, shader, supersample=supersample) for view in range(count)]
    images, alphas = (torch.stack(layer) for layer in zip(*pictures, strict=True))
    return Views(camera, images, alphas)


def random_cameras(mesh: Mesh, count: int, size: int, seed: int) -> Camera:
    """Cameras on a sphere around the mesh, uniform over it."""
    middle, radius = bounding_sphere(torch.from_numpy(mesh.vertices).float())
    direction = torch.nn.functional.normalize(torch.randn(count, 3, generator=torch.Generator().manual_seed(seed)), dim=-1)
    eye = middle + fitting_distance(radius, FOV, size, size) * direction
    return look_at(eye, middle.expand_as(eye), width=size, height=size, fov_y=math.radians(FOV))


def foreground_psnr(
    rendered: Float[Tensor, "view height width 3"], views: Views, background: Float[Tensor, "3"]
) -> float:
    """Peak signal-to-noise ratio [dB] over all pixels the mesh touches, edges included, both pictures over one background."""
    error = (rendered - views.over(background)).square().mean(-1)
    return -10 * math.log10(float(error[views.alphas > 0].mean()))
