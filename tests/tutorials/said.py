"""What the lessons say of their numbers: {cell: assertions that hold after it}, run by the tests."""

SAID = {
    "00-12": "assert p.iloc[1] > 0.9 and p.iloc[2] < 0.5",
    "00-18b": 'assert np.argmax(np.where(encoding.maskable, scores, 0)) == tokens.index("sunday")',
    "00-29": """
assert right["as collected"] > 0.98 and right["with the days swapped"] < 0.05 and p_turned > 0.9
""",
    "01-06a": "assert 0 < np.mean(agree) < 0.7",
    "01-14": 'assert change["attention"] == 0 < min(change["scaled_attention"], change["leave_one_out"])',
    "01-20b": """
assert np.allclose(np.where(encoding.maskable, mine, 0), scores["input_x_gradient"], atol=1e-4)
""",
    "01-26": "assert gaps[5] > gaps[20] > gaps[80] and gaps[80] < 0.1",
    "01-32": 'assert np.corrcoef(scores["input_x_gradient"], scores["deeplift"])[0, 1] > 0.95',
    "01-38": 'assert found["leave_one_out"][both_words].max() < loss / 10',
    "01-43b": """
assert set(np.argsort(-np.where(again.maskable, pair_scores, 0))[:2]) == set(np.flatnonzero(both_words))
""",
    "01-45": "assert max(agreement[25], agreement[100]) < agreement[800] and agreement[800] > 0.9",
    "02-05b": "assert np.mean(right, axis=1).min() > 0.9",
    "02-11b": 'assert mean["honest"] > mean["shortcut"] + 0.3',
    "02-17b": """
assert (plausible.set_index(["attribution", "model"]).value["a person"] == 1).all()
assert plausible.set_index(["attribution", "model"]).value["leave-one-out", "honest"] > 0.6
assert plausible.set_index(["attribution", "model"]).value["leave-one-out", "shortcut"] < 0.3
""",
    "02-24": 'assert follows.shortcut.min() > 0.95 and follows.honest["planted word replaced"] < 0.05',
    "02-26": 'assert truth.value["leave-one-out"] > 0.7 and truth.value.idxmin() == "a person"',
    "02-33": """
assert faithful.set_index(["model", "attribution"]).value["shortcut", "a person"] < 0.2
assert faithful.set_index(["model", "attribution"]).value["shortcut", "leave-one-out"] > 0.2
assert faithful.set_index(["model", "attribution"]).value["honest", "a person"] > 0.3
""",
    "03-02": "assert (predicted == test.label).mean() > 0.7",
    "03-23": "assert 0 < void.mean() < 0.2 and set(predicted[void]) == {0} and quotient.max() > 1000",
    "03-26": """
said_by = study.table.pivot(index="metric", columns="attribution", values="value")
assert (said_by.leave_one_out > said_by.random_uniform).all()
assert study.table.void.iloc[0] == void[:60].sum()
""",
    "03-32": 'assert fall_of["the first"] < 0.1 and fall_of["both"] > 0.9',
    "04-05": "assert beaten > 0.8",
    "04-11b": "assert abs(np.nanmean(nc_matched) - np.nanmean(nc_random)) < 0.15",
    "04-23": """
assert coin["tie = 0"] < 0.4 and 0.4 < coin["tie = ½"] < 0.6 < coin["tie = 1"]
assert ties.ties[ties.metric == "decision_flip"].min() > 0.2 and ties.ties[ties.metric == "nc"].max() < 0.1
""",
    "04-30": "assert intervals.texts.max() < 50",
    "04-31": """
assert (tables["texts"].eval("high - low") > tables["pairs (wrong)"].eval("high - low")).mean() > 0.5
assert tables["texts"].low["leave_one_out"] > 0.5
assert tables["texts"].low["random_uniform"] < 0.5 < tables["texts"].high["random_uniform"]
""",
    "05-04b": "assert np.ptp(p_kept[i]) > 0.3",
    "05-14c": "assert np.mean(both, axis=0)[0] > np.mean(both, axis=0)[1]",
    "05-22": """
assert (by_scale.max() - by_scale.min())["ns"] < 1e-6 and (by_scale.max() - by_scale.min())["nc"] < 1e-6
assert by_scale.soft_ns[0.1] > by_scale.soft_ns[10] + 0.1
assert (by_scale.max() - by_scale.min())["equal_soft_ns"] < (by_scale.max() - by_scale.min())["soft_ns"] / 2
""",
    "05-24": """
assert preferred["soft_ns"] < 0.6
assert min(preferred["ns"], preferred["equal_soft_ns"]) > 0.65
""",
    "05-30b": "assert max(mine) - min(mine) < 1e-3",
    "05-37b": 'assert (direction.loc["paper"] > 0.5).all() and (direction.loc["released"] < 0.5).all()',
    "06-19": """
assert at_four["ROAR"] > 0.95 and at_four["Recursive ROAR"] < 0.6 and at_four["truth"] < 0.6
""",
    "06-35": """
assert areas["attention, Recursive ROAR"]["ACU"] > 0 > areas["attention, ROAR"]["ACU"]
assert table.loc[("attention", False), 0.2] > table.loc[("attention", False), 0.1]  # it rises
""",
    "06-37": """
assert racu_denominator(share, random) > 0.05  # this random curve falls far enough to be read
""",
    "06-45": 'assert of_labels.tell_tale[0.4] > 0.95 > of_labels["random"][0.4] + 0.1 and own < 0',
    "06-49b": "assert found.iloc[2] > found.iloc[:2].max() + 0.1 and 0.68 < found.iloc[0] < 0.74",
    "06-54b": 'assert leaks["tell_tale"] > 0.3 > leaks["random_uniform"] + 0.2',
    "07-11": "assert surest.min() > 0.9",
    "07-20": "assert kept.usual[0] > kept.masked[0] + 0.03 and (kept.drop(0).mean().diff().iloc[-1] < 0)",
    "07-34b": """
assert rejected_share["fresh texts"]["calibrated"] < 0.08 < rejected_share["fresh texts"]["paper"]
assert rejected_share["words in random order"]["calibrated"] < 0.3
""",
    "07-37": """
assert strange["usual fine-tuning"][100] > 0.9 and strange["masked fine-tuning"].max() < 0.15
""",
    "08-04": "assert (p.argmax(1) == answers).mean() > 0.95",
    "08-15": 'assert gap.causal_soft_ns["none"] > 1.5 * gap.causal_soft_ns["k_min"]',
    "08-28": "assert np.abs(other).argmax() == subject and other[subject] < -0.3",
    "08-37b": 'assert rates["own scores"].min() > 0.7 > 0.5 > rates["in random order"].max()',
    "09-08b": "assert np.corrcoef(mine[one.maskable], rank([one])[0][one.maskable])[0, 1] > 0.99",
    "09-18": """
assert table.loc["TextRank", "KL to TextRank"] < table.loc["plain", "KL to TextRank"] / 2
assert table.accuracy.min() > 0.95
""",
    "09-23c": 'assert mine["attention"] < mine["random scores"]',
    "09-28b": 'assert found.attention["TextRank"].mean() > 0.33',
    "09-31": """
assert (gains["plain − TextRank"] < 0).all()
assert seeds_interval(gains["uniform − TextRank"]).low < 0 < seeds_interval(gains["uniform − TextRank"]).high
assert found.attention.groupby("model").mean().idxmin() == "plain"
""",
    "10-03": 'assert ends["t interval"][0] < 0 < ends["bootstrap of the models"][0]',
    "10-09": 'assert abs(kept.iloc[0, 0] - 0.75) < 0.06 and (kept["your t interval"] > 0.92).all()',
    "10-15b": 'assert alarms["texts as units"] > 0.2 and alarms["models × texts"] < 0.09',
    "10-22": "assert looks[18] > 0.35",
    "10-27b": 'assert some["as they are"] > 0.3 and some["after your correction"] < 0.045',
    "10-31": 'assert study.table[study.table.metric == "nc"].n.max() < 30  # of 60 texts',
    "10-34": """
assert ties.eval("at_least - strict").idxmax() == "decision_flip"
assert ties.eval("at_least - strict").decision_flip > 0.1
""",
    "10-39": """
assert set(found.table.verdict) == {"undecided"} and found.table.value.min() < 0 < found.table.value.max()
""",
}
