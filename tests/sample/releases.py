"""What the tests of released attributions share."""

import numpy as np

from faithlib.attributions import attribute
from faithlib.engine import batching


def prompts(model):
    """Prompts of a tiny language model, and a target each."""
    return model.encode(["she liked the plot", "a long , not unlikely film", "it"]), np.array([7, 11, 9])


def released(model, encodings, targets, paper, wanted, **settings):
    """Scores by what the released code of a paper computes."""
    return attribute(model, encodings, targets, wanted, definition="released", paper=paper, **settings)


def agree(ours, expected, encoding):
    """Equal on maskable tokens to 1e-5 (of the largest), and 0 elsewhere."""
    expected = np.where(encoding.maskable, expected, 0)
    assert np.abs(expected).max() > 1e-4
    assert np.abs(ours - expected).max() < 1e-5 * max(1, np.abs(expected).max())


def keeps_its_scores(model, encodings, targets, paper, wanted, monkeypatch, **settings):
    """Assert that released scores depend on no batch, are 0 where not maskable, and leave no trace."""
    if paper in ("recursive_roar", "fmm"):
        settings["steps"] = 5
    together = released(model, encodings, targets, paper, wanted, **settings)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 20)
    backwards = released(model, encodings[::-1], targets[::-1], paper, wanted, **settings)
    for name in wanted:
        for encoding, one, two in zip(encodings, together[name], backwards[name][::-1], strict=True):
            assert np.abs(one - two).max() < 1e-5 * max(1, np.abs(one).max())
            assert (one[~encoding.maskable] == 0).all()
    assert all(p.grad is None and p.requires_grad for p in model.model.parameters())
    assert not model.model.base_model._forward_hooks
