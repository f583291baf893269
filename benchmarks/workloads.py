"""What is explained: sentences for an encoder, prompts for causal language models, made on the spot."""

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from faithlib.engine.forward import probabilities, unchanged
from faithlib.models import CausalLM, Classifier, load

WORDS = """the a and but when while because after before near under over with without from into old young
small large quiet bright heavy early late cold warm empty green river house garden street letter window
bridge market kitchen teacher farmer doctor child brother sister mother captain horse bird dog table
winter summer morning evening story music bread water road wall walked found carried opened closed wrote
watched followed remembered forgot bought sold built broke gave took never always
often slowly again""".split()

SPECIAL = 4  # the first ids of `word_tokenizer`: no word


@dataclass(frozen=True)
class Workload:
    """One model and the examples that every implementation explains."""

    task: str
    name: str  # of the model
    model: Classifier | CausalLM
    texts: list
    encodings: list
    targets: np.ndarray  # (examples,) the most probable class or next word

    def first(self, n):
        """The first n examples alone."""
        return replace(self, texts=self.texts[:n], encodings=self.encodings[:n], targets=self.targets[:n])


def encoder(device="cpu", quick=False):
    """MiniLM-L6 with a seeded head of two classes, 64 sentences of 21 to 39 tokens, 31 on average."""
    generator = np.random.default_rng(0)
    lengths = [5, 8, 7] if quick else generator.permutation(np.linspace(21, 39, 64).round().astype(int) + 1)
    texts = [" ".join(generator.choice(WORDS, min(int(n), 39) - 2)) for n in lengths]
    name = "tiny-bert" if quick else "sentence-transformers/all-MiniLM-L6-v2"
    model = load(name, ["no", "yes"], texts=texts, device=device)
    return workload("encoder", name.split("/")[-1], model, texts, outputs=slice(None))


def causal(kind, device="cpu", quick=False):
    """A random Llama or GPT-2 of 4 layers, 256 wide, vocabulary 8192, and 64 prompts of 32 tokens."""
    layers, width, vocabulary, n, tokens = (2, 16, 64, 3, 6) if quick else (4, 256, 8192, 64, 32)
    special = {"vocab_size": vocabulary, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3}
    if kind == "Llama":
        sizes = {"hidden_size": width, "intermediate_size": 8 * width // 3, "num_hidden_layers": layers}
        sizes |= {"num_attention_heads": 4, "max_position_embeddings": 128}
        build, config = LlamaForCausalLM, LlamaConfig(**sizes, **special)
    else:
        sizes = {"n_embd": width, "n_layer": layers, "n_head": 4, "n_positions": 128}
        build, config = GPT2LMHeadModel, GPT2Config(**sizes, **special)
    name = f"random {kind}, {layers} layers, {width} wide"
    return _prompts(name, _seeded(build, config, device), tokens, n)


def _prompts(name, hf, tokens, n):
    """A workload of n prompts of so many random words, one token each."""
    vocabulary = hf.config.vocab_size
    texts, model = _random_texts(vocabulary, n, tokens), CausalLM(hf, word_tokenizer(vocabulary), name)
    return workload("causal LM", name, model, texts, outputs=slice(SPECIAL, None))


def _random_texts(vocabulary, n, tokens):
    """n texts of so many words of `word_tokenizer`."""
    rows = np.random.default_rng(0).integers(0, vocabulary - SPECIAL, (n, tokens))
    return [" ".join(f"w{i}" for i in row) for row in rows]


def large(device="cpu", quick=False, model_dir=""):
    """SmolLM2-135M-Instruct from `model_dir`, or random weights of its shapes; prompts of 32 tokens."""
    folder = Path(model_dir, "HuggingFaceTB/SmolLM2-135M-Instruct")
    shape = (16, 32, 2, 2, 1, 64) if quick else (576, 1536, 30, 9, 3, 49152)
    if model_dir and folder.is_dir() and not quick:
        name, hf = "SmolLM2-135M-Instruct", LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    else:
        name, hf = "random Llama of SmolLM2-135M's shapes", _seeded(LlamaForCausalLM, llama(*shape), device)
    return _prompts(name, hf.to(device), 6 if quick else 32, n=4)


def billion(quick=False, dtype=torch.bfloat16):
    """A random Llama of Llama-3.2-1B's shapes and a prompt of 1,000 tokens, in bfloat16.

    Only 60 tokens at its end, whose prefixes are longest, and 4 before them may be scored.
    """
    shape = (16, 32, 2, 2, 1, 64) if quick else (2048, 8192, 16, 32, 8, 128256)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        hf = _seeded(LlamaForCausalLM, llama(*shape), "cpu")
    finally:
        torch.set_default_dtype(before)
    work = _prompts("random Llama of Llama-3.2-1B's shapes", hf, 100 if quick else 1000, n=1)
    (encoding,) = work.encodings
    chosen = np.zeros(len(encoding.ids), bool)
    chosen[-60:] = chosen[len(chosen) // 4 : -60 : len(chosen) // 6] = True
    return replace(work, encodings=[replace(encoding, maskable=chosen)])


def llama(width, intermediate, layers, heads, key_value_heads, vocabulary):
    """The config of a Llama whose output layer is its embedding table."""
    return LlamaConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=intermediate, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=key_value_heads, max_position_embeddings=2048,
        tie_word_embeddings=True, pad_token_id=1, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip


def in_half(work, dtype=torch.bfloat16):
    """The workload with a copy of its model in half precision."""
    model = copy.deepcopy(work.model)
    model.dtype = dtype
    model.cast(model.dtype)
    return replace(work, model=model)


def compiled(work, quick=False):
    """The workload with a copy of its model that torch compiles (quick: without the compiler of C++)."""
    model = copy.deepcopy(work.model)
    model.model.compile(dynamic=True, backend="eager" if quick else "inductor")
    return replace(work, model=model)


def wide_vocabulary(quick=False):
    """A random RoBERTa of 2 layers, 768 wide, vocabulary 50,265, and 8 texts of 510 tokens."""
    width, vocabulary, n, tokens = (16, 500, 2, 8) if quick else (768, 50265, 8, 508)
    config = RobertaConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=2, num_attention_heads=width // 8,
        intermediate_size=4 * width, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1,
    )  # fmt: skip
    texts, name = _random_texts(vocabulary, n, tokens), f"random RoBERTa, 2 layers, {width} wide"
    hf = _seeded(RobertaForSequenceClassification, config, "cpu")
    model = Classifier(hf, word_tokenizer(vocabulary), name)
    return workload("encoder", name, model, texts, outputs=slice(None))


def word_tokenizer(vocabulary):
    """A tokenizer whose tokens are the words w0, w1, ..., `vocabulary` of them with four special ones."""
    named = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    tokens = [*named.values(), *(f"w{i}" for i in range(vocabulary - SPECIAL))]
    words = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, **named)


def _seeded(build, config, device):
    torch.manual_seed(0)
    return build(config).to(device)


def workload(task, name, model, texts, outputs):
    model.model.requires_grad_(False)  # for everybody: no implementation needs gradients of weights
    encodings = model.encode(texts)
    p = probabilities(model, [unchanged(e) for e in encodings])  # (examples, outputs)
    targets = np.arange(model.outputs)[outputs][p[:, outputs].argmax(-1)]
    return Workload(task, name, model, texts, encodings, targets)
