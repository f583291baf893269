"""Which metric can be believed, and when? What was fixed before the final runs, on 2026-11-28.

Seeds below 20 were pilots and take no part. The eight claims are those of `claims`; their margins, the number
of seeds and of texts stand here. The unit of every interval is a seed, which has texts and models of its own.

Cells. A cell is a kind of model (P1 to P4, N1, N2) and a kind of error; its accuracy is a mean over the pairs
of all texts of a seed, void values and differences of at most .005 counting ½. P2 is the mean of its two
mechanisms, with equal weights: they fail in different ways, and the smaller number of pairs of one must not
count less. The core are the cells of `worst_case.CORE`.

Decisions that the first protocol left open, all made before a seed from 20 on had run:

- Order of graded words (P3). How many texts use all three words in their order depends on the model (between
  .05 and .75 of them in pilots), so a pair counts only where its two words have the planted order on this
  text, measured by swaps. A model with fewer than ORDER_PAIRS such pairs has no value in the cell "order",
  which then has as many seeds as have one.
- Training computes in float32: this processor only imitates bfloat16.
- "resample" with soft metrics: draw d takes replacement text d modulo 4, for all explanations alike.
- "zero" by element is what soft metrics publish; "zero" by token stands beside it for soft metrics alone, as
  no other metric can tell the two apart.
- Ties are in units of the metric's own value, which is what a user sees; NS and NC are not multiplied by
  1 − S0.
- With a default class (P4) texts of that class do not use their evidence. They do not count, and P4 is no
  part of the core.
- As published: NS, NC and soft metrics under "zero" by element with min-max; AOPC, decision flip and
  F-Fidelity under [MASK]. "Equal" is this project's own map, shift and clip to a mean of one half.
- Claims about all errors of natural texts take the mean of halves, order, missed and false above, with equal
  weights; on planted texts the errors that the claim names.

Cut on the same day, after a pilot of one model of SST (46 CPU seconds a text with four operators, where the
protocol had 30) and before any unit of natural texts had run: "resample" on natural texts, which takes 40 %
of the time, so that its entries have planted cells alone; 30 texts of SST and 20 of AG News, where there
were 40.

Language models, fixed on 2026-11-29, before any of their units had run and after a pilot of seed 0: the same
planted texts, with the class as the next word; three seeds, as version 1 had; the six core cells of planted
texts; "zero", "mask" (the unknown token), "delete" and "resample". Their soft metrics clip scores to [0, 1],
as their paper does, or take ranks or the equal-retention map. A judge that learnt from texts with gaps
answers for answerability and minimum top-k, which erase nothing of the model's own input. No claim is about
them.

Cut from the first protocol, because core hours are few: texts of 40 and 120 words, IMDB, MPNet, sharpness and
16 draws have code and no units yet; whoever adds them declares their seeds first. They carry no claim.
"""

from replication.papers import Card

SEEDS = {"P": range(20, 30), "N1": range(20, 30), "N2": range(20, 30), "N1, mask kind": range(20, 25),
         "language models": range(20, 23)}  # fmt: skip
TEXTS = {"P": 40, "N1": 30, "N2": 20, "N1, mask kind": 10, "language models": 40}
ORDER_PAIRS = 30  # of one shape, of a graded model
LANGUAGE_MODEL = "tiny-llama"
PASSES, BELOW = 0.70, 0.65  # of claim 1: of the entry that is recommended, and of the cell of each other one
DIFFERENCE = 0.10  # of claims 3 and 7: between accuracies
GAIN = 0.05  # of claims 4 and 5
BLIND, SEES = 0.60, 0.90  # of claim 6
GHOST = 0.10  # of claim 8: share of what erasing all words does
HOLM = 0.025  # one-sided, over the eight claims

CARD = Card.read(__file__, models=(LANGUAGE_MODEL,))
