"""Log-ratio faithfulness: means over prompts, intervals, and what has no finite ratio."""

import numpy as np
import pandas as pd
import pytest

from faithlib.metrics import soft_causal
from notebooks.noiser.log_ratio import by_number_of_draws, faithfulness

# Log ratios ---------------------------------------------------------------------------------------


def table(ns, nc, attribution, baseline, steps=1, **more):
    """Rows of `soft_causal.over_draws`: value x step of each example."""
    rows = [
        (i, step, attribution, baseline, "none", "paper", ns[i], nc[i])
        for i in range(len(ns))
        for step in range(steps)
    ]
    return pd.DataFrame(rows, columns=[*soft_causal.KEYS, "soft_ns", "soft_nc"]).assign(**more)


def three(method, random, matched, **more):
    """The rows of a method, of random scores and of the method's own in random order: (ns, nc) of each."""
    kinds = ("a", ""), ("random", "random"), ("a", "matched")
    return pd.concat(
        [table(*of, *kind, **more) for of, kind in zip((method, random, matched), kinds, strict=True)]
    )


def test_log_ratios_are_of_means_over_prompts():
    same = [0.4, 0.4]
    rows = faithfulness(three(([0.2, 0.6], same), ([0.1, 0.1], [0.2, 0.6]), ([0.2, 0.2], same)))
    rows = rows.set_index("baseline")
    assert rows.loc["random", "log_ratio"] == pytest.approx(np.log(0.4 / 0.1) + np.log(0.4 / 0.4))
    assert rows.loc["matched", "log_ratio"] == pytest.approx(np.log(2) + 0)
    assert rows.loc["matched", ["soft_ns", "soft_nc", "n", "undefined"]].tolist() == [0.4, 0.4, 2, 0]


def test_steps_are_averaged_before_examples():
    long, short = table([0.0], [0.5], "a", "", steps=9), table([0.8], [0.5], "a", "").assign(example=1)
    others = [table([0.2, 0.2], [0.5, 0.5], *of) for of in (("random", "random"), ("a", "matched"))]
    values = pd.concat([long, short, *others])
    assert faithfulness(values).log_ratio.tolist() == pytest.approx([np.log(0.4 / 0.2)] * 2)


def test_what_has_no_value_is_counted():
    values = three(*[([0.5, np.nan], [0.5, np.nan])] * 3)
    rows = faithfulness(values)
    assert rows.n.tolist() == [1, 1] and rows.undefined.tolist() == [1, 1]
    assert rows.log_ratio.tolist() == [0, 0]
    with pytest.raises(ValueError, match="no prompt has both"):
        faithfulness(values[values.example == 1])


def test_a_mean_of_zero_has_no_finite_ratio():
    rows = faithfulness(three(([0, 0], [0.5, 0.5]), ([0.2, 0.2], [0.5, 0.5]), ([0, 0], [0.5, 0.5])))
    assert rows.log_ratio[0] == -np.inf and np.isnan(rows.log_ratio[1])


def test_models_and_settings_are_kept_apart():
    parts = []
    for model, base in (("x", 0.1), ("y", 0.4)):
        parts.append(table([base] * 2, [0.5] * 2, "random", "random", model=model, setting=""))
        for setting, ns in (("k_min", 0.8), ("none", 0.4)):
            parts += [
                table([ns] * 2, [0.5] * 2, "noiser", baseline, model=model, setting=setting)
                for baseline in ("", "matched")
            ]
    rows = faithfulness(pd.concat(parts), within=["model"])
    against = rows[rows.baseline == "random"].set_index(["model", "setting"]).log_ratio
    ratios = {("x", "k_min"): 8, ("x", "none"): 4, ("y", "k_min"): 2, ("y", "none"): 1}
    assert against.to_dict() == pytest.approx({key: np.log(ratio) for key, ratio in ratios.items()})


def test_normalisations_are_compared_with_random_scores_of_their_own():
    parts = [table([0.8] * 2, [0.5] * 2, "a", baseline) for baseline in ("", "matched")]
    none = [*parts, table([0.4] * 2, [0.5] * 2, "random", "random")]
    weaker = table([0.1] * 2, [0.5] * 2, "random", "random")
    other = [part.assign(normalisation="min-max") for part in (*parts, weaker)]
    rows = faithfulness(pd.concat([*none, *other]))
    ratios = rows[rows.baseline == "random"].set_index("normalisation").log_ratio
    assert ratios.to_dict() == pytest.approx({"none": np.log(2), "min-max": np.log(8)})


def by_draws(draws_of, **more):
    """Rows of draws, {(attribution, baseline): Soft-NS of each draw}."""
    names = {"setting": "", "soft_nc": 0.5, "definition": "paper", "normalisation": "none"} | more
    rows = [
        names | {"attribution": name, "baseline": baseline, "draw": draw, "soft_ns": ns}
        for (name, baseline), of_draws in draws_of.items()
        for draw, ns in enumerate(of_draws)
    ]
    return pd.DataFrame(rows)


def test_the_first_draws_are_averaged_before_the_logarithm():
    method, random = {("a", ""): (0.2, 0.4, 0.9), ("a", "matched"): (0.1,) * 3}, (0.2, 0.1, 0.3)
    rows = by_number_of_draws(by_draws(method | {("random", "random"): random}))
    ratios = rows.set_index(["baseline", "draws"]).log_ratio
    expected = {("random", 1): 1, ("random", 2): 2, ("matched", 1): 2, ("matched", 2): 3}
    assert ratios.to_dict() == pytest.approx({key: np.log(ratio) for key, ratio in expected.items()})
    logs = np.log([2, 4, 9])
    alone = by_number_of_draws(by_draws({("a", ""): method["a", ""], ("random", "random"): random}))
    assert alone.equals(rows[rows.baseline == "random"])  # of a unit without shuffled scores
    error = rows[rows.baseline == "matched"].mc_error
    assert error.tolist() == pytest.approx([logs.std(ddof=1) / 3**0.5] * 2)


def test_data_sets_may_have_different_numbers_of_draws():
    def rows(task, draws):
        method = [0.1 * (1 + draw) for draw in range(draws)]
        others = {("a", "matched"): [0.1] * draws, ("random", "random"): [0.1] * draws}
        return by_draws({("a", ""): method} | others, task=task)

    few = rows("few", 2)
    ratios = by_number_of_draws(pd.concat([few, rows("many", 4)], ignore_index=True), ["task"])
    ratios = ratios.query("baseline == 'random'").set_index(["task", "draws"])
    assert ratios.index.tolist() == [("few", 1), ("few", 2), ("many", 1), ("many", 2), ("many", 4)]
    assert ratios.mc_error["few", 2] == by_number_of_draws(few).mc_error[0] == pytest.approx(np.log(2) / 2)
