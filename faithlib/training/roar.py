"""ROAR and Recursive ROAR: mask the most important tokens, retrain, and measure the remaining performance.

One unit trains many models from the same initial weights, each on data masked up to a masking level. ROAR
ranks tokens once, by scores of the model trained on unmasked data; Recursive ROAR ranks them again at each
level, by scores of the previous level's model (Hooker et al. 2019; Madsen et al. 2022, section 3). A model is
named by how its data were masked, and models that curves share are trained once: `attention.ratio10-20-30` is
the third level of the recursive curve of attention, `attention.ratio30` that of its plain curve, and both
start at the model `unmasked`. The results of each finished model are stored in a folder.
"""

import json
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from faithlib import attributions, provenance, store
from faithlib.engine import forward
from faithlib.progress import bar, silent
from faithlib.scores import RANDOM, generator, mask, one_of, ranking, sparsity, uniform, whole
from faithlib.training import fine_tuning

SPLITS = ("train", "validation", "test")
SECONDS = ["seconds_train", "seconds_explain"]
COSTS = [*SECONDS, "peak_memory_mib", "read_back"]  # of a model; they differ between runs


@dataclass(frozen=True)
class Plan:
    """The models of a unit.

    Attributes:
        measures: the attributions to compare, by name; the random baseline is added.
        steps: the masking levels: by "ratio" percentages of the maskable tokens, by "count" numbers of
            tokens, masked in total (Madsen et al. 2022, appendix F).
        by: "ratio" or "count".
        recursive: False for ROAR, True for Recursive ROAR; both by default.
        settings: of `attribute`, such as {"steps": 50}, including definition and paper.

    Raises:
        ValueError: an unknown attribution or setting, levels that do not increase or exceed 100 %.

    Example:
        >>> list(Plan(["attention"], steps=[50, 100], recursive=[False]).jobs())
        ['unmasked', 'random.ratio50', 'all-masked', 'attention.ratio50']
    """

    measures: tuple
    steps: tuple = tuple(range(10, 101, 10))
    by: str = "ratio"
    recursive: tuple = (False, True)
    settings: dict = field(default_factory=dict)

    def __post_init__(self):
        for name in ("measures", "steps", "recursive"):  # a notebook's parameters are lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if RANDOM in self.measures:
            raise ValueError(f"measures={list(self.measures)}: {RANDOM!r} is always there, leave it out")
        if len(set(self.measures)) < len(self.measures):
            raise ValueError(f"measures={list(self.measures)} names one twice: give each once")
        attributions.check(self.measures, **self.settings)
        one_of("by", self.by, ("ratio", "count"))
        counts = all(isinstance(s, int) and not isinstance(s, bool) and s > 0 for s in self.steps)
        if not self.steps or not counts or list(self.steps) != sorted(set(self.steps)):
            raise ValueError(f"steps={list(self.steps)} must be increasing whole numbers above 0")
        if self.by == "ratio" and self.steps[-1] > 100:
            raise ValueError(f"steps={list(self.steps)} by ratio are percentages: at most 100")
        if not self.recursive or set(self.recursive) - {False, True}:
            raise ValueError(
                f"recursive={list(self.recursive)} must hold False, True or both: ROAR, Recursive ROAR"
            )

    @property
    def curves(self):
        """All (attribution, recursive) whose performance is compared."""
        return [(measure, r) for measure in (RANDOM, *self.measures) for r in dict.fromkeys(self.recursive)]

    def masked(self, step, n):
        """Tokens masked in total at a level, of n maskable ones: ⌊step · n / 100⌋, or min(step, n)."""
        return step * n // 100 if self.by == "ratio" else np.minimum(step, n)

    def job(self, measure, recursive, step):
        """The job of a curve at a masking level; level 0 is the unmasked data."""
        if step == 0:
            return Job()
        if self.by == "ratio" and step == 100:
            return Job(by="ratio", path=(100,))
        again = recursive and measure != RANDOM
        path = self.steps[: self.steps.index(step) + 1] if again else (step,)
        return Job(measure, self.by, path)

    def jobs(self):
        """All jobs of the unit, {name: Job}, each after the job whose scores it needs."""
        jobs_of = {}
        for curve in self.curves:
            for step in (0, *self.steps):
                job = self.job(*curve, step)
                jobs_of.setdefault(job.name, job)
        for job in tuple(jobs_of.values()):
            if source := jobs_of.get(job.source):
                explains = dict.fromkeys([*source.explains, job.measure])
                jobs_of[source.name] = replace(source, explains=tuple(explains))
        return jobs_of


