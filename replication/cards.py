"""What cards and the README say of claims: blocks of Markdown made from claims.csv."""

import json
import math
import re
from collections import Counter
from pathlib import Path

import pandas as pd

from faithlib.report.display import beginning
from faithlib.report.figures import guide, name_rows, panels, place, points
from faithlib.report.markdown import fold, table, with_block
from faithlib.report.style import dataset_title, labelled, model_title, role, use_style
from faithlib.tasks.table import TASKS
from replication import WORDING, papers, verdicts
from replication.multiverse import COUNTS, summary
from replication.records import Case, in_config, level, planned, project_root, shown, slug
from replication.tables import counted, number, select

BLOCK = "generated: verdicts"  # of a card, <!-- generated: verdicts --> to <!-- end -->
ABOUT = "about_papers.csv"  # paper, text: a table of a study of metrics, for the cards of papers
CELL = re.compile(r"(<!-- verdicts: (\w+) -->).*?(<!-- end -->)")  # of the README: the counts of a paper
# Of the README: a headline claim.
FINDING = re.compile(r"(<!-- finding: (\w+) \| (.+?) -->).*?(<!-- end -->)")
BRIDGE = "bridge"  # the figure of what takes published values to ours, where a paper's report draws it
LISTED, IN_A_ROW = 4, 40  # cases that a cell names, characters of those in the headline table
WHOLE = ("n_units", "most_units", "looks", "to_come", *COUNTS)
NUMBERS = ("threshold", "value", "ci_low", "ci_high", "published", "p_holm", *WHOLE)  # where "" is NaN
KEYS = ["claim", "definition", "baseline", "headline"]
HEADERS, SQUARES = WORDING["headers"], WORDING["squares"]
NO_RECORD = "🔲"
SIZES = {"small": "scale small", "base": "scale base"}
SIZES_FILE = "figures/base/sizes.png"  # from the project's root
UNSIZED = "No unit of the scale *base* has been computed: there is nothing to compare yet."


def card_block(claims, headline=(), notes=(), before=(), first=()):
    """The content of a card's block BLOCK: a sentence, the headline claims, and all claims, folded.

    Args:
        claims: from `read_claims`, at scale small or paper.
        headline: the card's `Headline`s; without them, those of the first definition are counted.
        notes: sentences on how it was computed, folded too.
        before, first: paragraphs between the sentence and the table, such as a figure; before both.

    >>> from replication.verdicts import Verdict
    >>> row = {"claim": "A above B", "definition": "paper", "baseline": "none"}
    >>> row |= Verdict("holds", 0.11, 0.09, 0.13, "seed", (3,), ("sst",)).row() | {"model": "bert"}
    >>> row |= dict.fromkeys((*COUNTS, "to_come"), 0) | {"looks": 1}
    >>> row |= {"published": 0.3, "published_cases": "sst"}
    >>> print(card_block(pd.DataFrame([row])).splitlines()[1])
    **Of 1 claim, 1 holds.**
    """
    judged = claims[claims.verdict != ""]
    if headline:
        words = [row["verdict"] for _, row in of_headline(judged, headline) if row]
        said = in_words(words, counted(len(headline), "headline claim"))
        texts = [*first, said, *before, headline_table(judged, headline)]
        notes = [*notes, *looks_note(judged)]
    else:
        rows = judged[judged.definition == claims.definition.iloc[0]]
        texts = [*first, in_words(rows.verdict, counted(len(rows), "claim")), *before]
    texts.append(fold(claims_table(claims), f"All {counted(len(judged), 'claim')}"))
    texts += [fold("\n\n".join(notes), "What was computed, and what was not")] if notes else []
    return "\n" + "\n\n".join(texts) + "\n"


def of_headline(claims, headline):
    """The row of each headline claim, None where it has none: [(Headline, dict or None)].

    Of a claim that has rows for several models it is the first one.
    """
    pairs, claims = [], claims[claims.headline.astype(bool)]
    for one in headline:
        rows = select(claims, definition="paper", baseline=one.baseline)
        rows = rows[(rows.claim == one.claim) | rows.claim.str.startswith(f"{one.claim}, ")]
        pairs.append((one, rows.iloc[0].to_dict() if len(rows) else None))
    return pairs


