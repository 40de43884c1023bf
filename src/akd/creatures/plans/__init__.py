"""The body plans, one animal per declaration. Units are centimetres except where a plan says otherwise."""

from akd.creatures.plan import Plan
from akd.creatures.plans.bipeds import HUMAN
from akd.creatures.plans.carnivores import DOG

PLANS: dict[str, Plan] = {plan.name: plan for plan in (HUMAN, DOG)}
