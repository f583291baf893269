"""The command line.

    faithlib evaluate --model my-model --data reviews.csv --label topic --attributions lime,my.py:method
    faithlib run saloss --data reviews.csv --label topic --model my-model -p epochs=3 -p learning_rate=2e-5
    faithlib compare out
    faithlib ground-truth --metric my.py:metric
    faithlib attributions | metrics | tasks | papers
    faithlib env

`python -m faithlib` is the same. What is wrong is told in one line, with status 2; Ctrl-C ends with one line
and status 130, and the same command goes on from what is finished.
"""

import argparse
import ast
import importlib.util
import json
import os
import sys
import tomllib
from contextlib import chdir
from pathlib import Path

from faithlib import __version__, plugins
from faithlib.scores import suggestion

PROGRAM = "faithlib"
COLUMNS = ("text", "text_b", "label", "evidence", "target", "contrast")
OPTIONS = (
    "model", "data", "attributions", "metrics", "baselines", "resume", "seed", "long_texts", "operator",
    "minutes", "blank",
)  # fmt: skip
REFUSALS = (ValueError, OSError, NotImplementedError, ImportError, FloatingPointError)
TABLE = Path(__file__).with_name("commands.toml")  # of the commands and their options


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the nearest name."""

    def error(self, message):
        raise ValueError(f"{message}: see {self.prog} --help")

    def _check_value(self, action, value):
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"{value!r} is unknown: {suggestion(value, action.choices)}")


class _Command(_Parser):
    """The parser of one command, which names an unknown option before it misses another."""

    def parse_known_args(self, args=None, namespace=None):
        options = [name for name in self._option_string_actions if name.startswith("--")]
        for word in args:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in ["--", *options]:
                self.error(f"option {name!r} is unknown: {suggestion(name, options)}")
        return super().parse_known_args(args, namespace)


def main(arguments=None):
    """Run a command, [str], by default the process's; the exit status: 0, 2 for an error, 130 after Ctrl-C.

    Example:
        >>> main(["paper"])  # there is no such command, which stderr says
        2
    """
    parsed = None
    try:
        parsed = _parser().parse_args(arguments)
        return parsed.command(parsed) or 0
    except KeyboardInterrupt:
        output = getattr(parsed, "output", "")
        kept = f"; what is finished is kept in {output}, and the same command goes on"
        return _say(f"stopped{kept}" if os.path.exists(output) else "stopped", 130)
    except BrokenPipeError:  # `faithlib tasks | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as end:  # of a notebook, or of --help
        return _say(end.code, 2) if isinstance(end.code, str) else end.code or 0
    except Exception as error:
        if (line := plugins.fault(error)) or isinstance(error, REFUSALS):
            return _say(line or error, 2)
        raise


def _say(message, status):
    print(f"{PROGRAM}: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    return status


def _parser():
    parser = _Parser(PROGRAM, description="Are explanations of NLP models faithful?", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command", parser_class=_Command)
    for name, row in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        about = row["about"]
        command = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        command.set_defaults(command=COMMANDS[name])
        command.add_argument("--plugins", type=_names, default=[], metavar="FILES", help="my.py,…, to import")
        for option in row.get("options", ()):
            more = {"type": TYPES[option.pop("type")]} if "type" in option else {}
            command.add_argument(*option.pop("flags"), **option, **more)
    return parser


def _names(text):
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name: join names by single commas")
    return names


def _metrics_of(text):
    return text if text in ("default", "all") else _names(text)


def _output(text):
    if not text:
        raise argparse.ArgumentTypeError("'' is no name: name a folder")
    for place in (Path(text), *Path(text).parents):
        if place.is_file():
            raise argparse.ArgumentTypeError(f"{place.as_posix()!r} is a file: name a folder")
    return text


def _whole(text):
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


TYPES = {"names": _names, "metrics": _metrics_of, "number": float, "output": _output, "whole": _whole}


def _parameters(items, texts=()):
    """{name: value} of `-p name=value`; values are Python's or JSON's, or texts for names in `texts`."""
    parameters = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"-p {item!r} is not name=value: write -p epochs=3")
        if name in parameters:
            raise ValueError(f"-p {name} is given twice: leave one out")
        parameters[name] = value if name in texts else _value(name, value)
    return parameters


def _value(name, text):
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    if text.replace("_", "").replace("-", "").isalnum():
        return text
    raise ValueError(f"-p {name}={text!r} is no value: write a number, true, false, a text or a list ['a']")


# evaluate -----------------------------------------------------------------------------------------


def _evaluate(parsed):
    from faithlib import evaluate, load_data, load_model

    folder = Path(parsed.output)
    more = _parameters(parsed.parameters)
    if taken := set(OPTIONS) & set(more):
        raise ValueError(f"-p {min(taken)}: use the option of this name, see {PROGRAM} evaluate --help")
    _load_plugins(parsed.plugins)
    attributions, metrics = _named(parsed.attributions, parsed.metrics)
    columns = {name: getattr(parsed, name) for name in COLUMNS}
    if parsed.data_dir is not None:
        columns["data_dir"] = parsed.data_dir
    data = load_data(parsed.data, labels=parsed.labels, **columns)
    models = [
        load_model(name, data=data, seed=parsed.seed, dtype=parsed.dtype, device=parsed.device,
                   model_dir=parsed.model_dir)
        for name in parsed.model
    ]  # fmt: skip
    study = evaluate(
        models if len(models) > 1 else models[0], _drawn(data, parsed), attributions, metrics,
        baselines=parsed.baselines, seed=parsed.seed, resume=folder / "chunks", long_texts=parsed.long_texts,
        operator=parsed.operator, minutes=parsed.minutes, blank=not parsed.no_blank, **more,
    )  # fmt: skip
    study.show(texts=0)
    study.save(folder)
    print(f"{folder.as_posix()}/: record.json, tables, figures, explorer.html")


def _drawn(data, parsed):
    """The rows that are explained: of the split "test", or of the only one."""
    import numpy as np

    splits = data.splits
    rows = splits["test"] if "test" in splits else next(iter(splits.values()))
    if not 0 < parsed.examples < len(rows):
        if parsed.examples > len(rows):
            print(f"--examples {parsed.examples} exceeds the data: all {len(rows)} texts are used")
        return data
    chosen = np.random.default_rng(parsed.seed).permutation(len(rows))[: parsed.examples]
    data.splits = (splits if "test" in splits else {}) | {"test": rows.select(np.sort(chosen))}
    return data


def _own(name, registry):
    """A registered name, or the function of "my.py:function"."""
    file, colon, function = name.rpartition(":")
    if not colon:
        return name
    (module,) = _load_plugins([file])
    if not callable(value := getattr(module, function, None)):
        functions = [n for n, v in vars(module).items() if callable(v) and v.__module__ == module.__name__]
        raise ValueError(f"{file} has no function {function!r}: it has {', '.join(functions) or 'none'}")
    if not hasattr(value, "__name__"):  # of functools.partial, or an object
        value.__name__ = function
    registered = [n for n in registry.names() if registry.get(n).function is value]  # perhaps twice
    return function if function in registered else (registered or [value])[0]


def _named(attributions, metrics):
    """Attributions and metrics as `evaluate` takes them; ValueError for an unknown one, before any work."""
    from faithlib import attributions as known
    from faithlib.metrics import registry

    entries = [_own(name, known) for name in attributions]
    for name in [name for name in entries if isinstance(name, str)]:
        known.get(name)
    measured = [] if isinstance(metrics, str) else [_own(name, registry) for name in metrics]
    for metric in measured:
        if callable(metric):
            raise ValueError(
                f"--metrics: {metric.__name__} does not register: put @faithlib.register_metric("
                f"{metric.__name__!r}, better=..., range=...) above its definition"
            )
        registry.get(metric)
    return entries, measured or metrics  # "default" or "all"


def _load_plugins(files):
    for file in files:
        if Path(file).is_dir():
            raise ValueError(f"plugins: {file!r} is a folder: name a Python file, such as {file}/my.py")
    return plugins.load(files)


# ground-truth -------------------------------------------------------------------------------------


def _ground_truth(parsed):
    from faithlib import attributions, clone
    from faithlib.metrics import registry

    clone.enter()
    from notebooks.ground_truth_2 import trial

    _load_plugins(parsed.plugins)
    metric = parsed.metric and _own(parsed.metric, registry)
    attribution = parsed.attribution and _own(parsed.attribution, attributions)
    places = parsed.output, parsed.data_dir, parsed.model_dir
    print(trial.report(metric, attribution, parsed.better, parsed.seed, *places))


# run ----------------------------------------------------------------------------------------------


def _run(parsed):
    card, notebook = _notebook(parsed.paper)  # which puts the clone on the path
    import execute
    import units

    from faithlib.tasks import files
    from faithlib.tasks.table import TASKS

    defaults = execute.defaults(notebook)
    texts = [name for name, value in defaults.items() if isinstance(value, str)]
    parameters = _parameters(parsed.parameters, texts)
    output = Path(parsed.output).absolute()
    plugins = [Path(file).absolute().as_posix() for file in parsed.plugins]
    chosen = {"plugins": plugins} if plugins else {}
    _load_plugins(plugins)
    columns = {name: value for name in COLUMNS[:-1] if (value := getattr(parsed, name))}
    if parsed.data in TASKS and not Path(parsed.data).is_file():
        chosen["task"] = parsed.data
    elif parsed.data:
        chosen["task"] = _path(parsed.data, sorted(TASKS))
    if columns:
        chosen["task"] = _renamed(chosen.get("task", ""), columns, output / "data", card.kind)
    if parsed.model:
        chosen["model"] = _folder(parsed.model)
    if twice := sorted(set(chosen) & set(parameters)):
        raise ValueError(f"{twice[0]} is given twice: leave -p {twice[0]}=… out")
    recorded = _of_record(parsed.like, parsed.paper, defaults) if parsed.like else {}
    parameters = {**recorded, "results_dir": (output / "results").as_posix(), **parameters, **chosen}
    execute.check(notebook, parameters)
    wanted = defaults | parameters | {"results_dir": "results"}  # a grid's; here it may be elsewhere
    units.check(card, wanted, defaults)
    if card.demand:
        card.demand([wanted])
    if files.is_path(wanted["task"]):
        files.read(wanted["task"], card.kind)
    place = output / parsed.paper / "experiment.ipynb"
    again = ["--again"] if parsed.again else []
    with chdir(Path.cwd()):  # it goes into the notebook's folder
        execute.main([notebook, str(place), json.dumps(parameters), *again])


def _of_record(path, paper, defaults):
    """The parameters of a record that the paper's notebook takes."""
    from faithlib.store import read_record

    record = read_record(Path(path))
    if record["paper"] != paper:
        raise ValueError(f"--like {path!r} is a record of {record['paper']}: faithlib run {record['paper']}")
    return {n: v for n, v in {**record["params"], "scale": record["scale"]}.items() if n in defaults}


