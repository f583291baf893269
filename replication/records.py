"""Units of papers: named, expanded from a config, told apart, read together, counted; nothing loads torch.

A unit is one task, model, seed and, where it departs from the main setting, a named variant. Its record is
`<unit>.json`, written last, and beside it `<unit>.parquet` (values per example) and `<unit>.<table>.parquet`:

    sst.all-MiniLM-L6-v2.s0.json                      task, last part of the model's name, seed
    sst.all-MiniLM-L6-v2.s0.only-masking.json         the same, variant "only-masking"

Besides what every record has (`faithlib.store`), that of a unit has

    paper, unit, scale
    params          the notebook's parameters, without those that say where and not what (PLACES)
    design          "crossed" (all seeds see the same texts) or "nested" (each seed has texts of its own);
                    records of format 1 lack it
    metrics         [{metric, value, ...}] of the whole unit
    excluded        [{what, why, n}] that was cut or left out
    provenance      git commit and dirty ("unknown" outside git), code (hash of faithlib's source), versions,
                    device, processor (which earlier records lack), data (source, rows and a hash of each
                    split), hashes of weights, origins (what `make fetch` wrote of where models and vectors
                    come from)

A record is never overwritten: `results.start` refuses parameters other than those of the record that has the
unit's name, and what `save` replaces is kept as `*.replaced`.
"""

import pathlib
import re
from collections import Counter
from typing import NamedTuple

import pandas as pd

from faithlib import plugins
from faithlib.statistics.base import FEWEST_UNITS, LEVEL
from faithlib.store import listed, project_root, read_record, shown
from faithlib.tasks.files import task_slug
from replication.papers import Card

PLACES = ("scale", "data_dir", "model_dir", "results_dir", "checkpoint_dir", "device")  # where, not what
HOW = ("workers",)  # parameters that change no value
VARIANT = r"(?=[0-9]|.*-)[A-Za-z0-9_-]+"  # never the name of a table, which is an identifier
VERDICT_SCALES = ("small", "base", "paper")  # others have numbers, and no verdict on a published claim
RESERVED = ("archive", "benchmarks")  # folders of results/ that are no scale's
SEEDS = ["dataset", "model", "variant", "seeds", "planned", "looks", "level", "device", "torch"]


Folder = pathlib.Path | str


class Case(NamedTuple):
    """What a claim is judged on: a data set, the `slug` of a model, a variant, and what is compared there."""

    dataset: str = ""
    model: str = ""
    variant: str = ""
    part: str = ""  # in words, such as a measure

    @classmethod
    def of(cls, params):
        """The case of a unit's parameters."""
        return cls(task_slug(params["task"]), slug(str(params["model"])), params.get("variant", ""))


def grouped(pairs):
    """{Case: [value]} of pairs of a unit's parameters and a value."""
    cases = {}
    for params, value in pairs:
        cases.setdefault(Case.of(params), []).append(value)
    return cases


def titles(cases):
    """{case: title}: the data set, with the model where several of the data set are there, and the part.

    What is no `Case` is its own title.

    >>> list(titles([Case("sst", "lstm"), Case("imdb", "lstm"), Case("sst", "bert", part="lime")]).values())
    ['sst (lstm)', 'imdb', 'sst (bert): lime']
    """
    named = {case: str(case) for case in cases}
    of_models = [case for case in named if isinstance(case, Case)]
    models = Counter(name for name, _ in {case[:2] for case in of_models})
    for case in of_models:
        place = f"{case.dataset} ({case.model})" if models[case.dataset] > 1 else case.dataset
        named[case] = ": ".join(filter(None, (place, case.part)))
    return named


def check_scale(name):
    """Raise ValueError for what cannot name a scale, its config and its folders of results and figures."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise ValueError(f"scale={name!r} is no slug: give small letters, digits, - and _, such as 'mine'")
    if name in RESERVED:
        raise ValueError(f"scale={name!r}: results/{name} holds something else; give another name")


def scales():
    """The scales that have a config in the project, by name."""
    return sorted(path.stem for path in (project_root() / "config").glob("*.yaml"))


def scale_of(path):
    """The scale of a path below results/ or figures/; "" of what is no paper's of a scale."""
    parts = pathlib.PurePath(path).parts
    return parts[1] if len(parts) > 3 and parts[1] not in RESERVED else ""


def slug(model):
    """The last part of a model's name, as records and tables show it."""
    return model.rstrip("/").split("/")[-1]


