"""Splat PLY: write then read is the identity, every byte order says the same, other layouts are named."""

from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh

from akd.errors import AkdError
from akd.files.splat_ply import read_splats, write_splats
from akd.splats import Splats


def random_splats(count: int = 7, coefficients: int = 4, seed: int = 0) -> Splats:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    return Splats(draw(count, 3), draw(count, 4), draw(count, 3).exp(), torch.sigmoid(draw(count)), draw(count, coefficients, 3))


def same(a: Splats, b: Splats, tolerance: float = 1e-6) -> bool:
    names = ("means", "rotations", "scales", "opacities", "sh")
    return all(torch.allclose(getattr(a, name), getattr(b, name), rtol=tolerance, atol=tolerance) for name in names)


def rewritten(path: Path, order: str) -> None:
    """The same table in another byte order, or as text."""
    head, body = path.read_bytes().split(b"end_header\n", 1)
    table = np.frombuffer(body, "<f4").reshape(-1, head.count(b"property"))
    if order == "ascii":
        body = "\n".join(" ".join(f"{x:.9g}" for x in row) for row in table).encode() + b"\n"
    else:
        body = table.astype(">f4").tobytes()
    path.write_bytes(head.replace(b"binary_little_endian", order.encode()) + b"end_header\n" + body)


@pytest.mark.parametrize("coefficients", [1, 4, 9, 16])
@pytest.mark.parametrize("order", ["binary_little_endian", "binary_big_endian", "ascii"])
def test_write_then_read_is_the_identity(tmp_path: Path, coefficients: int, order: str) -> None:
    splats, path = random_splats(coefficients=coefficients), tmp_path / "splats.ply"
    write_splats(path, splats)
    if order != "binary_little_endian":
        rewritten(path, order)
    back, notes = read_splats(path)
    assert same(back, splats)
    assert notes == ()


def test_opacities_at_the_ends_survive(tmp_path: Path) -> None:
    splats = random_splats(2)
    splats = Splats(splats.means, splats.rotations, splats.scales, torch.tensor([0.0, 1.0]), splats.sh)
    write_splats(tmp_path / "ends.ply", splats)
    assert same(read_splats(tmp_path / "ends.ply")[0], splats)


def test_columns_mean_what_the_original_code_means(tmp_path: Path) -> None:
    """By hand: logit, log, and harmonics with all of red before green."""
    columns = ["x", "y", "z", *(f"f_dc_{i}" for i in range(3)), *(f"f_rest_{i}" for i in range(9)), "opacity"]
    columns += [*(f"scale_{i}" for i in range(3)), *(f"rot_{i}" for i in range(4))]
    row = [1, 2, 3, 0.1, 0.2, 0.3, *range(10, 19), 0, 0, np.log(2), np.log(3), 1, 0, 0, 0]
    header = ["ply", "format ascii 1.0", "comment by hand", "element vertex 1", *(f"property float {x}" for x in columns)]
    (tmp_path / "one.ply").write_text("\r\n".join([*header, "end_header", " ".join(map(str, row)), ""]))
    splats, _ = read_splats(tmp_path / "one.ply")
    assert splats.opacities.tolist() == [0.5]
    assert torch.allclose(splats.scales, torch.tensor([[1.0, 2, 3]]))
    assert torch.allclose(splats.sh[0], torch.tensor([[0.1, 0.2, 0.3], [10, 13, 16], [11, 14, 17], [12, 15, 18]]))


def test_bad_splats_are_left_out_with_a_note(tmp_path: Path) -> None:
    splats = random_splats(5)
    splats.means[1, 0], splats.rotations[2], splats.sh[3, 0, 0] = torch.nan, 0.0, torch.inf
    write_splats(tmp_path / "some.ply", splats)
    back, notes = read_splats(tmp_path / "some.ply")
    assert torch.equal(back.means, splats.means[[0, 4]])
    assert "3 of 5" in notes[0]
    splats.means[:] = torch.nan
    write_splats(tmp_path / "none.ply", splats)
    with pytest.raises(AkdError, match="no usable splat"):
        read_splats(tmp_path / "none.ply")


def test_real_captures(assets: Path) -> None:
    guitar, notes = read_splats(assets / "gs_guitar" / "guitar.ply")
    assert guitar.splat_count == 90854
    assert notes == ()
    small, _ = read_splats(assets / "gs_combined_formats" / "combined_SPZv3.ply")
    assert small.sh.shape == (1566, 4, 3)
    for splats in (guitar, small):
        assert splats.opacities.min() >= 0
        assert splats.opacities.max() <= 1
        assert splats.scales.median() < 0.05 * (splats.means.amax(0) - splats.means.amin(0)).max()  # small against the object


