"""The body plans, one animal per declaration. Units are centimetres except where a plan says otherwise."""

from akd.creatures.plan import Plan
from akd.creatures.plans.arthropods import ANT, BEETLE, SPIDER
from akd.creatures.plans.bipeds import ASTRONAUT, CHICK, CHILD, HUMAN, OSTRICH, ROBOT
from akd.creatures.plans.carnivores import BEAR, CAT, DOG, FOX
from akd.creatures.plans.hoofed import COW, ELEPHANT, GIRAFFE, HORSE, SAUROPOD
from akd.creatures.plans.reptiles import CROCODILE, LIZARD, TYRANNOSAUR

PLANS: dict[str, Plan] = {
    plan.name: plan
    for plan in (
        HUMAN, CHILD, ASTRONAUT, ROBOT, DOG, FOX, CAT, BEAR, HORSE, COW, GIRAFFE, ELEPHANT, SAUROPOD, TYRANNOSAUR, OSTRICH,
        CHICK,
        CROCODILE, LIZARD, ANT, BEETLE, SPIDER,
    )
}
"""Every plan by name."""
