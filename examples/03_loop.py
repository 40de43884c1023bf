"""Iterations one by one: watch a loop grow, and stop as soon as it is good enough."""

import sys

import akd

recipe = akd.Recipe(iterations=int(sys.argv[1])) if len(sys.argv) > 1 else "default"
rig = akd.make_character("a grey wolf")
for step in akd.animate_steps(rig, "a wolf trotting", loop=True, recipe=recipe):
    if step.run.iteration % 10 == 0 or step.progress == 1:
        motion = step.motion
        print(f"{step.progress:4.0%}  score {step.numbers['score']:.3f}  {akd.evaluate(rig, motion).verdict}")
print("Wrote", akd.save(rig, motion, "wolf-loop.gif", force=True))
