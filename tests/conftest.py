"""Shape annotations run in the tests; real assets are used where they lie beside the project."""

from pathlib import Path

import pytest
from jaxtyping import install_import_hook

install_import_hook("akd", "typechecker.check")

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of real rigs made by others."""
    if not ASSETS.is_dir():
        pytest.skip("the folder of real assets is not here")
    return ASSETS