def _compare(parsed):
    folder, output = Path(parsed.folder).absolute(), Path(parsed.output).absolute()
    with chdir(_workflow()):
        import compare

        compare.compare(folder, output)


def _renamed(data, columns, folder, kind):
    """One's own data as tables with the columns that papers of a kind read, in `folder`: their path."""
    from faithlib.tasks import files, tables

    if not data or not Path(data).exists():
        raise ValueError(f"--{next(iter(columns))} names a column of data of your own: give --data, its file")
    task, frames, _ = tables.read(data, **files.named(data, kind) | columns)
    if task.labels:
        frames = {s: frame.assign(label=[task.labels[i] for i in frame.label]) for s, frame in frames.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if Path(data).is_file():
        (frame,), path = frames.values(), folder / f"{Path(data).stem}.parquet"
        frame.to_parquet(path)
        return path.as_posix()
    path = folder / Path(data).name
    path.mkdir(exist_ok=True)
    for split, frame in frames.items():
        frame.to_parquet(path / f"{split}.parquet")
    return f"{path.as_posix()}/"


def _notebook(paper):
    """(a paper's card, its experiment)."""
    root = _workflow()
    from replication import papers

    if importlib.util.find_spec("papermill") is None:
        raise ValueError("papermill is not installed: pip install 'faithlib[notebooks]'")
    return papers.card(paper), str(root / "notebooks" / paper / "experiment.ipynb")


def _path(data, tasks):
    """The absolute path of one's own data."""
    path = Path(data).expanduser()
    if not path.exists():
        raise ValueError(f"--data {data!r} is no task and no file or folder: {suggestion(data, tasks)}")
    return path.resolve().as_posix() + ("/" if path.is_dir() else "")


def _folder(model):
    path = Path(model).expanduser()
    return path.resolve().as_posix() if path.is_dir() else model


def _workflow():
    """Put the clone's folder workflow on the path; the clone's root."""
    from faithlib import clone

    root = clone.enter()
    if (folder := str(root / "workflow")) not in sys.path:
        sys.path.insert(0, folder)
    return root


# Lists --------------------------------------------------------------------------------------------


def _attributions(parsed):
    from faithlib import attributions

    _load_plugins(parsed.plugins)
    entries = [attributions.get(name) for name in attributions.names()]
    _table((e.name, "signed" if e.signed else "absolute", e.family, e.label) for e in entries)


def _metrics(parsed):
    from faithlib.metrics import registry

    _load_plugins(parsed.plugins)
    entries = [registry.get(name) for name in registry.names()]
    needs = {e.name: ", ".join(e.needs) or "any model" for e in entries}
    _table((e.name, f"{e.better} is better", e.label, f"needs {needs[e.name]}") for e in entries)


def _tasks(parsed):
    from faithlib.tasks.table import TASKS

    _load_plugins(parsed.plugins)

    def source(task):
        return "generated" if task.generated else "hub" if task.hub else "files of your own"

    _table((t.name, t.kind, source(t), t.title) for t in TASKS.values())


def _papers(parsed):
    from faithlib import clone

    clone.enter()
    from replication import papers

    _load_plugins(parsed.plugins)
    _table((card.name, card.title) for card in map(papers.card, papers.names()))


def _env(parsed):
    from faithlib import environment

    _table(environment.summary())


def _table(rows):
    """Print rows in columns, the last one as it is."""
    rows = [tuple(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[-1]]).rstrip())


COMMANDS = {
    "evaluate": _evaluate,
    "run": _run,
    "compare": _compare,
    "ground-truth": _ground_truth,
    "attributions": _attributions,
    "metrics": _metrics,
    "tasks": _tasks,
    "papers": _papers,
    "env": _env,
}


if __name__ == "__main__":
    sys.exit(main())
