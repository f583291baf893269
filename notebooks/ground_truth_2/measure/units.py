"""One unit: the models of a seed, planted or natural, with their gates and what they are scored on."""

from dataclasses import dataclass
from functools import partial

from faithlib.engine.operators import OPERATORS
from faithlib.scores import one_of, whole
from notebooks.ground_truth_2.measure import natural_texts, planted_models, planted_unit, read_unit, scoring
from notebooks.ground_truth_2.measure.natural_texts import NATURAL
from notebooks.ground_truth_2.measure.planted_texts import LENGTHS, PLANTED
from notebooks.ground_truth_2.measure.read_half import KINDS
from notebooks.ground_truth_2.measure.read_training import Settings
from notebooks.ground_truth_2.measure.sharpness import sharpened

TASK = "planted"


@dataclass
class Unit:
    """The parameters of a unit, as the notebook explains them; each is checked on construction.

    Attributes:
        origin: where the texts come from; of natural texts once `models` has read them.

    Raises:
        ValueError: an unknown name, a number out of range.
    """

    task: str
    model: str
    seed: int
    mechanisms: tuple = ()
    length: int = 12
    kind: str = "attention"
    train_size: int = 0
    sharpness: float = 1.0
    operators: tuple = ()
    examples: int = 40
    draws: int = 8

    def __post_init__(self):
        one_of("task", self.task, (TASK, *NATURAL))
        for name in self.mechanisms:
            one_of("mechanisms", name, PLANTED)
        for name in self.operators:
            one_of("operators", name, OPERATORS)
        one_of("kind", self.kind, KINDS)
        one_of("length", self.length, LENGTHS)
        whole("examples", self.examples, 1)
        whole("draws", self.draws, 1)
        if not self.sharpness > 0:
            raise ValueError(f"sharpness={self.sharpness} must be above 0: give a factor such as 4.0")
        self.mechanisms = self.mechanisms or tuple(PLANTED)
        self.operators = self.operators or OPERATORS
        self.origin = {"source": "generated", "generator": TASK, "seed": self.seed}

    @property
    def key(self):
        """What values depend on besides the model's name and the code, [plain value]."""
        return [self.task, self.model, self.seed, self.length, self.kind, self.train_size, self.sharpness,
                list(self.operators), self.examples, self.draws]  # fmt: skip

    def models(self, data_dir="", model_dir="", run=None):
        """The trained models, [(mechanism or data set, PlantedModel or ReadModel)].

        data_dir, model_dir: a local mirror of the data sets and a folder of models, or "". run: a
        `results.Run` that keeps weights, or None.
        """
        device = "cpu" if run is None else run.device
        if self.task == TASK:
            train = partial(planted_models.trained, seed=self.seed, model=self.model, model_dir=model_dir,
                            device=device, length=self.length, run=run)  # fmt: skip
            return [(name, train(PLANTED[name])) for name in self.mechanisms]
        natural = NATURAL[self.task]
        splits, self.origin = natural_texts.texts(natural, self.seed, data_dir, self.train_size)
        settings = Settings(epochs=natural.epochs, seed=self.seed, dtype="float32")
        trained = read_unit.trained(
            splits, natural.labels, self.kind, self.model, settings, model_dir, device, run
        )
        return [(self.task, trained)]

    def gate(self, name, trained):
        """What is known of a model: a row of the record's table of gates."""
        about = {"mechanism": name, "accuracy": trained.accuracy, "refused": trained.refused}
        return about | {"kind": self.kind if self.task != TASK else "", "length": self.length,
                        "sharpness": self.sharpness}  # fmt: skip

    def prepared(self, trained):
        """What a model of `models` is scored on: a `scoring.Prepared`."""
        prepare = planted_unit.prepared if self.task == TASK else read_unit.prepared
        return prepare(trained, self.examples, self.operators)

    def rows(self, prepared):
        """(start, stop) -> rows of these texts, as `results.Run.in_parts` calls it."""

        def make(start, stop):
            with sharpened(prepared.operators[0].model, self.sharpness):
                return scoring.rows(prepared, start, stop, self.draws)

        return make
