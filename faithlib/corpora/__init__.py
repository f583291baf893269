"""Generated corpora whose evidence is known: what `quick` runs on, and what tests can be sure of.

Each generator has `LABELS` and `generate(rng)`, which returns one group of examples that belong
together (twins, or the questions about one text or story). `make` fills train, validation and test from one
seed; no text occurs in two of them.
"""

import numpy as np

from faithlib.corpora import relation, sentiment, topics, world
from faithlib.corpora.babi import Whereabouts

GENERATORS = {
    "sentiment": sentiment,
    "topics": topics,
    "relation": relation,
    "world": world,
    **{f"whereabouts_{facts}": Whereabouts(facts) for facts in (1, 2, 3)},
    "world_facts": world.Facts,
    "world_agreement": world.Agreement,
    "world_biographies": world.Biographies,
}
SIZES = {"train": 3000, "validation": 300, "test": 300}
LARGEST = 50_000  # rows a split may have
MISSES = 2000  # this many known texts in a row: the grammar has no new ones


def make(name, seed=0, sizes=SIZES):
    """{split: list of examples} of the generator `name`, deterministic from `seed`.

    No text is in two splits, and groups stay together. Raises ValueError when the grammar has
    fewer new texts than a size asks for.
    """
    rng = np.random.default_rng([seed, list(GENERATORS).index(name)])
    seen = set()
    return {split: _fill(name, split, rng, size, seen) for split, size in sizes.items()}


def _fill(name, split, rng, size, seen):
    rows, misses = [], 0
    while len(rows) < size:
        group = GENERATORS[name].generate(rng)
        texts = {row["text"] for row in group}
        if texts & seen:
            misses += 1
            if misses == MISSES:
                raise ValueError(
                    f"sizes[{split!r}] = {size} is more than the {name} grammar has: it ran out of "
                    f"new texts at {len(rows)}; ask for fewer"
                )
            continue
        misses = 0
        seen |= texts
        rows += group
    return [rows[i] for i in rng.permutation(size)]  # twins apart; the last group may lose a member
