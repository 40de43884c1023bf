"""Our Adam is torch's, bit by bit, and does not need torch's compiler."""

import subprocess
import sys

import pytest
import torch

from akd.adam import Adam


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("eps", [0.02, 1e-8])
def test_equals_torchs_adam_bit_by_bit(dtype, eps):
    randomness = torch.Generator().manual_seed(3)
    start = [torch.randn(shape, generator=randomness, dtype=dtype) for shape in ((7, 5), (), (3,))]
    ours, theirs = ([part.clone().requires_grad_() for part in start] for _ in range(2))
    adam, reference = Adam(ours, betas=(0.9, 0.99), eps=eps), torch.optim.Adam(theirs, betas=(0.9, 0.99), eps=eps)
    for step in range(30):
        rate = 0.1 / (1 + step)
        reference.param_groups[0]["lr"] = rate
        adam.zero_grad()
        reference.zero_grad()
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if number != 2 or step % 3 == 1:  # one that has no gradient at first, and not always
                a.grad = torch.randn(a.shape, generator=randomness, dtype=dtype)
                b.grad = a.grad.clone()
        adam.step(rate)
        reference.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    for a, b in zip(ours, theirs, strict=True):
        assert set(adam.state[a]) == set(reference.state[b])
        assert all(torch.equal(adam.state[a][key], value) for key, value in reference.state[b].items())


def test_a_step_does_not_import_torchs_compiler():
    step = (
        "import sys, torch; from akd.adam import Adam; x = torch.ones(2, requires_grad=True);"
        "adam = Adam([x], betas=(0.9, 0.99));"
        "x.square().sum().backward(); adam.step(0.1); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", step], check=False).returncode == 0
