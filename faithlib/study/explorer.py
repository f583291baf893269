"""The explorer of a study: one HTML file with token heat maps and metric values, to sort and filter.

Style, script and data stand in it, and its policy forbids the browser to load or run anything else. Data are
JSON, and the script writes texts as text, never as HTML.
"""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np

from faithlib.metrics import registry
from faithlib.report.style import label

PARTS = Path(__file__).parent / "html"
LEVELS = 999  # a score is stored as a share of its row's largest one, in this many steps
DIGITS = 5  # of a metric's value


def write(study, path, title="") -> Path:
    """Write the explorer of a study to a file, such as "out/explorer.html"; its folder is made.

    title: of the page; by default the model's name.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(study, title), encoding="utf-8")
    return path


def page(study, title=""):
    """The explorer of a study as HTML: below 1 MB for 200 texts of 60 tokens and 5 attributions.

    Example:
        >>> from types import SimpleNamespace as Some
        >>> import pandas as pd
        >>> row = {"example": 0, "attribution": "lime", "metric": "ns", "baseline": "", "value": 0.5}
        >>> text = Some(maskable=np.array([True, True]), words=np.array([0, 1]), ids=np.array([5, 6]))
        >>> study = Some(values=pd.DataFrame([row]), scores={"lime": [np.array([0.1, -0.2])]},
        ...              encodings=[text], targets=[1], tokens=[["good", "</script>"]])
        >>> page(study).count("</script>")  # of the page itself
        2
    """
    model = getattr(study, "model_name", "") or "a model"
    title = title or f"Explanations of {model}"
    style, script = (_part(f"explorer.{kind}") for kind in ("css", "js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    content = dict(
        POLICY=policy, TITLE=html.escape(title), STYLE=style, SCRIPT=script, DATA=_json(data(study))
    )
    return re.sub("@@([A-Z]+)@@", lambda match: content[match[1]], _part("explorer.html"))


def data(study):
    """What the page shows, as plain values.

    A row of summary has the place of an attribution and of a metric, n, void, value, the ends of its
    interval, diagnosticity and flag. flip is the place of decision flip, whose value 1 says that a text never
    flips, or None. A text has its text, tokens and kinds (a letter each: "o" is not scored, "j" continues the
    token before, "w" begins a word), target, predicted, gold ("" where not known), p, right, curves
    [attributions] (p as the highest tokens are masked), scores [attributions × tokens] in steps of 1 /
    `levels` of `largest` [attributions], and values [attributions × metrics], None where a metric means
    nothing.
    """
    names = list(study.scores)
    of_methods = study.values[study.values.baseline == ""]
    metrics = [registry.get(name) for name in of_methods.metric.unique()]
    index = ["example", "attribution"]
    wide = of_methods.pivot_table(index=index, columns="metric", values="value", dropna=False)
    wide = wide.reindex(columns=[metric.name for metric in metrics])
    texts, curves = [], getattr(study, "curves", None) or {}
    for i, facts in enumerate(described(study)):
        scores = [_steps(study.scores[name][i], study.encodings[i].maskable) for name in names]
        rows = [wide.loc[(i, name)].to_numpy(float) if (i, name) in wide.index else [] for name in names]
        facts["scores"], facts["largest"] = ([part[k] for part in scores] for k in (0, 1))
        facts["curves"] = [[round(float(p), 3) for p in curves[n][i]] if n in curves else [] for n in names]
        facts["values"] = [[_rounded(value) for value in row] or [None] * len(metrics) for row in rows]
        texts.append(facts)
    about = f"{len(texts)} texts, {len(names)} attributions, {len(metrics)} metrics."
    if model := getattr(study, "model_name", ""):
        about = f"{model}: {about}"
    return {
        "about": " ".join([about, *map(str, getattr(study, "notes", None) or [])]),
        "levels": LEVELS,
        "metrics": [{"label": metric.label, "better": metric.better} for metric in metrics],
        "flip": next((i for i, metric in enumerate(metrics) if metric.name == "decision_flip"), None),
        "attributions": [label(name) for name in names],
        "summary": _summary(study, [metric.name for metric in metrics], names),
        "texts": texts,
    }


def _summary(study, metrics, names):
    """The rows of a study's table as plain values; attributions and metrics by their places."""
    rows, table = [], getattr(study, "table", None)
    for row in () if table is None else table.itertuples():
        if row.metric in metrics and row.attribution in names:
            values = [row.value, row.ci_low, row.ci_high, row.diagnosticity]
            about = [names.index(row.attribution), metrics.index(row.metric), int(row.n), int(row.void)]
            rows.append([*about, *map(_rounded, values), str(row.flag or "")])
    return rows


def described(study):
    """Each text of a study as it is shown: a list of dicts, see `data`."""
    columns = {name: getattr(study, name, None) for name in ("texts", "tokens", "predicted", "labels", "p")}
    targets = getattr(study, "target_names", None) or [_name(study, target) for target in study.targets]
    texts = []
    for i, encoding in enumerate(study.encodings):
        tokens = [str(x) for x in (encoding.ids if columns["tokens"] is None else columns["tokens"][i])]
        words, kinds = zip(*map(_shown, tokens, _continues(encoding), encoding.maskable), strict=True)
        text = " ".join(tokens) if columns["texts"] is None else str(list(columns["texts"])[i])
        predicted = targets[i] if columns["predicted"] is None else _name(study, columns["predicted"][i])
        gold = "" if columns["labels"] is None else _name(study, columns["labels"][i])
        texts.append(
            {"text": text, "tokens": list(words), "kinds": "".join(kinds), "target": targets[i]}
            | {"p": None if columns["p"] is None else _rounded(float(columns["p"][i]))}
            | {"predicted": predicted, "gold": gold, "right": predicted == gold if gold else None}
        )
    return texts


def _name(study, value):
    """A class or token in words, "" for none."""
    names = getattr(study, "label_names", None)
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return str(names[value]) if number and names is not None and 0 <= value < len(names) else str(value)


def _continues(encoding):
    """Whether each token continues the word of the token before it: (tokens,) bool."""
    words = np.asarray(encoding.words)
    return np.append(False, (words[1:] == words[:-1]) & (words[1:] >= 0))


def _shown(token, continues, maskable):
    """A token as it is read, without the tokenizer's marks of word boundaries, and its kind."""
    if not maskable:
        return token, "o"
    text = token.removeprefix("##") if continues else token
    return text.lstrip("Ġ▁") or text, "j" if continues else "w"


def _steps(scores, maskable):
    """Scores as whole numbers of at most LEVELS, and the largest absolute one."""
    scores = np.where(maskable, np.asarray(scores, float), 0.0)
    largest = np.abs(scores).max() if len(scores) else 0.0
    return np.rint(LEVELS * scores / (largest or 1)).astype(int).tolist(), float(f"{largest:.6g}")


def _rounded(value):
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def _part(name):
    return (PARTS / name).read_text(encoding="utf-8")


def _json(value):
    """JSON that no browser takes for HTML: <, > and & are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
