"""The shipped weights: one safetensors file with the network's sizes in its header."""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

from akd.errors import AkdError
from akd.posespace.network import NetworkConfig, PoseNetwork

SHIPPED = Path(__file__).parent / "weights" / "posespace.safetensors"


def save_weights(network: PoseNetwork, path: Path, facts: dict[str, str]) -> None:
    """Write a network; ``facts`` say where it comes from."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"config": json.dumps(asdict(network.config)), **facts}
    # Half precision is far below what training leaves uncertain, and halves the package.
    save_file({name: value.half().contiguous() for name, value in network.state_dict().items()}, path, about)


@cache
def load_network(path: Path = SHIPPED) -> PoseNetwork:
    """A trained network, frozen; each file is read once."""
    from safetensors import safe_open

    if not path.is_file():
        raise AkdError(f"There are no pose-space weights at {path}: train some with `akd posespace train`.")
    with safe_open(path, "pt") as stored:
        network = PoseNetwork(NetworkConfig(**json.loads(stored.metadata()["config"])))
        network.load_state_dict({name: stored.get_tensor(name).float() for name in stored.keys()})  # noqa: SIM118
    return network.requires_grad_(False).eval()
