"""The fast rasteriser equals its twin, the twin equals the rule it states, and both follow gsplat's conventions."""

import importlib.util
import math
import sys
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from akd.errors import AkdError
from akd.render import raster_gsplat
from akd.render.camera import Camera, look_at, rays
from akd.render.raster_reference import project
from akd.render.rasterize import Rendered, rasterize, rasterize_splats
from akd.splats import Splats, color_from_direction, color_from_sh, harmonics, sh_from_color

FRAMES, WIDTH, HEIGHT = 2, 37, 29
Scene = dict[str, Tensor]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def make_scene(kind: str, count: int = 150) -> Scene:
    """Splats around the origin seen by two cameras three away, spoiled in the way the name says; float64."""
    double = torch.float64
    count = 0 if kind == "empty" else count
    means = 0.5 * torch.randn(FRAMES, count, 3, dtype=double)
    axes = 0.06 * torch.randn(FRAMES, count, 3, 3, dtype=double)
    opacities = torch.rand(FRAMES, count, dtype=double)
    if kind == "behind":
        means *= 8  # many behind the cameras, some close before them and far outside their view
    if kind == "huge":
        axes[:, ::3] *= 40
    if kind == "needles":
        axes[..., 1:] *= 1e-3
        axes[..., 0] *= 8
    if kind == "points":
        axes *= 1e-4
    if kind == "opaque":
        opacities[:] = 1.0
    if kind == "faint":
        opacities *= 0.02
    if kind == "off_screen":
        means[..., 1] += 4.0
    eye = torch.tensor([[3.0, 1.0, 0.5], [-1.0, 2.0, 2.5]], dtype=double)
    camera = look_at(eye, torch.zeros(FRAMES, 3, dtype=double), width=WIDTH, height=HEIGHT, fov_y=0.6)
    return {
        "means": means,
        "covariances": axes @ axes.mT,
        "opacities": opacities,
        "colors": torch.rand(FRAMES, count, 3, dtype=double),
        "world_to_camera": camera.world_to_camera,
        "intrinsics": camera.intrinsics.clone(),
        "background": torch.rand(3, dtype=double),
    }


KINDS = ("ordinary", "behind", "huge", "needles", "points", "opaque", "faint", "off_screen", "empty")


def draw(scene: Scene, backend: str, near: float = 0.01) -> Rendered:
    camera = Camera(scene["world_to_camera"], scene["intrinsics"], WIDTH, HEIGHT)
    splats = (scene[name] for name in ("means", "covariances", "opacities", "colors"))
    return rasterize(*splats, camera, background=scene["background"], near=near, backend=backend)


def layers_and_gradients(scene: Scene, backend: str) -> dict[str, Tensor]:
    """All three layers, and the gradients of a random linear function of them with respect to everything."""
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in scene.items()}
    seen = draw(leaves, backend)
    layers = {"image": seen.image, "alpha": seen.alpha, "depth": seen.depth}
    generator = torch.Generator().manual_seed(1)
    loss = sum((layer * torch.randn(layer.shape, generator=generator).to(layer)).sum() for layer in layers.values())
    loss.backward()
    return {**layers, **{f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}}


@pytest.mark.parametrize("kind", KINDS)
def test_cpu_equals_reference(kind: str) -> None:
    scene = make_scene(kind)
    expected, found = (layers_and_gradients(scene, backend) for backend in ("reference", "cpu"))
    for name in expected:
        # Entries of a gradient differ by powers of ten: rounding is relative to the sum.
        size = 1 + expected[name].abs().sum()
        assert (found[name] - expected[name]).abs().sum() <= 1e-9 * size, name


@pytest.mark.parametrize("kind", KINDS)
def test_cpu_equals_reference_in_single_precision(kind: str) -> None:
    scene = make_scene(kind)
    expected = layers_and_gradients(scene, "reference")
    found = layers_and_gradients({name: tensor.float() for name, tensor in scene.items()}, "cpu")
    for name in expected:
        assert found[name].dtype == torch.float32
        # Rounding may push a splat over one of the two cut-offs, which moves a pixel by up to 1/255: compare as a whole.
        error = (found[name] - expected[name]).norm()
        assert error <= 3e-4 * expected[name].norm() + 1e-6, name


