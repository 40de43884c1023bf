"""A physics simulation follows a motion, so that feet stand on the ground: before and after, as numbers."""

import sys

import akd

rig, motion, name, from_file = akd.load_motion(sys.argv[1])  # FILE#CLIP such as fox.glb#Walk, or a run's folder
tracked = akd.track(rig, motion, from_file=from_file)
for title, measured in (("given", tracked.source_metrics), ("simulated", tracked.metrics)):
    contact = f"skating {measured.skating_ratio or 0:.2f}  deepest {measured.penetration_max:.3f} ℓ"
    print(f"{title:10s} {contact}  jerk {measured.jerk:.0f}")
print("Wrote", akd.save(rig, tracked.motion, "tracked.glb", name="tracked", force=True))
