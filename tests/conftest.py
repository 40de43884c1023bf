"""Shape annotations run in the tests; real assets are used where they lie beside the project."""

import signal
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

SOURCE = Path(__file__).resolve().parents[1] / "src"
# Reading JSON calls tiny functions hundreds of thousands of times and has no shapes to check.
# Warp compiles its kernels from their own source, annotations included.
UNCHECKED = {"akd.files.gltf.json_entry", "akd.physics.kernel", "akd.render.raycast_warp"}
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("*.py")}
install_import_hook(sorted(MODULES - UNCHECKED), "typechecker.check")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts background commands deaf to Ctrl-C, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of real rigs made by others."""
    if not ASSETS.is_dir():
        pytest.skip("the folder of real assets is not here")
    return ASSETS