def unit_name(task, model, seed, variant=""):
    """The name of a unit, and of its files; of a task that is a path, its last part is in it.

    A variant is "" for the main setting, else letters, digits, - and _, with a hyphen or a digit first, so
    that it is never the name of a table; another is a ValueError.

    Example:
        >>> unit_name("sst", "sentence-transformers/all-MiniLM-L6-v2", 0, "only-masking")
        'sst.all-MiniLM-L6-v2.s0.only-masking'
    """
    if variant and not (isinstance(variant, str) and re.fullmatch(VARIANT, variant)):
        fix = "give letters, digits, - and _, with a hyphen in it or a digit first, as in 'only-masking'"
        raise ValueError(f"variant={variant!r} is no slug: {fix}")
    return f"{task_slug(task)}.{slug(str(model))}.s{seed}" + (f".{variant}" if variant else "")


def expand(scale, defaults, row):
    """(unit name, parameters) for each seed of one row of a config's `units`.

    Raises:
        ValueError: no task, model or seed, a scale that is not the config's, a variant that is no slug.
    """
    parameters = {"scale": scale} | defaults | row
    if missing := [key for key in ("task", "model", "seed") if key not in parameters]:
        raise ValueError(f"unit {row}: {missing[0]!r} is missing; name task, model and seed")
    if parameters["scale"] != scale:
        raise ValueError(f"unit {row}: scale={parameters['scale']!r} in the config of {scale}; leave it out")
    seeds = parameters["seed"] if isinstance(parameters["seed"], list) else [parameters["seed"]]
    for seed in seeds:
        unit = unit_name(parameters["task"], parameters["model"], seed, parameters.get("variant", ""))
        yield unit, {**parameters, "seed": seed}


def differences(old, new):
    """What tells the parameters of two units apart: a list of texts such as "epochs=3, not 5".

    Parameters that change no value (PLACES, HOW) are passed over, and so is one that only one of them has and
    that is empty there, as records older than a parameter lack it.
    """
    changed = []
    for name in dict.fromkeys([*old, *new]):
        values = [of[name] for of in (old, new) if name in of]
        same = values[0] == values[1] if len(values) > 1 else values[0] in ("", [])
        if not same and name not in (*PLACES, *HOW):
            has, wanted = (repr(of[name]) if name in of else "unknown" for of in (old, new))
            changed.append(f"{name}={has}, not {wanted}")
    return changed


def departures(params, wanted):
    """As `differences`, of those of the parameters that are wanted."""
    return differences({name: params[name] for name in wanted if name in params}, wanted)


def unit_columns(record):
    """Data set, model (the last part of its name) and seed of a record: a dict."""
    params = record["params"]
    return {"dataset": params["task"], "model": slug(params["model"]), "seed": params["seed"]}


def variant_columns(record):
    """`unit_columns`, and the variant of a record, "" for the main setting: a dict."""
    return unit_columns(record) | {"variant": record["params"].get("variant", "")}


def design(records: list[dict]) -> str:
    """ "nested" where each seed of these records has texts of its own, else "crossed".

    Records of format 1 do not say it; their data's seed does, for all seeds but 0.
    """
    designs = {r["design"] if "design" in r else design_of(r["params"], r["provenance"]) for r in records}
    return "nested" if "nested" in designs else "crossed"


def design_of(params, provenance):
    """A unit's design by its data, whose seed is the unit's own only where the corpus depends on it."""
    data = provenance.get("data") or {}
    seed = data.get("seed", data.get("subset_seed"))
    return "nested" if seed == params["seed"] != 0 else "crossed"


# Reading ------------------------------------------------------------------------------------------


def missing(folder):
    """The units that missing.csv says have failed, in a folder of records: a list of names."""
    table = pathlib.Path(folder) / "missing.csv"
    units = pd.read_csv(table).unit if table.is_file() else []
    return [unit for unit in units if not table.with_name(f"{unit}.json").is_file()]


def in_config(results_dir, scale, paper):
    """(the config's path, {unit: parameters}) where the results are a project's, else (None, {}).

    It does where it is called "results" and stands beside "config", with the paper in config/<scale>.yaml.
    """
    folder = project_root() / results_dir
    path = folder.parent / "config" / f"{scale}.yaml"
    if folder.name != "results" or not path.is_file():
        return None, {}
    import yaml  # comes with transformers

    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))["papers"].get(paper)
        if entry is None:
            return None, {}
        units = [unit for row in entry["units"] for unit in expand(scale, entry.get("defaults", {}), row)]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"cannot be read ({' '.join(str(error).split())}), and it says which units {paper} has"
        raise ValueError(f"{shown(path)} {reason}: correct it") from error
    return path, dict(units)