def in_words(words_of_claims, claimed):
    """How many of some claims have which verdict, in one sentence.

    >>> in_words(["holds", "holds", "depends"], "3 claims")
    '**Of 3 claims, 2 hold and 1 depends on a choice.**'
    >>> in_words([], "1 headline claim")
    'Of 1 headline claim none has a record yet.'
    """
    if not (parts := _counted(words_of_claims)):
        return f"Of {claimed} none has a record yet."
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"**Of {claimed}, {listed}.**"


def _counted(words_of_claims):
    """["2 hold", "1 is undecided"]: how many claims have which verdict, in the order of WORDS."""
    of = Counter(words_of_claims)
    return [f"{of[w]} {WORDING['several' if of[w] > 1 else 'one'][w]}" for w in verdicts.WORDS if of[w]]


def headline_table(claims, headline):
    """The headline claims: what was published, what is ours, and the verdict; a table of Markdown."""
    rows = []
    for one, row in of_headline(claims, headline):
        if row is None:
            rows.append([f"{NO_RECORD} no record yet", labelled(one.claim), "", "", ""])
            continue
        asked, threshold = f" {verdicts.in_full(row)}", row["threshold"]
        if row["reason"] == verdicts.OPEN:
            asked += f": interval contains {threshold:g}"
        elif row["reason"] and row["verdict"] != verdicts.DEPENDS:
            asked += f": {row['reason']}"
        elif threshold:
            asked += f"; threshold {threshold:g}"
        if row["verdict"] != verdicts.DEPENDS and row["agree"] < row["of"]:
            asked += f"; {row['agree']}/{row['of']} options agree"
        if row["within_margin"] == verdicts.YES:
            asked += f"; no larger than ±{one.margin:g}"
        elif row["at_least_half"] == verdicts.NO and row["verdict"] != verdicts.FAILS:
            opposite = row["value"] * row["published"] < 0
            asked += "; opposite sign" if opposite else "; less than half the published"
        asked += "; the paper's own number on these data contradicts it" * bool(row["published"] < threshold)
        asked += f"; {one.caveat}" * bool(one.caveat)
        verdict = SQUARES[row["verdict"]] + labelled(asked)
        on = _cases(row["cases"] or row["other_cases"], IN_A_ROW)
        rows.append([verdict, labelled(one.claim), _published(row), _ours(row), on])
    return _filled(HEADERS["headline"], rows)


def _filled(header, rows):
    """A table of Markdown without the columns in which all rows are empty, but for the first."""
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    return table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


def looks_note(claims):
    """[why some intervals have another level than 95 %]; [] where none has."""
    readings = [f"{100 * level(n):.4g} % for {n:.0f} readings" for n in sorted(set(claims.looks)) if n > 1]
    text = "An interval is wider where its verdict is read again as seeds are added"
    return [f"{text} ({', '.join(readings)})."] * bool(readings)


def strip(claims, headline):
    """The verdicts of the headline claims as squares, in the card's order."""
    return "".join(SQUARES[row["verdict"]] if row else NO_RECORD for _, row in of_headline(claims, headline))


def claims_table(claims):
    """The `claim_rows` as a table of Markdown without empty columns."""
    return _filled(HEADERS["claims"], claim_rows(claims))


def claim_rows(claims):
    """Every claim beside what the paper published, ours and the verdict: cells, as HEADERS names them.

    claims: DataFrame with the columns `replication.claims.CLAIMS`, and `p_holm` where the claims have one.
    """
    rows = []
    for (definition, baseline), part in claims.groupby(["definition", "baseline"], sort=False):
        if about := _about(definition, baseline, claims):
            rows.append([f"*{about}*", *[""] * (len(HEADERS["claims"]) - 1)])
        rows += map(_cells, part.to_dict("records"))
    return rows


