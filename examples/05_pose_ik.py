"""Inverse kinematics inside the plausible poses: pull one joint, and the rest of the body follows."""

import akd

rig = akd.make_character("a brown dog")
space = akd.PoseSpace.build(rig)
paw = next(limb for limb in rig.skeleton.limbs if limb.kind == "leg" and limb.side == "L").tip
x, y, z = rig.skeleton.positions[paw]
solution = space.solve((akd.Handle(rig.skeleton.names[paw], position=(x + 0.4, y + 0.5, z)),), count=3)
print(f"missed by {float(solution.error.max()):.4f} ℓ")
print("Wrote", akd.save(rig, akd.Motion(solution.pose, fps=1.0), "poses.glb", name="poses", force=True))
