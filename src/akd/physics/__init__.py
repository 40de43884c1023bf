"""Motion under gravity: a rig's bones as rigid bodies, a differentiable simulation of them, and tracking with it."""