def claims_tables(claims: pd.DataFrame) -> str:
    """The `claims_table` of the first definition, which is the paper's, and those of others, folded."""
    (_, first), *others = claims.groupby("definition", sort=False)
    folds = [fold(claims_table(of), f"Definition {name}: {counted(len(of), 'claim')}") for name, of in others]
    return "\n".join([claims_table(first), *folds, *looks_note(claims)])


def read_claims(path):
    """claims.csv with texts that are never NaN; no rows where there is no such file."""
    if not path.is_file():
        return pd.DataFrame(columns=KEYS)
    return pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(NUMBERS, ""))


def read_block(folder):
    """The `card_block` of results/<scale>/<paper>."""
    claims, headline = _read(folder), papers.headline(folder.name)
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    studies = [pd.read_csv(path) for path in sorted(folder.parent.glob(f"*/tables/{ABOUT}"))]
    quoted = [text for study in studies for text in study.text[study.paper == folder.name]]
    notes = [*_computed(records), *_untested(folder, records), *quoted]
    rows = of_headline(claims, headline)
    path = folder / "tables" / f"{BRIDGE}.csv"  # the first is of the main claim
    steps = pd.read_csv(path).drop_duplicates("claim") if path.is_file() else pd.DataFrame()
    main = [row["published"] for one, row in rows if one.main and row]
    none = "No number is published for the claim. The nearest: " * (bool(main) and all(map(math.isnan, main)))
    reasons = [f"*{one.claim}*: {one.sentence}" for one in steps.itertuples()]
    why = [f"**Why do ours differ?** {none}{reason}" for reason in reasons[:1]]
    others = [fold("\n\n".join(reasons[1:]), "Why other numbers differ")] * (len(reasons) > 1)
    before = [*_models(folder, records, rows), *_larger(folder, headline), *why, *_picture(folder), *others]
    return card_block(claims, headline, notes, before, _claimed(folder, rows))


def _read(folder):
    """The claims with `otherwise`, an option that turns the verdict, from choices.csv."""
    claims, path, key = read_claims(folder / "claims.csv"), folder / "choices.csv", KEYS[:3]
    if not path.is_file():
        return claims
    options = pd.read_csv(path, keep_default_na=False)
    main = options.groupby(key).verdict.transform("first")
    turned = options.verdict.isin([verdicts.HOLDS, verdicts.FAILS]) & (options.verdict != main)
    others = options[turned].drop_duplicates(key)
    words = [f"{row.choice} {row.option} {number(float(row.value))}" for row in others.itertuples()]
    return claims.merge(others[key].assign(otherwise=words), on=key, how="left")


def _claimed(folder, headline):
    """[a paper's main claim, in its card's words, and what became of the headline claims that test it]."""
    tests = [f"*{labelled(one.claim)}*: {finding(row)}" for one, row in headline if one.main and row]
    said = [f"**The claim.** {claim}" for claim in papers.card(folder.name).claims[:1]]
    return [*said, f"**Does it hold?** {' '.join(tests)}"] if tests else said


def _models(folder, records, headline):
    """[models and data of the headline claims, the paper's models that were not run]; [] if it lists none."""
    _, of_paper = in_config(folder.parents[1], "paper", folder.name)
    theirs = dict.fromkeys(model_title(slug(unit["model"])) for unit in of_paper.values())
    named = [case for _, row in headline if row for case in row["cases"].split(verdicts.JOIN)]
    datasets, tested = {re.split("[ :,]", case)[0] for case in named}, {}
    for case in (Case.of(record["params"]) for record in records if record["params"].get("model")):
        if case.dataset in datasets:
            tested.setdefault(model_title(case.model), {})[dataset_title(case.dataset)] = True
    if not tested or not theirs:
        return []
    absent = ", ".join(name for name in theirs if name not in tested)
    on = "; ".join(f"{model} on {', '.join(titles)}" for model, titles in tested.items())
    return [f"**Tested on** {on}." + f" Not run: {absent}." * bool(absent)]


def _larger(folder, headline):
    """[the headline claims with the models of the scale base, folded]; [] without a record there."""
    claims = _read(folder.parents[1] / "base" / folder.name)
    models = ", ".join(map(model_title, sorted({*claims.get("model", ())} - {""})))
    squares = f"Scale base, {models}: {strip(claims, headline)}"
    note = WORDING["captions"]["larger"].format(paper=folder.name)
    return [fold(f"{headline_table(claims, headline)}\n\n{note}", squares)] * bool(len(claims))