@dataclass(frozen=True)
class Job:
    """One training job: which attribution masked the data, at which masking levels.

    Attributes:
        measure: the attribution; without one (but with a path) all maskable tokens are masked.
        by: "ratio" or "count".
        path: the levels at which tokens were ranked; without a path no token is masked.
        explains: the attributions to compute on this model, for later jobs.
    """

    measure: str = ""
    by: str = ""
    path: tuple = ()
    explains: tuple = ()

    @property
    def name(self):
        if not self.measure:
            return "all-masked" if self.path else "unmasked"
        return f"{self.measure}.{self.by}{'-'.join(map(str, self.path))}"

    @property
    def source(self):
        """The name of the job whose scores rank the tokens; "" if no scores are needed."""
        if self.measure in ("", RANDOM):
            return ""
        return Job(self.measure, self.by, self.path[:-1]).name if self.path[1:] else Job().name


def run(
    make_model: Callable,
    splits: dict,
    plan: Plan,
    settings: dict,
    kept: Path,
    seed: int = 0,
    workers: int = 1,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train and test all models of a unit.

    Args:
        make_model: a function that returns a Classifier, always with the same weights; with several workers
            it must be picklable.
        splits: {"train", "validation", "test": (encodings, labels)}; all three are masked, by scores for the
            gold label.
        settings: keyword arguments of `fine_tuning.fine_tune`.
        kept: the folder of the results of finished models, which are not computed again.
        seed: of training and of the random baseline.
        workers: how many models are trained at a time, each in a process with one thread; results do not
            depend on it.

    Returns:
        Three DataFrames. curves: for each (measure, recursive, step) and metric the test performance; the
        job's name (a job shared by curves has rows in each), epochs, seconds and memory; over all splits the
        tokens masked in total and newly, and the texts with no newly masked token; the number of classes
        predicted. predictions: for each job and test example the predicted class and the probability of the
        gold label. sparsity: for each explained job `scores.sparsity` of its scores on the test split.

    Raises:
        ValueError: before any training, for a unit that cannot be run.
        FloatingPointError: a loss or a score is not finite; the message names the model.
        RuntimeError: a worker process was killed.
    """
    _check(make_model, splits, workers)
    unit = make_model, splits, plan, settings, kept, seed
    trainer = Trainer(*unit)
    trainer.check()
    jobs = plan.jobs()
    todo = {name: job for name, job in jobs.items() if not trainer.has_done(job)}
    with bar(len(jobs), "training models", "model") as progress:
        progress.n = progress.initial = len(jobs) - len(todo)  # so that the rate is that of the jobs to do
        if workers == 1 or len(todo) < 2:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                for job in todo.values():
                    trainer.train(job)
                    progress.update()
            finally:
                torch.set_num_threads(threads)
        else:
            _in_processes(unit, trainer.folder, todo, min(workers, len(todo)), progress)
    n = np.array([e.maskable.sum() for e in trainer.encodings])
    curves, predictions, sparsity = _tables(plan, trainer.folder, n)
    return curves.assign(read_back=~curves.job.isin(list(todo))), predictions, sparsity


def costs(run: Any, curves: pd.DataFrame, workers: int) -> dict[str, Any]:
    """Seconds and memory of the models, for the `volatile` part of a record.

    The seconds of models that were read back are added to `run.earlier`. The memory is an upper bound: this
    process and `workers` processes, each as large as the largest.
    """
    spent = curves.drop_duplicates("job").set_index("job")[COSTS]
    seconds = spent[SECONDS]
    earlier = seconds[spent.read_back].to_numpy().sum()
    run.earlier += earlier / workers  # they were trained in parallel
    run.earlier_cpu += earlier  # one thread each
    of_models = {job: list(of) for job, *of in seconds.round(2).itertuples()}
    values: dict[str, Any] = {"seconds_of_models": of_models}
    if workers > 1:
        largest = int(spent.peak_memory_mib.max())
        values["peak_memory_mib"] = provenance.peak_memory_mib() + workers * largest
    return values


class Trainer:
    """Trains models of one unit in one process; the arguments are those of `run`."""

    def __init__(self, make_model, splits, plan, settings, kept, seed=0):
        self.model, self.plan, self.settings, self.seed = make_model(), plan, settings, seed
        self.initial = {name: w.detach().clone() for name, w in self.model.model.state_dict().items()}
        self.sizes = [len(splits[split][0]) for split in SPLITS]
        self.encodings = [e for split in SPLITS for e in splits[split][0]]
        self.labels = np.concatenate([np.asarray(splits[split][1]) for split in SPLITS])
        self.ends = np.cumsum([len(e.ids) for e in self.encodings])
        module = self.model.model
        weights = provenance.weights_digest(module), module.config.to_dict()
        about = weights, self.encodings, self.labels, self.sizes, plan.settings, settings, seed
        key = store.Store(kept, ("training/roar.py",), *about).key
        self.folder = kept / f"roar.{key[:12]}"

    def check(self):
        """Raise ValueError for labels, texts or attributions that do not fit the model."""
        model = self.model
        forward.check_outputs(model, "label", self.labels)
        forward.check_mask(model)
        model.check(self.encodings)
        attributions.check(self.plan.measures, model, **self.plan.settings)

    def train(self, job):
        """Train, test and, if later jobs need it, explain one model; the .json written last marks it done."""
        try:
            encodings = mask(self.encodings, self.masks(job), self.model.mask_id)
            start = time.perf_counter()
            self.model.model.load_state_dict(self.initial)
            ends = zip(SPLITS, self.sizes, np.cumsum(self.sizes), strict=True)
            data = {s: (encodings[end - n : end], self.labels[end - n : end]) for s, n, end in ends}
            history = fine_tuning.fine_tune(self.model, data, **self.settings, seed=self.seed)
            performance = fine_tuning.evaluate(self.model, *data["test"])
            trained = time.perf_counter()
            shares = self.explain(job, encodings) if job.explains else []
        except (ValueError, FloatingPointError) as error:
            kind = FloatingPointError if isinstance(error, FloatingPointError) else ValueError
            raise kind(f"model {job.name}: {error}") from error
        p = performance.pop("probabilities")  # (examples, classes)
        predictions = {"job": job.name, "example": range(len(p)), "predicted": p.argmax(-1)}
        predictions["p_gold"] = p[np.arange(len(p)), data["test"][1]]
        store.write_parquet(self.folder / f"{job.name}.parquet", pd.DataFrame(predictions))
        best = next(evaluation for evaluation in history if evaluation["kept"])
        row = {
            "metrics": performance,
            "sparsity": shares,
            "epochs": history[-1]["epoch"],
            "best_epoch": best["epoch"],
            "seconds_train": trained - start,
            "seconds_explain": time.perf_counter() - trained,
            "peak_memory_mib": provenance.peak_memory_mib(),
        }
        text = json.dumps(row)
        store.write_atomically(self.folder / f"{job.name}.json", lambda path: path.write_text(text))

    def masks(self, job):
        """The tokens of each example that are masked for a job: [(tokens,) bool]."""
        maskable = [e.maskable for e in self.encodings]
        if not job.path:
            return [np.zeros_like(m) for m in maskable]
        if not job.measure:
            return maskable
        if job.source:
            file = self.folder / f"{job.source}.{job.measure}.parquet"
            places = np.split(pd.read_parquet(file)["place"].to_numpy(), self.ends[:-1])
        else:
            places = [ranking(uniform(e, generator(e, self.seed)), e.maskable, False) for e in self.encodings]
        return [p < self.plan.masked(job.path[-1], m.sum()) for p, m in zip(places, maskable, strict=True)]

    def explain(self, job, encodings):
        """Store the next masking order by each attribution of job.explains; returns the rows of sparsity."""
        shares, settings = [], {"seed": self.seed, **self.plan.settings}
        scores = attributions.attribute(self.model, encodings, self.labels, job.explains, **settings)
        masked = [e.maskable & (e.ids == self.model.mask_id) for e in encodings]
        for measure, rows in scores.items():
            places = [ranking(s, e.maskable, m) for s, e, m in zip(rows, encodings, masked, strict=True)]
            table = pd.DataFrame({"place": np.concatenate(places).astype(np.int32)})
            store.write_parquet(self.folder / f"{job.name}.{measure}.parquet", table)
            test = [s[e.maskable] for s, e in zip(rows, encodings, strict=True)][-self.sizes[-1] :]
            shares += [{"measure": measure, **row} for row in sparsity(test)]
        return shares

    def has_done(self, job):
        """Whether a job's results, and the masking orders that later jobs need, are stored and intact."""
        try:
            json.loads((self.folder / f"{job.name}.json").read_text())
        except (FileNotFoundError, ValueError):
            return False
        tables = (f"{job.name}.parquet", *(f"{job.name}.{measure}.parquet" for measure in job.explains))
        return all(store.read_part(self.folder / table) is not None for table in tables)


def _in_processes(unit, folder, todo, workers, progress):
    """Train the jobs `todo` in several processes, those with the longest chain of dependent jobs first."""
    height = {}  # the length of the longest chain of jobs that starts here
    for name, job in reversed(todo.items()):
        height[name] = max(height.get(name, 0), 1)
        height[job.source] = max(height.get(job.source, 0), height[name] + 1)
    waiting, running = sorted(todo.values(), key=lambda job: -height[job.name]), {}
    context = multiprocessing.get_context("spawn")  # a forked process could not use a GPU
    try:
        with ProcessPoolExecutor(workers, context, _start, unit) as pool:
            while waiting or running:
                busy = {job.name for job in (*waiting, *running.values())}
                for job in [job for job in waiting if job.source not in busy][: workers - len(running)]:
                    waiting.remove(job)
                    running[pool.submit(_train, job, folder)] = job
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    del running[future]
                    future.result()
                    progress.update()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process that trained a model was killed, perhaps out of memory: run again "
            "with fewer workers; finished models are kept"
        ) from error


