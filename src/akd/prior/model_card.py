"""The text beside the embedded prior's weights."""


def model_card(facts: str, *, decoder: bool) -> str:
    """The card, with what was measured, and whether samples can be looked at."""
    samples = "" if decoder else "\nThe decoder of these weights is not trained yet: samples show noise.\n"
    return f"""---
license: apache-2.0
library_name: diffusers
pipeline_tag: text-to-video
---
# The small video prior of akd

A CogVideoX pipeline (transformer, 3D causal autoencoder, T5 text encoder, scheduler) of about five million parameters. It
was made to tell whether a character *moves* like the sentence says, and for nothing else.

**Data.** Clips of procedural creatures from akd itself: all body plans except bear and ostrich, individuals with seeds below
10,000, all gaits and actions, standing still too; 17 frames of 64 × 64 pixels in the marker look (neutral body, every limb in
a colour of its own), seen from the front right, 15 % without ground. Time is the body's own: frames per second are
12 · √(0.9 m / leg length), so that a walking stride is about twelve frames whatever the size. Captions are generated. No
pictures or videos made by others were used.

**Training.** The encoder is the best linear code of the clips, in closed form. Transformer and text encoder are trained on
its latents (v-prediction, zero terminal SNR, 12 % empty captions); the decoder, which only samples need, comes last. One CPU.

**What it knows.** How limbs of these body plans swing together in these gaits and actions, seen in this look from this side.
**What it does not know.** Natural pictures, other views, objects, faces, more than one creature, anything a caption says
about colour, place or style.

**Use.** `akd` loads it by the name `embedded`. With diffusers alone:
`CogVideoXPipeline.from_pretrained(folder)("a dog walking", num_frames=17, height=64, width=64, max_sequence_length=24)`.
{samples}
{facts}
Licence: Apache-2.0.
"""
