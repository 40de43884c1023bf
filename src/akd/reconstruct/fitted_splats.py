"""Splats fitted to views of a mesh: random cameras all around, and gradient descent through the rasteriser.

The fit starts from splats on the surface. Position, shape, opacity and colour follow the views over random backgrounds, so that
what lies outside the mesh becomes transparent. At intervals splats that have become invisible are pruned and those with the
largest position gradients are split in two, within a given budget.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.mesh import Mesh
from akd.reconstruct.surface_splats import surface_splats
from akd.render.camera import Camera, bounding_sphere, fitting_distance, look_at
from akd.render.rasterize import rasterize_splats
from akd.render.raycast import RayScene, lit_colors, mesh_picture
from akd.rotations import quaternion_to_matrix
from akd.splats import Splats

FOV = 30.0
"""Full vertical field of view [degrees]."""
MIN_OPACITY = 0.02
"""Splats with less opacity are pruned."""
SPLIT_SHARE = 0.1
"""Share of splats that are split at each densification, at most."""
SPLIT_SHRINK = 1.6
"""A splat that is split becomes two that are this much smaller."""
Parameters = dict[str, Tensor]
"""The optimised tensors, by name."""


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


@dataclass(frozen=True)
class PaperSettings:
    """How long and from how much to reconstruct."""

    views: int = 200
    resolution: int = 256
    """Side of a view [px]."""
    steps: int = 500
    views_per_step: int = 2
    rounds: int = 3
    """Of splitting and pruning, within the first two thirds of the steps."""
    place_rate: float = 1e-3
    """Learning rate of the means, in radii of the character."""
    rate: float = 0.02
    """Learning rate of log scales, rotations, opacity logits and colours; it falls to a tenth."""


def reconstruct_splats(mesh: Mesh, count: int, *, shade: float, seed: int = 0, settings: PaperSettings | None = None) -> Splats:
    """At most ``count`` splats that look like the mesh from everywhere."""
    settings = settings or PaperSettings()
    start = surface_splats(
        mesh, max(1, round(count / (1 + SPLIT_SHARE) ** settings.rounds)), resolution=settings.resolution, shade=shade, seed=seed
    ).splats
    views = random_views(mesh, settings.views, settings.resolution, shade=shade, seed=seed, supersample=2)
    return fit_splats(start, views, count, settings, seed)


def fit_splats(start: Splats, views: Views, count: int, settings: PaperSettings, seed: int = 0) -> Splats:
    """Splats fitted to views, at most ``count`` of them."""
    generator = torch.Generator().manual_seed(seed)
    _, radius = bounding_sphere(start.means)
    rates = dict.fromkeys(_parameters(start), settings.rate) | {"means": settings.place_rate * radius}
    parameters = _parameters(start)
    optimizer = _adam(parameters, rates)
    gradient_norm = torch.zeros(start.splat_count)
    interval = settings.steps * 2 // (3 * max(settings.rounds, 1))
    for step in range(settings.steps):
        chosen = torch.randint(len(views.images), (settings.views_per_step,), generator=generator)
        optimizer.zero_grad()
        _loss(_splats(parameters), views, chosen, torch.rand(3, generator=generator)).backward()
        gradient = parameters["means"].grad
        assert gradient is not None
        gradient_norm += gradient.norm(dim=-1)
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * 0.1 ** (step / settings.steps)
        optimizer.step()
        if (step + 1) % interval == 0 and step + 1 <= settings.rounds * interval:
            parameters, optimizer = _densified(parameters, optimizer, gradient_norm, count, generator, rates)
            gradient_norm = torch.zeros(len(parameters["means"]))
    return _splats({name: value.detach() for name, value in parameters.items()})


def _loss(
    splats: Splats, views: Views, chosen: Int[Tensor, " chosen"], background: Float[Tensor, "3"]
) -> Float[Tensor, ""]:
    """Mean squared error over one background. A new one each time separates coverage from colour."""
    expected = views.images[chosen] + (1 - views.alphas[chosen][..., None]) * background
    return (rasterize_splats(splats, views.camera[chosen], background=background).image - expected).square().mean()


def _parameters(splats: Splats) -> Parameters:
    """The unconstrained parameters of splats, as leaves of the graph."""
    values = {
        "means": splats.means, "rotations": splats.rotations, "log_scales": splats.scales.log(),
        "logits": torch.logit(splats.opacities, 1e-3), "sh": splats.sh,
    }  # fmt: skip
    return {name: value.detach().clone().requires_grad_() for name, value in values.items()}


def _splats(parameters: Parameters) -> Splats:
    return Splats(
        parameters["means"],
        parameters["rotations"],
        parameters["log_scales"].exp(),
        torch.sigmoid(parameters["logits"]),
        parameters["sh"],
    )


def _adam(parameters: Parameters, rates: dict[str, float]) -> torch.optim.Adam:
    groups = [{"params": [value], "lr": rates[name], "initial_lr": rates[name]} for name, value in parameters.items()]
    return torch.optim.Adam(groups, eps=1e-15)


@torch.no_grad()
def _densified(
    parameters: Parameters,
    optimizer: torch.optim.Adam,
    gradient_norm: Float[Tensor, " splat"],
    count: int,
    generator: torch.Generator,
    rates: dict[str, float],
) -> tuple[Parameters, torch.optim.Adam]:
    """Without the invisible splats, and with those of the largest gradients split in two along their own shape."""
    visible = torch.sigmoid(parameters["logits"]) > MIN_OPACITY
    room = min(count - int(visible.sum()), round(SPLIT_SHARE * len(visible)))
    split = torch.zeros_like(visible)
    split[torch.where(visible, gradient_norm, -1.0).topk(max(room, 0)).indices] = True
    origin = torch.cat((torch.nonzero(visible & ~split)[:, 0], torch.nonzero(split)[:, 0].repeat(2)))
    new = {name: value[origin].clone() for name, value in parameters.items()}
    halves = split[origin]
    scales = new["log_scales"][halves].exp()
    offset = scales * torch.randn(scales.shape, generator=generator)
    new["means"][halves] += (quaternion_to_matrix(new["rotations"][halves]) @ offset[:, :, None]).squeeze(-1)
    new["log_scales"][halves] -= math.log(SPLIT_SHRINK)
    new = {name: value.requires_grad_() for name, value in new.items()}
    return new, _transferred_adam(optimizer, parameters, new, origin, rates)


def _transferred_adam(
    optimizer: torch.optim.Adam, old: Parameters, new: Parameters, origin: Int[Tensor, " splat"], rates: dict[str, float]
) -> torch.optim.Adam:
    """Adam with the moments of the splats the new ones come from; without them every densification disturbs the fit."""
    out = _adam(new, rates)
    for name, value in new.items():
        state = optimizer.state[old[name]]
        out.state[value] = {"step": state["step"]} | {key: state[key][origin].clone() for key in ("exp_avg", "exp_avg_sq")}
    return out