_trainer = None  # the Trainer of a worker process


def _start(*unit):
    """Initialise a worker process: one thread, a Trainer of the unit, and an end when its parent ends."""
    global _trainer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    _trainer = Trainer(*unit)


def _end_with_parent():
    wait_for([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _train(job, folder):
    if _trainer.folder != folder:
        raise ValueError(
            "make_model gives another model in another process: let it depend on nothing but its arguments"
        )
    with silent():  # the bar of all models is that of the process that waits for them
        _trainer.train(job)


def _check(make_model, splits, workers):
    """Raise ValueError for arguments of `run` that do not need a model to be checked."""
    whole("workers", workers, 1)
    for split in SPLITS:
        texts, labels = (len(column) for column in splits[split])
        if texts != labels:
            raise ValueError(f"split {split!r} has {texts} texts and {labels} labels: give each text one")
    try:
        if workers > 1:
            pickle.dumps(make_model)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"make_model cannot be handed to other processes ({error}): give a function "
            "of a module, or functools.partial of one, or set workers=1"
        ) from error


def _tables(plan, folder, n):
    """The DataFrames that `run` returns; n: (examples,) the number of maskable tokens of each."""
    names = list(jobs := plan.jobs())
    rows = {name: json.loads((folder / f"{name}.json").read_text()) for name in names}
    predictions = pd.concat([pd.read_parquet(folder / f"{n}.parquet") for n in names], ignore_index=True)
    classes = predictions.groupby("job").predicted.nunique()
    curves = []
    for measure, recursive in plan.curves:
        before = np.zeros_like(n)
        for step in (0, *plan.steps):
            name, masked = plan.job(measure, recursive, step).name, plan.masked(step, n)
            common = {"measure": measure, "recursive": recursive, "by": plan.by, "step": step, "job": name}
            job_values = {k: rows[name][k] for k in ("epochs", "best_epoch", *SECONDS, "peak_memory_mib")}
            job_values |= {
                "masked_tokens": masked.sum(),
                "new_tokens": (masked - before).sum(),
                "unchanged_texts": (masked == before).sum(),
                "classes_predicted": classes[name],
            }
            measured = rows[name]["metrics"].items()
            curves += [{**common, "metric": metric, "value": v, **job_values} for metric, v in measured]
            before = masked
    of_jobs = [{"job": name, **share} for name in names for share in rows[name]["sparsity"]]
    shares = [s for s in of_jobs if s["measure"] in jobs[s["job"]].explains]  # a run before explained more
    return pd.DataFrame(curves), predictions, pd.DataFrame(shares)