def _picture(folder):
    """[the figure of a card as Markdown, its caption]: how published values become ours, else its own."""
    drawn = f"figures/{folder.parent.name}/{folder.name}"  # from the project's root
    captions = {BRIDGE: WORDING["captions"]["bridge"]} | papers.captions(folder.name)
    for stem in (BRIDGE, papers.card(folder.name).figure):
        if stem and (folder.parents[2] / drawn / f"{stem}.png").is_file():
            name = max((name for name in captions if stem.startswith(name)), key=len)
            return [f"![{beginning(captions[name])}](../../{drawn}/{stem}.png)", captions[name]]
    return []


def counts(claims):
    """How many claims have which verdict, in one line.

    A claim counts once: in the first definition, which is the paper's, and against its first baseline.

    >>> rows = pd.DataFrame({"claim": ["a", "a", "b", "b"], "definition": ["paper"] * 3 + ["released"]})
    >>> counts(rows.assign(verdict=["holds", "depends", "not tested", "holds"]))
    '1 holds, 1 is not tested'
    """
    first = claims[(claims.definition == claims.definition.iloc[0]) & (claims.verdict != "")]
    return ", ".join(_counted(first.drop_duplicates("claim").verdict))


def finding(row):
    """What became of a headline claim, in a few words: verdict, published, ours, and on which model.

    >>> row = {"verdict": "holds", "value": 0.2, "ci_low": 0.1, "ci_high": 0.3, "cases": ""}
    >>> row |= {"published": 0.1, "published_cases": "", "looks": 1, "model": "bert"}
    >>> finding(row)
    '🟩 **Holds**: published +0.100, ours +0.200 [+0.100, +0.300] with bert.'
    >>> finding(row | {"model": "", "not_shown_with": "ties; sign"}).split("; ")[1]
    'open with another choice of ties or sign.'
    """
    published = "" if math.isnan(row["published"]) else f"published {_published(row)}, "
    on = f" on {_cases(row['cases'], IN_A_ROW)}" if row["cases"] else ""
    model = f" with {model_title(row['model'])}" if row["model"] else ""
    model += ", one model" * bool(model and row.get("unit") == "text")
    depends = row["verdict"] == verdicts.DEPENDS
    word = row["verdict"].capitalize() + " on a choice left open" * depends
    reason = f" ({row['reason']})" if row["verdict"] == verdicts.UNDECIDED else ""
    turned = row.get("otherwise" if depends else "not_shown_with", "").replace("; ", " or ")
    other = ("; with " if depends else "; open with another choice of ") + turned if turned else ""
    return f"{SQUARES[row['verdict']]} **{word}**{reason}: {published}ours {_ours(row)}{on}{model}{other}."


def with_counts(text, folder):
    """The README's text with its cells `<!-- verdicts: paper -->`, `<!-- finding: paper | claim -->` filled.

    folder: results/<scale>.
    """

    def cell(match):
        claims, headline = read_claims(folder / match[2] / "claims.csv"), papers.headline(match[2])
        larger = read_claims(folder.with_name("base") / match[2] / "claims.csv")  # see `of_sizes`
        said = counts(claims) if len(claims) and not headline else strip(claims, headline)
        if headline and folder.name == "small" and len(larger):
            said = f"small {said}<br>base {strip(larger, headline)}"
        return f"{match[1]}{said}{match[3]}"

    def finding_of(match):
        headline = [one for one in papers.headline(match[2]) if one.claim == match[3]]
        ((_, row),) = of_headline(read_claims(folder / match[2] / "claims.csv"), headline)
        return f"{match[1]}{finding(row) if row else f'{NO_RECORD} No record yet.'}{match[4]}"

    return FINDING.sub(finding_of, CELL.sub(cell, text))


