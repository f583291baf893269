"""Helpers of the experiment notebook: checks before work, prompts, parts, the paper's methods."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from datasets import Dataset
from wrong import refused

from faithlib.attributions import attribute
from faithlib.metrics.soft_causal import everywhere
from faithlib.options import DEFINITIONS
from notebooks.noiser.card import CARD
from notebooks.noiser.measure import unit as measure
from notebooks.noiser.measure.judge import TEMPLATES

GIVEN = {
    "task": "world_facts", "model": "tiny-llama", "attributions": list(CARD.attributions),
    "definitions": ["paper", "released"], "types": [], "boundings": ["k_max"], "bounding_examples": 0,
    "tokens": 0, "every": 1, "judge": "", "judge_share": 0.5, "judge_settings": [], "seed": 0, "epochs": 1,
    "released_prompts": False,
}  # fmt: skip


def loaded(rows, generated=True):
    return SimpleNamespace(
        task=SimpleNamespace(generated=generated), splits={"test": Dataset.from_pandas(pd.DataFrame(rows))}
    )


def test_the_card_names_ten_methods_and_noiser_last():
    assert len(CARD.attributions) == 10 and CARD.attributions[-1] == "noiser"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attributions": ["lime"]}, "attributions = ['lime']: 'noiser' is missing; add it"),
        ({"definitions": ["released"]}, "definitions = ['released']: 'paper' is missing; add it"),
        ({"boundings": ["k_min"]}, "boundings = ['k_min']: 'k_min' is always there; leave it out"),
        ({"judge": "api:"}, "judge = 'api:': the model behind the endpoint has no name"),
        ({"judge": "api: "}, "judge = 'api: ': the model behind the endpoint has no name"),
        ({"judge_settings": ["tokens=5", "tokens=6"]}, "judge_settings: 'tokens' is given twice"),
        ({"judge_settings": ["tokens"]}, "judge_settings: 'tokens': write '<name>=<value>'"),
        ({"judge_settings": ["folder=here"]}, "judge_settings: 'folder=here'.* with one of template, tokens"),
        ({"judge": "api:some-model"}, "set OPENAI_API_KEY in the environment"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(tmp_path, monkeypatch, wrong, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    measure.check_parameters(GIVEN, tmp_path)
    refused(
        message.replace("(", r"\(").replace("[", r"\["),
        measure.check_parameters,
        {**GIVEN, **wrong},
        tmp_path,
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("workers=abc", "workers='abc' must be above 0"),
        ("workers=1.5", "workers=1.5 must be at least 1, a whole number"),
        ("tokens_name=foo", "tokens_name='foo' is unknown: use 'max_tokens', 'max_completion_tokens'"),
        ("template=Which word?", "template='Which word\\?' shows no words: put {words} or {text} into it"),
        ("template=[1]", r"template=\[1\] shows no words"),
    ],
)
def test_judge_settings_out_of_range_are_refused_before_work(tmp_path, monkeypatch, setting, message):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    local = ["my-lm"] if setting.partition("=")[0] in ("tokens", "template") else []
    for judge in ("api:some-model", *local):
        parameters = {**GIVEN, "judge": judge, "judge_settings": [setting]}
        with pytest.raises(ValueError, match=f"^judge_settings: {message}") as error:
            measure.check_parameters(parameters, tmp_path)
        assert "\n" not in str(error.value) and str(error.value).endswith("; change it or leave it out")
        with pytest.raises(ValueError, match=message):
            CARD.check({**GIVEN, "task": "world_facts", "judge": judge, "judge_settings": [setting]})


def test_judge_settings_in_range_are_accepted(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    settings = ["tokens=1", "workers=1", "retries=0", "limit=0", "prices=(0, 1.5)", "per_minute=0.5"]
    for more in (["temperature=None", "template=Which word, {text}?"], ["temperature=0", "template=paper"]):
        parameters = {**GIVEN, "judge": "api:m", "judge_settings": [*settings, "timeout=0.5", *more]}
        measure.check_parameters(parameters, tmp_path)


def test_judge_settings_are_checked_without_torch():
    code = (
        "import sys; from notebooks.noiser.measure.unit import judge_options\n"
        "judge_options(['tokens=5', 'template=paper'], 'api:m'); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_endpoint_needs_a_client_or_stored_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    asked = {**GIVEN, "judge": "api:some-model"}
    refused(r"openai client, .* -c constraints.txt -e .\[judge\]", measure.check_parameters, asked, tmp_path)
    (tmp_path / "answer.json").write_text("{}")
    measure.check_parameters(asked, tmp_path)


def test_an_endpoint_needs_a_key_or_stored_answers(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = {**GIVEN, "judge": "api:some-model"}
    measure.check_parameters({**asked, "tokens": 5}, tmp_path)  # open prompts have no judge
    (tmp_path / "answer.json").write_text("{}")
    measure.check_parameters(asked, tmp_path)
    asked |= {"judge_settings": ["template=paper", "tokens=7", "prices=(1, 2.5)"]}
    judge = measure.make_judge("api:some-model", None, None, asked, tmp_path)
    assert judge.name == "some-model" and judge.folder == tmp_path
    assert judge.template == TEMPLATES["paper"] and judge.tokens == 7 and judge.prices == (1, 2.5)


def test_prompts_are_selected_and_counted():
    rows = {"text": ["a b", "c d"], "target": ["x", "y"]}
    rows |= {"noiser_prompt_ok": [True, False], "prompt_noiser": ["a b", "c"]}
    frame, counts = measure.select_prompts(loaded(rows), GIVEN)
    assert counts == {"all": 2, "malformed as released": 1} and list(frame.text) == ["a b", "c d"]
    frame, _ = measure.select_prompts(loaded(rows), {**GIVEN, "released_prompts": True})
    assert list(frame.text) == ["a b", "c"]
    frame, counts = measure.select_prompts(loaded(rows | {"type": ["x", "y"]}), {**GIVEN, "types": ["y"]})
    assert list(frame.text) == ["c d"] and counts["of these types"] == 1
    for columns in (rows, rows | {"type": ["x", "y"]}):
        with pytest.raises(ValueError, match="types='z': no prompt of 'world_facts' is of it; use "):
            measure.select_prompts(loaded(columns), {**GIVEN, "types": ["z"]})


def test_prompts_that_cannot_be_explained_are_refused():
    open_prompts = {"text": ["a b", "a b c"], "target": ["", ""], "kind": ["prompt", "continuation"]}
    with pytest.raises(ValueError, match="tokens=0, but the prompts of 'world_facts' have no gold word"):
        measure.select_prompts(loaded(open_prompts), GIVEN)
    frame, counts = measure.select_prompts(loaded(open_prompts), {**GIVEN, "tokens": 5})
    assert list(frame.text) == ["a b"] and counts == {"all": 1}
    with pytest.raises(ValueError, match="'tiny-llama' is trained on generated prompts"):
        measure.select_prompts(loaded({"text": ["a"], "target": ["b"]}, generated=False), GIVEN)


def test_the_sample_is_ordered_and_the_same_every_time():
    kept = np.arange(10, 30)
    chosen = measure.sample(kept, 5, GIVEN)
    assert len(chosen) == 5 and list(chosen) == sorted(chosen) and set(chosen) <= set(kept)
    np.testing.assert_array_equal(chosen, measure.sample(kept, 5, GIVEN))
    np.testing.assert_array_equal(measure.sample(kept, 0, GIVEN), kept)
    with pytest.raises(ValueError, match="tiny-llama predicts the gold word of no prompt of world_facts"):
        measure.sample(kept[:0], 5, GIVEN)


def test_parts_are_the_words_of_subject_distractor_and_relation():
    rows = pd.DataFrame({"text": ["ann who met bob lives in", "cy lives in"], "subject": ["ann", "cy"]})
    rows = rows.assign(distractor=["bob", ""], evidence=[[0, 4], [0, 1]])
    parts = measure.prompt_parts(rows)
    first, second = {"subject": [0], "distractor": [3], "relation": [4]}, {"subject": [0], "relation": [1]}
    assert parts == [first, second]
    assert measure.prompt_parts(rows[["text"]]) is None
    texts = ["in Japan, ( a dream ). The capital,", "a big boy"]
    pairs = pd.DataFrame({"text": texts, "antecedent": ["Japan", "big"], "type": ["capital-world", "x"]})
    first, second = measure.prompt_parts(pairs)
    assert first == {"subject": [1], "country and capital": [1, 7]} and second == {"subject": [1]}


def test_summaries_have_a_row_for_each_attribution_and_random():
    shares = pd.DataFrame({"attribution": ["lime", "random"], "part": "subject", "share": [0.75, 0.25]})
    table = measure.summarise_parts({"parts": shares}, ["lime"])
    assert list(table.index) == ["lime", "random"] and list(table["share of the subject"]) == [0.75, 0.25]
    assert measure.summarise_parts({}, ["lime"]).empty

    both = {"baseline": ["", "matched", ""], "attribution": ["lime", "lime", "random"]}
    answers = pd.DataFrame({**both, "place": [1, 0, 2], "mass": [0.5, 0.5, 0.9]})
    minimum = pd.DataFrame({**both, "share": [0.2, 0.8, 0.4]})
    table = measure.summarise_answers(answers, minimum, ["lime"])
    assert table.loc["lime"].to_list() == [1.0, 0.0, 0.5, 0.2]
    assert table.loc["random", "rate"] == 0.0 and table.loc["random", "words needed"] == 0.4


def test_prompts_of_one_fact_have_one_number():
    world = pd.DataFrame({"subject": ["a", "b", "a"], "kind": "home", "target": ["x", "y", "x"]})
    assert measure.facts(world).tolist() == [0, 1, 0]
    people = world.assign(target=["she", "he", "today"])  # the first words of continuations
    assert measure.facts(people).tolist() == [0, 1, 2] and measure.facts(people, 5).tolist() == [0, 1, 0]
    pairs = pd.DataFrame({"antecedent": ["japan", "peru", "japan"], "target": ["tokyo", "lima", "yen"]})
    assert measure.facts(pairs).tolist() == [0, 1, 2]
    assert measure.facts(world[["target"]]).tolist() == [0, 1, 2]


def test_scores_have_a_column_for_each_definition_attribution_and_setting():
    """Each is what `attribute` gives alone, whatever passes are shared."""
    model = tiny.causal("llama")
    encodings, settings = model.encode(tiny.PROMPTS[:2]), dict(steps=3, noise=2, seed=0)
    targets, wanted = np.array([5, 6]), ["integrated_gradients", "lime", "leave_one_out", "noiser"]
    inputs = model, encodings, targets, wanted, ["random", "k_max"], 9, settings
    columns = measure.scores(*inputs, DEFINITIONS, ["zero", "token"])
    alone_in_the_paper = measure.scores(*inputs, ["paper"], ["zero"])

    def alone(name, texts=encodings, **options):
        return attribute(model, texts, targets, [name], **options, **settings)[name]

    whole, release = everywhere(encodings), dict(definition="released", paper="noiser")
    released_random = [s / s.sum() for s in alone("noiser", whole, bounding="random")]
    expected = {
        "paper.noiser.k_max": alone("noiser", bounding="k_max"),
        "paper.noiser.random": alone("noiser", bounding="random"),
        "paper.noiser.k_min": alone("noiser"),
        "paper.integrated_gradients.zero": alone("integrated_gradients", baseline="zero"),
        "paper.integrated_gradients.token": alone("integrated_gradients", baseline="token"),
        "paper.leave_one_out.": alone("leave_one_out"),
        "paper.lime.": alone("lime", samples=9),
        "released.noiser.random": released_random,
        "released.noiser.k_min": alone("noiser", whole, **release),
        "released.integrated_gradients.": alone("integrated_gradients", whole, **release),
        "released.lime.": alone("lime", whole, samples=50, **release),
    }
    for column, scores in expected.items():
        for one, other in zip(columns[column], scores, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9, err_msg=column)
    names = [name for name in expected if name.startswith("paper.") and not name.endswith(".token")]
    assert {name for name in alone_in_the_paper if name.startswith("paper.")} == {*names}
    for column in names:
        for one, other in zip(alone_in_the_paper[column], columns[column], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9, err_msg=column)
    notes = {row["metric"] + "." + row["setting"]: row for row in measure.searched(pd.DataFrame(columns))}
    assert set(notes) >= {"k.k_min", "k.k_max", "k.random", "flipped.k_min", "completeness_gap.zero", "tied."}
    gap = notes["completeness_gap.token"]
    assert gap["n"] == 2 and gap["largest"] == columns["completeness_gap.token"].max() >= gap["median"]


def test_a_model_in_half_precision_is_a_copy():
    model = tiny.causal("llama")
    assert measure.in_dtype(model, "float32") is model
    half = measure.in_dtype(model, "bfloat16")
    assert half.dtype == torch.bfloat16 and model.dtype == torch.float32 and half.name == model.name


def test_a_prompt_behind_a_context_has_shares_and_counted_passes():
    lm = tiny.causal()
    prompts, golds, target = ["the plot was", "a long", "the film was"], ["great", "film", "great"], 5
    said = measure.behind_context(lm, prompts, golds, target, ["leave_one_out", "input_x_gradient"], {})
    tokens, scores, notes = said
    assert tokens == lm.tokens(lm.encode(["a long film the plot was"])[0])
    (alone,) = lm.encode(["a long film the plot was"])
    expected = attribute(lm, [alone], np.array([target]), ["leave_one_out"])["leave_one_out"][0]
    assert np.array_equal(scores["leave_one_out"], expected)
    size = np.abs(expected)
    share = size[1 : len(tokens) - 3].sum() / size.sum()  # between [CLS] and the prompt
    passes = alone.maskable.sum() + 2  # the whole text, and once more for the keys that the others share
    assert notes["leave_one_out"] == f"{share:.0%} on the context, {passes} passes"
    assert notes["input_x_gradient"].endswith(" 1 pass")


@pytest.mark.parametrize("prompts, positions", [(["the plot was"], 64), (["the plot was", "a long film"], 6)])
def test_a_prompt_without_another_or_without_room_stands_alone(prompts, positions):
    lm = tiny.causal(positions=positions)
    tokens, _, notes = measure.behind_context(lm, prompts, ["great"] * len(prompts), 5, ["leave_one_out"], {})
    assert tokens == lm.tokens(lm.encode(prompts[:1])[0]) and notes["leave_one_out"].startswith("0% on")


def test_prompts_that_are_too_long_are_left_out_and_never_cut():
    lm = tiny.causal()
    rows = pd.DataFrame({"text": ["the plot was " * 9, "the plot"], "target": ["great", "was"]})
    lm.max_length = 9
    kept, encodings, excluded = measure.fitting(lm, rows, "truncate")
    assert kept.target.tolist() == ["was"] and len(encodings) == 1 and excluded[0]["n"] == 1
    refused("the end of a prompt decides what follows", measure.fitting, lm, rows, "error")
