"""Generated corpora with known evidence, for the scale `quick` and for tests.

Each generator is a function of a numpy Generator that returns one group of related examples (twins, or the
questions about one text or story). `make` fills train, validation and test from one seed; no text occurs in
two of them.
"""

import numpy as np

from faithlib.corpora import planted, relation, sentiment, topics, world
from faithlib.corpora.babi import Whereabouts
from faithlib.scores import one_of, whole

GENERATORS = {
    "sentiment": sentiment,
    "topics": topics,
    "relation": relation,
    "world": world,
    **{f"whereabouts_{facts}": Whereabouts(facts) for facts in (1, 2, 3)},
    "world_facts": world.Facts,
    "world_agreement": world.Agreement,
    "world_biographies": world.Biographies,
    "planted": planted,
}
SIZES = {"train": 3000, "validation": 300, "test": 300}
LARGEST = 50_000  # rows of a split
MISSES = 2000  # after so many repeated texts in a row the grammar counts as exhausted


def make(name, seed=0, sizes=SIZES):
    """Generate the splits of a corpus: {split: [example]}, as `grammar.example` makes them.

    No text is in two splits, and a group is in one split.

    Args:
        name: a key of GENERATORS.
        seed: determines all examples.
        sizes: {split: rows}.

    Raises:
        ValueError: an unknown name, a seed or size that is no whole number; the grammar has fewer different
            texts than a size requires.

    Example:
        >>> sorted(make("sentiment", sizes={"test": 2})["test"][0])
        ['evidence', 'kind', 'label', 'pos', 'text', 'text_b']
    """
    one_of("corpus", name, GENERATORS)
    whole("seed", seed)
    for split, size in sizes.items():
        whole(f"sizes[{split!r}]", size)
    rng = np.random.default_rng([seed, list(GENERATORS).index(name)])
    seen = set()
    return {split: _fill(name, split, rng, size, seen) for split, size in sizes.items()}


def _fill(name, split, rng, size, seen):
    """The examples of one split; their texts are added to `seen`."""
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
    return [rows[i] for i in rng.permutation(size)]  # shuffled; the last group may be cut