def pages(scale="small"):
    """The cards notebooks/<paper>/README.md with the markers of their block, and the README.

    Returns {path from the project's root: (text as it is, text with what the claims of the scale say)}.
    """
    root, texts = project_root(), {}
    for path in sorted((root / "results" / scale).glob("*/claims.csv")):
        card = root / "notebooks" / path.parent.name / "README.md"
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        if f"<!-- {BLOCK} -->" in text:
            texts[card.relative_to(root)] = text, with_block(text, BLOCK, read_block(path.parent))
    if (root / "README.md").is_file():
        text = (root / "README.md").read_text(encoding="utf-8")
        texts[Path("README.md")] = text, with_counts(text, root / "results" / scale)
    return texts


def write_cards(scale="small"):
    """Write the blocks of all cards, and the README's counts (`pages`): the papers whose card was written."""
    texts = pages(scale)
    for path, (_, text) in texts.items():
        (project_root() / path).write_text(text, encoding="utf-8")
    return [path.parent.name for path in texts if path.parent.name]


def _cases(names, longest=math.inf):
    """Cases in words, a data set once with all its models; of many or long ones, how many they are."""
    cases = names.split(verdicts.JOIN) if names else []
    listed = ", ".join(cases)
    for _ in cases:
        listed = re.sub(r"(\S+) \(([^()]+)\), \1 \(", r"\1 (\2, ", listed)
    if len(cases) > LISTED or len(labelled(listed)) > longest:
        return f"{len(cases)} {'data sets' if {*cases} <= {*TASKS} else 'cases'}"
    return labelled(listed)


def _computed(records):
    """[a sentence: the units on each device, and their hours]; [] without records.

    Hours of a processor are core hours where all its records have them, else wall time with its pauses.
    """
    spent, parts = pd.DataFrame([r["volatile"] | r["provenance"] for r in records if "volatile" in r]), []
    for device, rows in spent.groupby("device") if len(spent) else ():
        on_cores = device == "cpu" and "cpu_seconds" in rows and rows.cpu_seconds.notna().all()
        name, words = ("cpu_seconds", "core hours") if on_cores else ("seconds", "hours of wall time")
        units = counted(len(rows), "unit") + (f" on {device}" if device != "cpu" else "")
        parts.append(f"{units} ({rows[name].sum() / 3600:.1f} {words})")
    return [f"Computed in {' and '.join(parts)}."] if parts else []


def _untested(folder, records):
    """[sentences: which units of the folder's config, and which data sets of the paper's, have no record]."""
    scale, paper = folder.parent.name, folder.name
    (path, _), (whole, of_paper) = (in_config(folder.parents[1], name, paper) for name in (scale, "paper"))
    there, cases = {record["unit"] for record in records}, planned(paper, scale, folder.parents[1])
    absent = []
    for case, units in cases.items():
        if missing := sum(unit not in there for unit in units):
            names = dataset_title(case.dataset), model_title(case.model), case.variant
            absent.append(f"{', '.join(filter(None, names))} ({counted(missing, 'seed')} of {len(units)})")
    listed = {case.dataset for case in (*map(Case.of, (r["params"] for r in records)), *cases)}
    others = dict.fromkeys(case.dataset for case in map(Case.of, of_paper.values()))
    others = ", ".join(dataset_title(name) for name in others if name not in listed)
    lines = [f"Listed in `{shown(path)}` and not yet run: {'; '.join(absent)}."] if absent else []
    return lines + ([f"Data sets of `{shown(whole)}` not yet run: {others}."] if others else [])


def _about(definition, baseline, claims):
    """ "Definition released, baseline matched" where a table has several of them, else ""."""
    against = WORDING["baselines"].get(baseline, f"random baseline {baseline}")
    words = {"definition": f"definition {definition}", "baseline": against}
    text = ", ".join(said for column, said in words.items() if claims[column].nunique() > 1)
    return text[:1].upper() + text[1:]


