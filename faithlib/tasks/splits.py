"""Split recipes applied: source splits in, train / validation / test out."""

import numpy as np
from sklearn.model_selection import train_test_split


def split_rows(recipe, sources):
    """{split: frame} of a recipe and {source split: frame}, rows numbered from 0.

    Shares are by position and rounded to the nearest row. A holdout is taken from train only when the source
    has no validation split of its own.
    """
    if recipe.words:
        low, high = recipe.words
        for split, frame in sources.items():
            length = frame["text"].str.split().str.len()
            sources[split] = frame[(length > low) & (length < high)]
    if recipe.holdout and "validation" not in sources:
        train, held_out = _draw(sources["train"], recipe.holdout, recipe.random_state)
        sources = {**sources, "train": train, "validation": held_out}
    frames = {}
    for split, (source, start, stop) in recipe.parts.items():
        frame = sources[source]
        frames[split] = frame.iloc[round(len(frame) * start) : round(len(frame) * stop)]
    if recipe.test_share:
        _, frames["test"] = _draw(frames["test"], recipe.test_share, recipe.random_state)
    return {split: frame.reset_index(drop=True) for split, frame in frames.items()}


def _draw(frame, share, random_state):
    kept, held_out = train_test_split(np.arange(len(frame)), test_size=share, random_state=random_state)
    return frame.iloc[kept], frame.iloc[held_out]


def subset(frame, size, seed):
    """`size` rows drawn without replacement with `seed`, in their order."""
    chosen = np.random.default_rng(seed).choice(len(frame), size, replace=False)
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)
