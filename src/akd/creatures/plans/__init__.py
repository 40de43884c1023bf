"""All body plans: every ``Plan`` at the top level of a module of this package. Units are centimetres unless a plan differs.

A new plan is one declaration in one of these modules, or in a new one; nothing else needs to know of it.
"""

import pkgutil
from importlib import import_module

from akd.creatures.plan import Plan

FIRST_MODULES = ("people", "carnivores", "hoofed", "theropods", "reptiles", "arthropods")
"""The order of plans, and so of the words for them; further modules follow by name."""


def _modules() -> list[str]:
    found = {module.name for module in pkgutil.iter_modules(__path__)}
    return [*FIRST_MODULES, *sorted(found.difference(FIRST_MODULES))]


PLANS: dict[str, Plan] = {
    plan.name: plan
    for module in _modules()
    for plan in vars(import_module(f"{__name__}.{module}")).values()
    if isinstance(plan, Plan)
}
"""Every plan by name."""
