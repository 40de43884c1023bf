"""What a user gets: the wheel holds the program only, and an empty environment with its core dependencies does the main job."""

import gc
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from akd.cli import EXTRAS
from akd.garbage import collection_paused

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def bring(extra: str) -> set[str]:
    return {Requirement(text).name for text in PROJECT["optional-dependencies"][extra]}


def test_an_error_about_a_missing_module_names_the_extra_that_brings_it():
    for module, extra in EXTRAS.items():
        assert {"cv2": "opencv-python-headless"}.get(module, module) in bring(extra)


def test_python_m_akd_is_the_command_line():
    said = subprocess.run([sys.executable, "-m", "akd", "--help"], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    assert "animate" in said.stdout


def test_help_imports_no_arrays():
    """Nor anything else that takes long."""
    heavy = {"numpy", "torch", "scipy", "numba", "warp", "trimesh", "PIL"}
    show = "import sys\ntry: main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    for arguments in (["--help"], ["animate", "--help"], ["prior", "train", "--help"]):
        command = [sys.executable, "-c", f"from akd.cli import main\n{show}", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "src")
        assert ran.stdout
        assert not heavy & set(ran.stderr.split())


def test_garbage_is_collected_again_after_the_start():
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()  # who has switched it off wants that
    finally:
        gc.enable()


def own_files() -> list[str]:
    """Files of this tree that git knows or would take up."""
    listed = subprocess.check_output(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT)
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy: setuptools would take up what an older build has left in the tree.
    for name in own_files():
        if name.startswith(("src/", "pyproject.toml", "README.md", "LICENSE", "NOTICE")):
            copy = folder / "tree" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder, folder / "tree")
    (built,) = folder.glob("*.whl")
    return built


def pip(python: Path | str, *arguments: object) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)], check=True)


@pytest.mark.slow
def test_the_wheel_holds_the_program_and_nothing_else(wheel: Path):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in own_files() if name.startswith("src/")}
    licences = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE", "three.LICENSE"}
    assert "akd/prior/weights/transformer/diffusion_pytorch_model.safetensors" in names
    assert "akd/prior/actions/reader/reader.safetensors" in names
    assert not [name for name in names if not name.startswith("akd/") or name.endswith((".pyc", ".nbi", ".nbc"))]


@pytest.mark.slow
def test_an_empty_environment_does_the_main_job(wheel: Path, tmp_path: Path):
    venv.create(tmp_path / "empty", with_pip=True)
    scripts = tmp_path / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    pip(scripts / "python", "install", "-c", ROOT / "constraints.txt", "torch")
    pip(scripts / "python", "install", "-c", ROOT / "constraints.txt", wheel)
    command = [scripts / "akd", "animate", "a dog walking", "--iterations", "2", "--track", "--out", "dog"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    for name in ("animated.glb", "preview.mp4", "report.html", "motion.npz", "tracked/animated.glb", "tracked/metrics.json"):
        assert (tmp_path / "dog" / name).stat().st_size > 0
    refused = subprocess.run([scripts / "akd", "prior", "info"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert refused.returncode == 2
    assert "akd[prior]" in refused.stderr