def load(
    results_dir: Folder, scale: str, paper: str, variants: tuple[str, ...] | None = ("",)
) -> tuple[list[dict], pd.DataFrame]:
    """(records, values): the JSON records of all units and their per-example values in one DataFrame.

    In a project (a folder `results` beside `config`) these are the units that config/<scale>.yaml lists, in
    any other folder all of them. What else lies there is named in print, and so are units without a record
    and those whose parameters are not the config's. Seeds that do not have the settings of the others are
    left out, which a line says. Plugins of the records are imported where their files are there.

    Args:
        results_dir, scale, paper: where the records lie.
        variants: of the units read, "" for the main setting; None for all.

    Returns:
        records, and values with the columns of the parquet files and dataset, model, seed, variant.

    Raises:
        FileNotFoundError: there is no record.
        ValueError: a record that is not whole, or a config that cannot be read.
    """
    folder = project_root() / results_dir / scale / paper
    holes = missing(folder)
    for hole in holes:
        print(f"A hole: unit {hole} failed and has no record; tables and figures are made without it.")
    paths = {path.stem: path for path in sorted(folder.glob("*.json"))}
    config, units = in_config(results_dir, scale, paper)
    if config is None:
        units = dict.fromkeys(paths, {})
    if config and (others := sorted(set(paths) - set(units))):
        print(f"Not shown, as {shown(config)} does not list them: {listed(others)}.")
    if config and (absent := sorted(set(units) - set(paths) - set(holes))):
        print(f"Units of {paper} in {shown(config)} without a record: {listed(absent)}.")
    records, of_variants, unasked = [], [], []
    for unit in [unit for unit in paths if unit in units]:
        record = read_record(paths[unit])
        if (of := (record["paper"], record["unit"])) != (paper, unit):
            raise ValueError(f"{shown(paths[unit])} is a record of {', '.join(of)}: move it away")
        params = record["params"]
        if variants is not None and params.get("variant", "") not in variants:
            of_variants.append(unit)
            continue
        if changed := departures(params, units[unit]):
            print(f"Unit {unit} is not what {shown(config)} asks for: {listed(changed)}.")
            unasked.append(unit)
        files = params.get("plugins", [])
        plugins.load([file for file in files if (project_root() / file).is_file()], project_root())
        records.append(record | {"params": params | {"task": task_slug(params["task"])}})
    if of_variants:
        print(f"Variants, which are not in these tables: {listed(of_variants)}.")
    apart = _of_other_settings(records, unasked)
    records = [record for record in records if record["unit"] not in apart]
    if not records:
        fix = f"run `make results SCALE={scale}` or name another results_dir"
        raise FileNotFoundError(f"no records in {shown(folder)}: {fix}")
    values = _tables(folder, records, ".parquet")
    _check_copies(records, values)
    return records, pd.concat(values, ignore_index=True)


def _check_copies(records, values):
    """Raise ValueError for two seeds of a case with the same weights or, without any, the same values."""
    seen = {}
    for record, table in zip(records, values, strict=True):
        unit, case = record["unit"], Case.of(record["params"])
        what, hashes = "weights", set(record["provenance"].get("weights", {}).values())
        if not hashes and len(table):
            what, hashes = "values", {record["files"][f"{unit}.parquet"]}
        for identity in hashes:
            other = seen.setdefault((case, identity), unit)
            if other != unit:
                fix = "one is a copy of the other; take it away and compute the unit"
                raise ValueError(f"units {other} and {unit} have the same {what} ({identity[:12]}): {fix}")


def _of_other_settings(records, unasked):
    """The units whose settings are not those of the other seeds: {unit}. They cannot be one sample.

    They are those that the config does not ask for (`unasked`), if that makes the others alike, else all
    seeds; a line in print says so. Which attributions were computed may differ.
    """
    apart = set()
    for seeds in grouped((record["params"], record) for record in records).values():
        if not (differing := _unlike(seeds)):
            continue
        rest = [record for record in seeds if record["unit"] not in unasked]
        out = [r for r in seeds if r not in rest] if rest and not _unlike(rest) else seeds
        units = [record["unit"] for record in out]
        print(f"Left out, as not all seeds have the same settings ({listed(differing)}): {listed(units)}.")
        apart |= set(units)
    return apart


