"""Small mirrors of data sets, and what an error message must be."""

import pandas as pd


def rows(n, classes=2, pair=False, start=0):
    """n examples whose text names its row, with labels 0, 1, ... in turn."""
    frame = pd.DataFrame(
        {
            "text": [f"text number {i} of the mirror" for i in range(start, start + n)],
            "label": [i % classes for i in range(n)],
        }
    )
    return frame.assign(text_b="a question") if pair else frame


def write(folder, name, **frames):
    (folder / name).mkdir(exist_ok=True)
    for split, frame in frames.items():
        frame.to_parquet(folder / name / f"{split}.parquet")