def test_scenes_do_what_their_names_say() -> None:
    """Otherwise the comparisons above would compare nothing."""
    covered = {kind: draw(make_scene(kind), "reference").alpha for kind in KINDS}
    assert covered["empty"].max() == 0
    assert covered["off_screen"].max() == 0
    assert 0 < covered["faint"].max() < 0.5
    assert covered["opaque"].max() > 0.999
    assert covered["huge"].mean() > 0.9
    for kind in ("ordinary", "behind", "needles", "points"):
        assert 0.02 < covered[kind].mean() < 0.95, kind


def test_reference_gradients_are_those_of_finite_differences() -> None:
    scene = make_scene("ordinary", 6)
    scene["covariances"] *= 20
    names = list(scene)

    def layers(*tensors: Tensor) -> tuple[Tensor, ...]:
        seen = draw(dict(zip(names, tensors, strict=True)), "reference")
        return seen.image[:, ::5, ::5], seen.alpha[:, ::5, ::5], seen.depth[:, ::5, ::5]

    leaves = tuple(scene[name].clone().requires_grad_() for name in names)
    assert torch.autograd.gradcheck(layers, leaves, eps=1e-7, atol=1e-5, rtol=1e-4, fast_mode=True)


def test_reference_follows_the_rule_pixel_by_pixel() -> None:
    """The rule of gsplat's kernel, splat after splat with its early end, against the vectorised products."""
    scene = make_scene("opaque", 120)
    scene["covariances"] *= 6
    seen = draw(scene, "reference")
    camera = Camera(scene["world_to_camera"], scene["intrinsics"], WIDTH, HEIGHT)
    flat = project(scene["means"], scene["covariances"], camera, 0.01, 1e10)
    means, conics, colors = flat.means[0].numpy(), flat.conics[0].numpy(), scene["colors"][0].numpy()
    background = scene["background"].numpy()
    order = np.argsort(flat.depths[0].numpy())
    ended = 0
    for row in range(0, HEIGHT, 3):
        for column in range(0, WIDTH, 3):
            through, color = 1.0, np.zeros(3)
            for i in order:
                dx, dy = column + 0.5 - means[i, 0], row + 0.5 - means[i, 1]
                a, b, c = conics[i]
                alpha = min(0.999, math.exp(-(a * dx * dx + c * dy * dy) / 2 - b * dx * dy))  # of an opaque splat
                if alpha < 1 / 255:
                    continue
                if through * (1 - alpha) <= 1e-4:
                    ended += 1
                    break
                color += through * alpha * colors[i]
                through *= 1 - alpha
            np.testing.assert_allclose(seen.image[0, row, column].numpy(), color + through * background, atol=1e-12)
            assert seen.alpha[0, row, column].item() == pytest.approx(1 - through, abs=1e-12)
    assert ended > 5


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_order_of_splats_does_not_matter(backend: str) -> None:
    scene = make_scene("ordinary")
    shuffle = torch.randperm(scene["means"].shape[1])
    names = ("means", "covariances", "opacities", "colors")
    mixed = {**scene, **{name: scene[name][:, shuffle] for name in names}}
    torch.testing.assert_close(draw(mixed, backend).image, draw(scene, backend).image, rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_shared_frames_equal_repeated_ones(backend: str) -> None:
    scene = make_scene("ordinary")
    names = ("means", "covariances", "opacities", "colors")
    shared = {**scene, **{name: scene[name][:1] for name in names}}
    repeated = {**scene, **{name: scene[name][:1].expand_as(scene[name]) for name in names}}
    one, many = layers_and_gradients(shared, backend), layers_and_gradients(repeated, backend)
    for name in one:
        is_shared = one[name].shape != many[name].shape
        torch.testing.assert_close(one[name], many[name].sum(0, keepdim=True) if is_shared else many[name])
    flat = {**shared, "opacities": shared["opacities"][0], "colors": shared["colors"][0]}
    torch.testing.assert_close(draw(flat, backend).image, one["image"])


def test_a_picture_as_background() -> None:
    scene = make_scene("ordinary")
    black = draw({**scene, "background": torch.zeros(3, dtype=torch.float64)}, "cpu")
    picture = torch.rand(FRAMES, HEIGHT, WIDTH, 3, dtype=torch.float64)
    seen = draw({**scene, "background": picture}, "cpu")
    torch.testing.assert_close(seen.image, black.image + (1 - black.alpha[..., None]) * picture)


def test_no_splats_give_the_background() -> None:
    scene = make_scene("empty")
    for backend in ("reference", "cpu"):
        seen = draw(scene, backend)
        assert torch.equal(seen.image, scene["background"].expand_as(seen.image))
        assert not seen.depth.any()


@pytest.mark.usefixtures("two_threads")
def test_threads_and_bands_change_nothing() -> None:
    tall = 160  # enough rows for several bands
    scene = make_scene("ordinary")
    camera = Camera(scene["world_to_camera"], scene["intrinsics"] * torch.tensor([[4.0], [4.0], [1.0]]), WIDTH * 4, tall)

    def picture(threads: int) -> tuple[Tensor, Tensor]:
        torch.set_num_threads(threads)
        means = scene["means"].clone().requires_grad_()
        seen = rasterize(means, scene["covariances"], scene["opacities"], scene["colors"], camera, backend="cpu")
        (seen.image.square().sum() + seen.depth.sum()).backward()
        return seen.image.detach(), means.grad

    (one, one_gradient), (two, two_gradient) = picture(1), picture(2)
    assert torch.equal(one, two)
    torch.testing.assert_close(one_gradient, two_gradient)


@pytest.mark.usefixtures("two_threads")
def test_chunks_of_splats_change_nothing() -> None:
    scene = {name: tensor[:1] if tensor.ndim > 1 else tensor for name, tensor in make_scene("behind", count=9_000).items()}
    two = layers_and_gradients(scene, "cpu")
    torch.set_num_threads(1)
    for name, value in layers_and_gradients(scene, "cpu").items():
        torch.testing.assert_close(two[name], value, msg=lambda text, name=name: f"{name}: {text}")
    assert torch.equal(two["image"], layers_and_gradients(scene, "cpu")["image"])


@pytest.mark.usefixtures("two_threads")
def test_several_callers_at_once() -> None:
    scene = make_scene("ordinary")
    expected = layers_and_gradients(scene, "cpu")
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: layers_and_gradients(scene, "cpu"), range(8)):
            assert torch.equal(found["image"], expected["image"])
            torch.testing.assert_close(found["gradient of means"], expected["gradient of means"])


