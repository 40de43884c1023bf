"""The command that looks at the machine before anybody spends an hour on it."""

import sys
from typing import Any

from akd.cli.console import PLAIN, console, watched

MARKS = {"good": "+", "note": "·", "bad": "!"}
UNFIT = 1
"""Exit code where the main job would not run."""


def doctor(*, selftest: bool = False, device: str = "auto", model: str | None = None, card: float | None = None) -> None:
    """Look at this machine: versions, cards, memory, disk, packages, and which video models fit. Exit status 1 if the main job
    would not run.

    Examples:
        akd doctor
        akd doctor --selftest --device cuda
        akd doctor --card 12

    Args:
        selftest: Compute the same step on the processor and on the device and compare; then one step of a whole model with random
            weights, for its true memory and time. About a minute on a card.
        device: The device to test: auto, cpu, cuda, cuda:1, mps.
        model: The model whose whole step is tested; by default CogVideoX-2b, on a processor the embedded one.
        card: Say which models fit a card with so much free memory [GB] instead.
    """
    from akd.pipeline.doctor import examine, fits
    from akd.prior.info import KNOWN_MODELS
    from akd.prior.plan import choose_device, free_gigabytes

    screen = console()
    if card is None:
        findings = list(examine())
        for each in findings:
            screen.print(f"{MARKS[each.state]} {each.what}: {each.found}", **PLAIN)
        chosen = choose_device(device)
        if chosen != "cpu":
            card = free_gigabytes(chosen)
        if selftest:
            good = _selftest(screen, chosen, model)
        if any(each.state == "bad" for each in findings) or (selftest and not good):
            sys.exit(UNFIT)
    if card is not None:
        for found in watched(fits(card), len(KNOWN_MODELS), "measuring models"):
            screen.print(f"{found.name}: {found.sentence}", **PLAIN)


def _selftest(screen: Any, device: str, model: str | None) -> bool:
    """The results, printed; whether they are good."""
    from akd.pipeline.selftest import agreement, full_step
    from akd.prior.hardware import Hardware
    from akd.prior.info import memory_needs
    from akd.prior.plan import DTYPES, plan_prior

    found = agreement(device)
    screen.print(
        f"{MARKS['good' if found.holds else 'bad']} embedded prior on {device} against the processor: cosine of latents "
        f"{found.latents:.4f}, of predictions {found.prediction:.4f}, of joint gradients {found.joints:.4f}", **PLAIN
    )  # fmt: skip
    name = model or ("embedded" if device == "cpu" else "THUDM/CogVideoX-2b")
    plan = plan_prior(name, Hardware(device=device))
    needs = memory_needs(name, dtype=DTYPES[plan.dtype], film=plan.film, spill=device != "cpu")
    encoding, evaluation = full_step(plan)
    for what, measured, planned in (
        ("encoding and its way back", encoding, needs.encode_gigabytes),
        ("one evaluation", evaluation, needs.predict_gigabytes),
    ):
        said = f"{measured.gigabytes:.2f} GB where {planned:.2f} were planned, {measured.seconds:.1f} s"
        screen.print(f"· {name}, random weights, {what}: {said}", **PLAIN)
    return found.holds