@pytest.mark.parametrize("name", ["combined_SPZv3.compressed.ply", "combined_SPZv3.spz", "combined_SPZv3.sog"])
def test_other_formats_are_named_with_a_cure(assets: Path, name: str) -> None:
    with pytest.raises(AkdError, match="splat-transform"):
        read_splats(assets / "gs_combined_formats" / name)


def test_what_is_not_splats(tmp_path: Path, assets: Path) -> None:
    with pytest.raises(AkdError, match="is a mesh"):
        read_splats(assets / "pinocchio_data" / "13_low_w.ply")
    trimesh.PointCloud(np.eye(3)).export(tmp_path / "points.ply")
    with pytest.raises(AkdError, match="point cloud"):
        read_splats(tmp_path / "points.ply")
    (tmp_path / "text.ply").write_text("hello")
    with pytest.raises(AkdError, match="not a PLY file"):
        read_splats(tmp_path / "text.ply")
    write_splats(tmp_path / "cut.ply", random_splats())
    content = (tmp_path / "cut.ply").read_bytes()
    (tmp_path / "cut.ply").write_bytes(content[:-1])
    with pytest.raises(AkdError, match="cut off"):
        read_splats(tmp_path / "cut.ply")
    (tmp_path / "cut.ply").write_bytes(content.replace(b"property float f_rest_8\n", b""))
    with pytest.raises(AkdError, match="8 columns f_rest"):
        read_splats(tmp_path / "cut.ply")


def test_one_single_splat(tmp_path: Path) -> None:
    write_splats(tmp_path / "one.ply", random_splats(1))
    assert same(read_splats(tmp_path / "one.ply")[0], random_splats(1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("element vertex 7", "element vertex " + "9" * 5000), "not understood"),
        (("element vertex 7", "element vertex 999999999999999999"), "cut off"),
        (("element vertex 7", "element vertex 0"), "cut off"),
        (("element vertex 7", "element vertex -1"), "not understood"),
        (("element vertex 7", "element odd 999999999999999999\nproperty double q\nelement vertex 7"), "cut off"),
        (("property float z", "property float z\nproperty float z"), "not understood"),
        (("property float z", "".join(f"property float c{i}\n" for i in range(2000)) + "property float z"), "not understood"),
        (("property float z", "property list uchar int z"), "lists"),
        (("ply\n", "plyboard\n"), "no PLY header"),
        (("format binary_little_endian 1.0\n", ""), "no format"),
        (("end_header\n", "end_headers\n"), "no PLY header"),
    ],
)
def test_wild_headers(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    write_splats(tmp_path / "wild.ply", random_splats())
    content = (tmp_path / "wild.ply").read_bytes()
    assert change[0].encode() in content
    (tmp_path / "wild.ply").write_bytes(content.replace(change[0].encode(), change[1].encode(), 1))
    with pytest.raises(AkdError, match=rf"^wild\.ply[^\n]*{words}[^\n]*\.$"):
        read_splats(tmp_path / "wild.ply")


def test_a_comment_may_speak_of_the_end(tmp_path: Path) -> None:
    write_splats(tmp_path / "said.ply", random_splats())
    content = (tmp_path / "said.ply").read_bytes()
    (tmp_path / "said.ply").write_bytes(content.replace(b"element", b"comment the end_header\nelement", 1))
    assert same(read_splats(tmp_path / "said.ply")[0], random_splats())


@pytest.mark.parametrize("order", ["binary_little_endian", "ascii"])
def test_damaged_files_end_in_splats_or_an_error(tmp_path: Path, order: str) -> None:
    rng, read = np.random.default_rng(0), 0
    good, path = tmp_path / "good.ply", tmp_path / "damaged.ply"
    write_splats(good, random_splats())
    if order == "ascii":
        rewritten(good, order)
    for _ in range(300):
        content = bytearray(good.read_bytes())
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] = rng.integers(0, 256) if rng.random() < 0.3 else content[rng.integers(0, len(content))]
        path.write_bytes(bytes(content[: rng.integers(1, 3 * len(content))]))
        try:
            splats, _ = read_splats(path)
        except AkdError:
            continue
        read += 1
        assert bool(torch.isfinite(splats.covariances).all())
    assert read > 20
