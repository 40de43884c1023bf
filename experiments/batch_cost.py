"""GPU hours of 10,000 clips with big priors, from the work that `akd prior info` counts: the table of docs/batch.md."""

from akd.distill.recipe import RECIPES
from akd.prior.info import prior_info

CLIPS = 10_000
SPEED = 166.0
"""Work of an A100 in a second [TFLOP]: CogVideoX-5B takes 2 s for one evaluation of its network, which is 332 TFLOP."""
LTX, COGVIDEOX = "Lightricks/LTX-Video", "THUDM/CogVideoX"
MODELS = ((LTX, 49), (LTX, None), (f"{COGVIDEOX}-2b", None), (f"{COGVIDEOX}-5b", None))


def main() -> None:
    recipe = RECIPES["default"]
    # Candidates have films of their own until one is kept; most bodies suit four of them.
    candidates = 4 * recipe.prune_at + 2 * (recipe.decide_at - recipe.prune_at) + (1 - recipe.decide_at)
    for name, frames in MODELS:
        plan = prior_info(name, frames=frames)
        for draws in (recipe.draws, 1):
            work = recipe.iterations * candidates * (plan.encode_teraflop + draws * plan.predict_teraflop)
            memory = plan.weights_gigabytes + plan.encode_gigabytes
            print(
                f"{name}, {plan.frames} frames, draws {draws}: {work / 1000:.0f} PFLOP, {work / SPEED / 60:.1f} min a clip,"
                f" {CLIPS * work / SPEED / 3600:,.0f} GPU hours, {memory:.0f} GB", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