def test_cpu_reads_the_users_memory() -> None:
    from akd.render.raster_cpu import _frame_rows

    covariances = make_scene("ordinary")["covariances"].requires_grad_()
    assert _frame_rows(covariances)[0].ctypes.data == covariances.data_ptr()


def test_vector_exponential_is_exact_to_rounding() -> None:
    import numba

    from akd.render.simd import WIDTH, exp2, load, store

    @numba.njit
    def powers(x, out):
        for i in range(0, len(x), WIDTH):
            store(out, i, exp2(load(x, i)))

    x = np.linspace(-30, 4, 8000).astype(np.float32)
    out = np.empty_like(x)
    powers(x, out)
    np.testing.assert_allclose(out, np.exp2(x.astype(np.float64)), rtol=2.5e-7)


# What gsplat itself says, from the parts of it that need no GPU.


@pytest.fixture(scope="module")
def gsplat_torch() -> types.ModuleType:
    """gsplat's plain torch twins of its kernels, loaded without the package around them, which wants CUDA."""
    package = importlib.util.find_spec("gsplat")
    if package is None or package.origin is None:
        pytest.skip("gsplat is not installed")
    spec = importlib.util.spec_from_file_location("gsplat_torch", Path(package.origin).parent / "cuda" / "_torch_impl.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["ordinary", "behind", "huge", "needles"])
def test_projection_is_gsplats(gsplat_torch: types.ModuleType, kind: str) -> None:
    scene = make_scene(kind)
    camera = Camera(scene["world_to_camera"], scene["intrinsics"], WIDTH, HEIGHT)
    ours = project(scene["means"], scene["covariances"], camera, 0.01, 1e10)
    radii, means, depths, conics, _ = gsplat_torch._fully_fused_projection(
        scene["means"], scene["covariances"], camera.world_to_camera[:, None], camera.intrinsics[:, None], WIDTH, HEIGHT
    )
    radii, means, depths, conics = (tensor[:, 0] for tensor in (radii, means, depths, conics))
    kept = (radii > 0).all(-1)
    assert kept.any()
    assert bool(ours.visible[kept].all())
    for found, expected in ((ours.means, means), (ours.conics, conics), (ours.depths, depths)):
        torch.testing.assert_close(found[kept], expected[kept], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_spherical_harmonics_are_gsplats(gsplat_torch: types.ModuleType, degree: int) -> None:
    directions = torch.randn(40, 3, dtype=torch.float64)
    sh = torch.randn(40, (degree + 1) ** 2, 3, dtype=torch.float64)
    expected = torch.clamp(gsplat_torch._spherical_harmonics(degree, directions, sh) + 0.5, min=0)
    torch.testing.assert_close(color_from_direction(sh, directions), expected, rtol=1e-9, atol=1e-9)


def test_harmonics_are_orthonormal() -> None:
    directions = torch.nn.functional.normalize(torch.randn(200_000, 3), dim=-1)
    basis = harmonics(directions, 3)
    gram = 4 * math.pi * basis.T @ basis / len(basis)
    torch.testing.assert_close(gram, torch.eye(16), rtol=0, atol=0.05)


def test_gsplat_is_called_with_a_batch_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with gsplat's interface that checks shapes as gsplat does and answers with our reference."""

    def rasterization(
        means, quats, scales, opacities, colors, viewmats, Ks, width, height, near_plane, far_plane, packed, render_mode, covars
    ):
        frames, count = means.shape[:2]
        assert quats is None
        assert scales is None
        assert not packed
        assert render_mode == "RGB+D"
        assert covars.shape == (frames, count, 3, 3)
        assert opacities.shape == (frames, count)
        assert colors.shape == (frames, 1, count, 3)
        assert viewmats.shape == (frames, 1, 4, 4)
        assert Ks.shape == (frames, 1, 3, 3)
        camera = Camera(viewmats[:, 0], Ks[:, 0], width, height)
        seen = rasterize(
            means, covars, opacities, colors[:, 0], camera, near=near_plane, far=far_plane, backend="reference"
        )
        return torch.cat((seen.image, seen.depth[..., None]), -1)[:, None], seen.alpha[:, None, ..., None], {}

    fake = types.ModuleType("gsplat")
    fake.rasterization = rasterization
    monkeypatch.setitem(sys.modules, "gsplat", fake)
    monkeypatch.setattr(raster_gsplat, "rasterize_gsplat", raster_gsplat.rasterize_with_gsplat)  # these tensors are not on CUDA
    scene = make_scene("ordinary")
    scene["colors"] = scene["colors"][:1]
    expected, found = (draw(scene, backend) for backend in ("reference", "gsplat"))
    for layer in ("image", "alpha", "depth"):
        torch.testing.assert_close(getattr(found, layer), getattr(expected, layer))


def test_an_explicit_backend_never_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = make_scene("ordinary")
    monkeypatch.setattr(raster_gsplat, "gsplat_is_installed", lambda: True)
    with pytest.raises(AkdError, match="CUDA"):
        draw(scene, "gsplat")
    monkeypatch.setattr(raster_gsplat, "gsplat_is_installed", lambda: False)
    with pytest.raises(AkdError, match="not installed"):
        draw(scene, "gsplat")
    half = {name: tensor.half() for name, tensor in scene.items()}
    with pytest.raises(AkdError, match="float32"):
        draw(half, "cpu")


# What a user may get wrong.


@pytest.mark.parametrize("name", ["means", "covariances", "opacities", "colors", "background", "world_to_camera", "intrinsics"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_not_a_number_is_refused(name: str, value: float) -> None:
    scene = make_scene("ordinary")
    scene[name].view(-1)[1] = value
    with pytest.raises(AkdError, match="NaN or infinity"):
        draw(scene, "auto")


def test_negative_variance_is_refused() -> None:
    scene = make_scene("ordinary")
    scene["covariances"][0, 3, 1, 1] = -0.1
    with pytest.raises(AkdError, match="negative variance"):
        draw(scene, "auto")


@pytest.mark.parametrize("name", ["means", "covariances", "opacities", "colors"])
def test_mismatched_batches_are_refused(name: str) -> None:
    scene = make_scene("ordinary")
    scene[name] = torch.cat((scene[name], scene[name][:1]))
    # The shape annotations would catch this first here; users run without them.
    with pytest.raises(AkdError, match="need"):
        _unchecked(rasterize)(
            scene["means"], scene["covariances"], scene["opacities"], scene["colors"],
            Camera(scene["world_to_camera"], scene["intrinsics"], WIDTH, HEIGHT),
        )  # fmt: skip


def test_mixed_precision_and_impossible_planes_are_refused() -> None:
    scene = make_scene("ordinary")
    with pytest.raises(AkdError, match="make them alike"):
        draw({**scene, "colors": scene["colors"].float()}, "auto")
    with pytest.raises(AkdError, match="near plane"):
        draw(scene, "auto", near=0.0)


def _unchecked(function):
    import inspect

    return inspect.unwrap(function)


# Cameras, and splats as a whole.


def test_a_camera_looks_at_its_target_the_right_way_up() -> None:
    eye, target = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 0.0]]), torch.tensor([[0.5, 0.2, -0.1], [0.0, 0.0, 0.0]])
    camera = look_at(eye, target, width=64, height=48, fov_y=0.9)
    torch.testing.assert_close(camera.centers, eye)
    rotation = camera.world_to_camera[:, :3, :3]
    torch.testing.assert_close(rotation @ rotation.mT, torch.eye(3).expand(2, 3, 3))
    torch.testing.assert_close(torch.linalg.det(rotation), torch.ones(2))

    def pixels(points: Tensor) -> Tensor:
        seen = points @ rotation.mT + camera.world_to_camera[:, None, :3, 3]
        flat = seen @ camera.intrinsics.mT
        return flat[..., :2] / flat[..., 2:]

    torch.testing.assert_close(pixels(target[:, None])[:, 0], torch.tensor([[32.0, 24.0]]).expand(2, 2))
    above = pixels(target[:, None] + torch.tensor([0.0, 0.1, 0.0]))[0, 0]
    assert above[1] < 23  # y points down in pictures
    assert above[0] == pytest.approx(32, abs=1e-3)
    centers, directions = rays(camera)
    back = pixels((centers[:, None, None] + 2.5 * directions).flatten(1, 2)).unflatten(1, (48, 64))
    torch.testing.assert_close(back[1, 7, 11], torch.tensor([11.5, 7.5]), rtol=0, atol=1e-3)
    torch.testing.assert_close(back[0, 47, 0], torch.tensor([0.5, 47.5]), rtol=0, atol=1e-3)


def test_splats_of_one_colour_look_the_same_from_everywhere() -> None:
    count = 30
    color = torch.rand(count, 3)
    scales = torch.rand(count, 3) * 0.1 + 0.01
    splats = Splats(torch.randn(count, 3) * 0.3, torch.randn(count, 4), scales, torch.rand(count), sh_from_color(color))
    camera = look_at(torch.tensor([[3.0, 0.5, 0.0]]), torch.zeros(1, 3), width=WIDTH, height=HEIGHT, fov_y=0.5)
    seen = rasterize_splats(splats, camera, background=torch.ones(3))
    plain = rasterize(
        splats.means[None], splats.covariances[None], splats.opacities, color_from_sh(splats.sh), camera, background=torch.ones(3)
    )
    torch.testing.assert_close(seen.image, plain.image)
    with pytest.raises(AkdError, match="must be positive"):
        rasterize_splats(Splats(splats.means, splats.rotations, -splats.scales, splats.opacities, splats.sh), camera)
