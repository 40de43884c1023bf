"""A gradient estimator of your own: one function and one entry in a table."""

import sys

import akd


def half_sds(prior, z, inputs):
    """Score distillation with half of the gradient."""
    return akd.ESTIMATORS["sds"](prior, z, inputs) / 2


akd.ESTIMATORS["half_sds"] = half_sds
recipe = akd.Recipe(estimator="half_sds", iterations=int(sys.argv[1]) if len(sys.argv) > 1 else 90)
result = akd.animate(akd.make_character("a brown dog"), "a dog walking", recipe=recipe)
print(result.sentence)
