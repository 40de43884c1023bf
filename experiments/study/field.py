"""A deformation field in place of the skeleton: a small network over space and time moves every splat on its own.

The ablation "deformation field" of docs/distill.md: same prior, film and budget as the skeleton's.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.contact.traces import Trace, foot_on, tip_feet
from akd.cuboids import bone_cuboids, cuboid_corners
from akd.distill.estimators import ESTIMATORS, ScoreInputs, draw_noise
from akd.distill.recipe import PAPER_LATENTS
from akd.distill.soft_film import shoot_softly
from akd.distill.task import Task
from akd.render.film import MovingSplats
from akd.skeleton import Posed

WIDTH = 64
OCTAVES = 4
"""Octaves of the positional encoding, from a wavelength of 2 ℓ down."""
HARMONICS = 3
"""Time as so many harmonics of the stride's frequency, like the skeleton's curves."""
INITIAL_WEIGHT_STD = 1e-3
"""Standard deviation of the last layer's initial weights: nearly nothing moves."""
LEARNING_RATE = 1e-3
"""Learning rate of the network's weights."""
Times = Float[Tensor, " frame"]
Places = Float[Tensor, "place 3"]


class DeformationField(nn.Module):
    """Where each place of the body at rest is at a time; at first, where it was, going ahead."""

    def __init__(self, frequency: float, speed: float, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = nn.Linear(3 + 6 * OCTAVES + 2 * HARMONICS, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
            nn.init.normal_(layers[-1].weight, std=INITIAL_WEIGHT_STD)
            nn.init.zeros_(layers[-1].bias)
        self.network = nn.Sequential(layers[0], nn.SiLU(), layers[1], nn.SiLU(), layers[2])
        self.frequency, self.speed = frequency, speed

    def forward(self, places: Places, times: Times) -> Float[Tensor, "frame place 3"]:
        waves = torch.pi * 2.0 ** torch.arange(OCTAVES) * places[..., None]
        where = torch.cat((places, waves.sin().flatten(1), waves.cos().flatten(1)), -1)
        phase = 2 * torch.pi * self.frequency * torch.arange(1, HARMONICS + 1) * times[:, None]
        when = torch.cat((phase.sin(), phase.cos()), -1)
        shape = (len(times), len(places), -1)
        moved = self.network(torch.cat((where.expand(shape), when[:, None].expand(shape)), -1))
        ahead = torch.stack((self.speed * times, torch.zeros_like(times), torch.zeros_like(times)), -1)
        return places + moved + ahead[:, None]


class FieldDistillation:
    """``loop.Distillation`` with a field in place of the skeleton: same film, estimator, noise and weights."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.field = DeformationField(task.start_frequency, task.start_speed, task.seed)
        self.optimiser = torch.optim.Adam(self.field.parameters(), lr=LEARNING_RATE)
        self.iteration = 0

    def step(self) -> dict[str, float]:
        """One iteration; returns what was measured."""
        task, recipe, prior = self.task, self.task.recipe, self.task.prior
        settings = prior.film
        randomness = torch.Generator().manual_seed(task.seed * 1_000_003 + self.iteration)
        view = settings.sample_views(1, randomness)[0]
        noise, t = draw_noise(prior.film_latents, recipe.draws, recipe.noise_range(self.iteration), randomness)
        moving = self.moving(torch.arange(settings.frames) / task.fps)
        z = prior.encode(shoot_softly(task.rig.skeleton, moving, task.skinned, settings, view, task.fps)[None])
        words = prior.embed(task.prompt), tuple(map(prior.embed, task.negative_prompts))
        inputs = ScoreInputs(noise, t, *words, recipe.guidance, recipe.denoising_steps)
        gradient = ESTIMATORS[recipe.estimator](prior, z.detach(), inputs)
        smooth = moving.means.diff(n=2, dim=0).abs().mean()
        ground = (-moving.means[..., 1]).clamp(min=0).mean()
        rest = z.numel() / PAPER_LATENTS * (recipe.smooth * smooth + recipe.ground * ground)
        self.optimiser.zero_grad()
        ((z * gradient).sum() + rest).backward()
        self.optimiser.step()
        self.iteration += 1
        return {"score": float(gradient.square().mean().sqrt())}

    def moving(self, times: Times) -> MovingSplats:
        """The splats at these times; they move and do not turn."""
        splats, count = self.task.skinned.splats, len(times)
        means = self.field(splats.means, times)
        above = means[..., 1].detach() >= 0
        turns = torch.eye(3).expand(count, splats.splat_count, 3, 3)
        return MovingSplats(means, splats.covariances.expand(count, -1, 3, 3), splats.opacities * above, turns)

    @torch.no_grad()
    def trace(self, frames: int, fps: float) -> Trace:
        """What the metrics look at: joints, soles and skin go where the field takes them."""
        rig, times = self.task.rig, torch.arange(frames) / fps

        def carried(points: np.ndarray) -> np.ndarray:
            flat = torch.as_tensor(points.reshape(-1, 3), dtype=torch.float32)
            return self.field(flat, times).double().numpy().reshape(frames, *points.shape)

        at_rest = Posed(torch.eye(3).double().expand(rig.skeleton.joint_count, 3, 3), torch.as_tensor(rig.skeleton.positions))
        corners = cuboid_corners(rig.skeleton, bone_cuboids(rig), at_rest).numpy()
        skin, joints = carried(rig.mesh.vertices), carried(rig.skeleton.positions)
        feet = tip_feet(rig, joints)
        for foot, sole in enumerate(rig.soles):
            if len(sole):
                feet[:, foot] = foot_on(skin[:, sole])
        return Trace(
            fps=fps, joints=joints, root_rotation=np.tile(np.eye(3), (frames, 1, 1)), coordinates=joints.reshape(frames, -1),
            feet=feet, lowest=skin[..., 1].min(1), corners=carried(corners),
        )  # fmt: skip
