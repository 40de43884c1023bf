"""Bodies whose mechanics can be told by hand: chains of boxes, and one box on the ground."""

import numpy as np
import torch

from akd.character.articulation import Articulation
from akd.physics.reference import kinematics
from akd.physics.settings import PhysicsSettings, State
from akd.skeleton import bone_frames

PASSIVE = PhysicsSettings(substeps=10, stiffness=0.0, damping=0.0, clip_mode="none")
"""No muscles."""


def chain_body(link_count: int = 4, *, anchored: bool = False, gravity: float = 9.81, seed: int = 0) -> Articulation:
    """A chain that points sideways, every link a box of its own size with its mass beside the joint's axis."""
    random = np.random.default_rng(seed)
    parents = np.arange(-1, link_count - 1)
    heads = np.cumsum(np.r_[np.zeros((1, 3)), random.uniform(0.2, 0.4, (link_count - 1, 3)) * (1, -1, 0.3)], 0)
    mass = random.uniform(0.5, 1.0, link_count)
    mass /= mass.sum()
    squares = random.uniform(0.05, 0.15, (link_count, 3)) ** 2
    inertia = np.array([np.diag(m / 3 * (s.sum() - s)) for m, s in zip(mass, squares, strict=True)])
    tails = np.r_[heads[1:], heads[-1:] + (0.3, -0.1, 0.0)]
    return Articulation(
        names=tuple(f"link_{i}" for i in range(link_count)), parents=parents, joints=np.arange(link_count),
        link_of_joint=np.arange(link_count), offsets=np.r_[np.zeros((1, 3)), np.diff(heads, axis=0)],
        frames=bone_frames(parents, heads, tails), mass=mass, com=(tails - heads) / 2 + 0.05, inertia=inertia,
        points=np.zeros((0, 3)), point_link=np.zeros(0, int), point_leg=np.zeros(0, int), gravity=gravity, anchored=anchored,
    )  # fmt: skip


def brick(half: tuple[float, float, float] = (0.3, 0.1, 0.2), gravity: float = 9.81) -> Articulation:
    """One box that touches the ground with its corners."""
    squares = np.array(half) ** 2
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return Articulation(
        names=("brick",), parents=np.array([-1]), joints=np.array([0]), link_of_joint=np.array([0]), offsets=np.zeros((1, 3)),
        frames=np.eye(3)[None], mass=np.ones(1), com=np.zeros((1, 3)), inertia=np.diag((squares.sum() - squares) / 3)[None],
        points=signs * np.array(half), point_link=np.zeros(8, int), point_leg=np.full(8, -1), gravity=gravity,
    )  # fmt: skip


def moving_state(body: Articulation, *, height: float = 0.0, speed: float = 1.0, bend: float = 0.3, seed: int = 0) -> State:
    """A bent body that moves and turns at random, one sample, double precision."""
    random = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(1, *shape, generator=random, dtype=torch.float64)  # noqa: E731
    rotation = torch.cat((torch.ones(1, 1, dtype=torch.float64), bend * draw(3)), -1)
    free = 0.0 if body.anchored else 1.0
    inner = torch.ones(body.link_count, 1, dtype=torch.float64)
    inner[0] = 0
    return State(
        torch.tensor([[0.0, height, 0.0]], dtype=torch.float64), rotation / rotation.norm(),
        bend * draw(body.link_count, 3) * inner,
        free * speed * draw(3), free * speed * draw(3), speed * draw(body.link_count, 3) * inner,
    )  # fmt: skip


def mechanics(body: Articulation, states: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Energy, momentum and angular momentum about the centre of mass, over the batch axes."""
    links = kinematics(body, states)
    com, velocity, turning, energy = [], [], [], torch.zeros_like(states.position[..., 0])
    for i, link in enumerate(links):
        arm = link.rotation @ torch.as_tensor(body.com[i])
        inertia = link.rotation @ torch.as_tensor(body.inertia[i]) @ link.rotation.transpose(-1, -2)
        com.append(link.position + arm)
        velocity.append(link.velocity + torch.linalg.cross(link.spin, arm))
        turning.append((inertia @ link.spin[..., None]).squeeze(-1))
        energy = energy + 0.5 * body.mass[i] * velocity[-1].square().sum(-1) + 0.5 * (link.spin * turning[-1]).sum(-1)
        energy = energy + body.mass[i] * body.gravity * com[-1][..., 1]
    center = sum(m * c for m, c in zip(body.mass, com, strict=True))
    momentum = sum(m * v for m, v in zip(body.mass, velocity, strict=True))
    angular = sum(
        t + m * torch.linalg.cross(c - center, v) for t, m, c, v in zip(turning, body.mass, com, velocity, strict=True)
    )
    return energy.numpy(), momentum.numpy(), angular.numpy()