def _cells(row):
    verdict = labelled(verdicts.sentence(row)) + (", borderline" if row["borderline"] else "")
    if row["failing_cases"] and row["quantifier"] == verdicts.ON_AVERAGE:
        verdict += f"; the estimate fails on {_cases(row['failing_cases'])}"
    p = row.get("p_holm", math.nan)
    holm = "" if math.isnan(p) else f"{p:.3f}" if p >= 0.001 else "< 0.001"
    options = "" if row["verdict"] == verdicts.UNTESTED else summary(row)
    others = "without an interval: " * bool(row["cases"] and row["other_cases"]) + _cases(row["other_cases"])
    data = "; ".join(filter(None, [_cases(row["cases"]), others]))
    return labelled(row["claim"]), verdict, _ours(row), _published(row), data, holm, options


def _published(row):
    """The published value, with its data sets if ours has others; without a value "", or "none for" these."""
    on = _cases(row["published_cases"])
    if math.isnan(row["published"]):
        return on
    return number(row["published"]) + f" on {on}" * bool(on and row["published_cases"] != row["cases"])


def _ours(row):
    """The value and its interval, with the level where it is not 95 %; a case of m has Holm's first step."""
    value = "at worst " * (row.get("quantifier") == verdicts.EVERYWHERE and verdicts.JOIN in row["cases"])
    value += number(row["value"])
    if math.isnan(row["ci_low"]):
        return value
    several = (row.get("quantifier") == verdicts.SOMEWHERE) * row["cases"].count(verdicts.JOIN)
    percent = 100 - 100 * (1 - level(max(1, row["looks"]))) / (1 + several)
    wider = f" ({percent:.4g} %)" if several or row["looks"] > 1 else ""
    return f"{value} [{number(row['ci_low'])}, {number(row['ci_high'])}]{wider}"


# Does size matter? --------------------------------------------------------------------------------


def of_sizes(root):
    """{(citation, headline claim): {scale: its row of claims.csv, None without one}}, where base has claims.

    root: of the project; a paper without headline claims takes no part.
    """
    rows = {}
    for path in sorted((root / "results/base").glob("*/claims.csv")):
        paper = path.parent.name
        for scale in SIZES:
            claims = read_claims(root / "results" / scale / paper / "claims.csv")
            for one, row in of_headline(claims, papers.headline(paper)):
                rows.setdefault((papers.card(paper).citation, one), {})[scale] = row
    return rows


def sizes(root):
    """What a page says of both scales: a sentence, the figure where it was drawn, a table a paper.

    UNSIZED without a record.
    """
    if not (by_claim := of_sizes(root)):
        return UNSIZED
    picture = [f"![Ours, with intervals](../../{SIZES_FILE})"] * (root / SIZES_FILE).is_file()
    texts, tables = [WORDING["captions"]["sizes"], *picture], {}
    for (paper, one), of in by_claim.items():
        said = [finding(row) if row else NO_RECORD for row in of.values()]
        tables.setdefault(paper, []).append([labelled(one.claim), *said])
    texts += [table([paper, *SIZES.values()], cells) for paper, cells in tables.items()]
    return "\n\n".join(texts)


def draw_sizes(root):
    """The values of `of_sizes` with intervals, a panel a paper: a figure; None where there is nothing."""
    rows = []
    for (paper, one), of in of_sizes(root).items():
        about = {"paper": paper, "row": labelled(one.claim)}
        rows += [row | about | {"scale": scale} for scale, row in of.items() if row]
    if not rows:
        return None
    values = pd.DataFrame(rows)
    use_style()
    heights = 0.4 + 0.3 * values.groupby("paper", sort=False).row.nunique().to_numpy()
    small = role("reference", SIZES["small"]) | {"marker": "o", "hollow": True}
    looks = {"small": small, "base": role("proposed", SIZES["base"]) | {"marker": "o"}}
    grid = panels(values, ["paper"], 1, heights, names=str, left=3.2, sharex=False, sharey=False)
    for axis, part in grid:
        names = list(dict.fromkeys(part.row))
        for shift, (scale, look) in zip((-0.15, 0.15), looks.items(), strict=True):
            of_scale = part[part.scale == scale]
            points(axis, of_scale, "value", place(of_scale.row, names, shift), look, ("ci_low", "ci_high"))
        guide(axis, 0)
        name_rows(axis, names)
    grid.name_axes("ours, in the unit of the claim")
    return grid.finish(list(looks.values()))