def _unlike(records):
    """What tells the settings and the user's own files of these records from those of the first, in words."""
    free = "seed", "attributions", "plugins"  # what seeds may have of their own
    first, *others = [{k: v for k, v in r["params"].items() if k not in free} for r in records]
    texts = {text for other in others for text in differences(other, first)}
    hashes = {pair for record in records for pair in record["provenance"].get("own", {}).items()}
    files = Counter(name for name, _ in hashes)
    return sorted(texts | {f"several contents of {name}" for name in files if files[name] > 1})


def load_tables(results_dir: Folder, scale: str, paper: str, records: list[dict], name: str) -> pd.DataFrame:
    """The tables <unit>.<name>.parquet of records that have one, with dataset, model, seed, variant."""
    tables = _tables(project_root() / results_dir / scale / paper, records, f".{name}.parquet")
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _tables(folder, records, ending):
    """The tables <unit><ending> of records that have one, with what tells their rows from those of others."""
    tables = []
    for record in records:
        names = variant_columns(record) | {"model": record["params"]["model"]}
        if (file := f"{record['unit']}{ending}") in record["files"]:
            tables.append(pd.read_parquet(folder / file).assign(**names))
    return tables


# Seeds --------------------------------------------------------------------------------------------


def level(looks):
    """The level of an interval that is looked at several times (Bonferroni).

    >>> level(1), level(2)
    (0.95, 0.975)
    """
    return 1 - (1 - LEVEL) / looks


def seeds(records: list[dict], card: Card, scale: str, results_dir: Folder = "results") -> pd.DataFrame:
    """The seeds of each case, and what a verdict on it may count with: a DataFrame with the columns SEEDS.

    seeds, planned: numbers of seeds with a record, and of those in the scale's config (0 without one). looks:
    number of times that a verdict on the case is drawn with another number of seeds, planned ones included.
    level: of each interval, 1 - .05 / looks. device, torch: where its units ran.

    Raises:
        ValueError: where there are verdicts, a case with units of two devices or two versions of torch, and
            one that had a verdict with fewer seeds, which the card does not say.
    """
    last = project_root() / results_dir / scale / card.name / "tables" / "seeds.csv"  # of the last report
    before = by_case(pd.read_csv(last, keep_default_na=False)) if last.is_file() else {}
    listed = planned(card.name, scale, results_dir)
    rows = []
    for case, places in grouped((record["params"], record["provenance"]) for record in records).items():
        name = " ".join(filter(None, case))
        declared = card.looks.get(scale, {}).get(name, ())
        computed = {(place["device"], place["versions"]["torch"]) for place in places}
        if scale in VERDICT_SCALES:
            _check_seeds(name, len(places), computed, declared, before[case].seeds if case in before else 0)
        device, torch = (", ".join(sorted(set(names))) for names in zip(*computed, strict=True))
        looks = max(1, len(declared))
        rows.append((*case[:3], len(places), len(listed.get(case, ())), looks, level(looks), device, torch))
    return pd.DataFrame(rows, columns=SEEDS)


def by_case(table):
    """{Case: its row} of a table of `seeds`."""
    return {Case(row.dataset, row.model, row.variant): row for row in table.itertuples()}


def _check_seeds(name, count, computed, declared, before):
    """Raise ValueError for a case that mixes places, and for a look that is not declared."""
    if len({(device, torch.partition("+")[0]) for device, torch in computed}) > 1:  # 2.13.0+cpu is 2.13.0
        places = "; ".join(f"{device}, torch {torch}" for device, torch in sorted(computed))
        fix = "compute those of one of them again, or give them a variant"
        raise ValueError(f"{name}: its seeds ran on different devices or versions of torch ({places}): {fix}")
    if before >= FEWEST_UNITS and before != count and before not in declared:
        fix = f"add {before} to `looks` in the card, which widens its intervals"
        raise ValueError(f"{name}: its last verdicts had {before} seeds, now there are {count}: {fix}")


def planned(paper, scale, results_dir="results"):
    """{Case: [unit]} of the scale's config; {} without one."""
    _, units = in_config(results_dir, scale, paper)
    return grouped((parameters, unit) for unit, parameters in units.items())
