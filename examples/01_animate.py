"""A sentence becomes a character and its motion, with the video model inside the package: about two minutes on a laptop."""

import sys

import akd

recipe = akd.Recipe(iterations=int(sys.argv[1])) if len(sys.argv) > 1 else "default"  # fewer iterations to try it out
rig = akd.make_character("a brown dog")
result = akd.animate(rig, "a brown dog walking", recipe=recipe)
print(result.sentence)
print("Wrote", result.save("runs/example-01", force=True))
