"""What no training may see, defined once: every measurement is made on these."""

from akd.creatures.plans import PLANS

HELD_OUT_PLANS = ("bear", "ostrich")
FIRST_HELD_OUT_SEED = 10_000
TRAINING_PLANS = tuple(name for name in PLANS if name not in HELD_OUT_PLANS)
