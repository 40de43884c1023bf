"""Your own rigged file comes back with one clip added and everything else as it was."""

import sys
from pathlib import Path

import akd

file = Path(sys.argv[1])  # a .glb, .gltf, .fbx, .usd or .bvh file
prompt = sys.argv[2]  # such as "a fox walking"
recipe = akd.Recipe(iterations=int(sys.argv[3])) if len(sys.argv) > 3 else "default"

rig = akd.load_rig(file)
print(f"{rig.name}: {', '.join(limb.name for limb in rig.skeleton.limbs)}")
result = akd.animate(rig, prompt, seconds=2, recipe=recipe)
print(result.sentence)
print("Wrote", akd.save(rig, result.motion, f"{file.stem}-animated.glb", name="distilled", force=True))
