"""Tiny seeded models of three families, with tokenizers built on the spot: nothing is downloaded.

Initial weights are large, so that a wrong token, position or factor shows in the logits.
"""

from types import SimpleNamespace

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from faithlib import attributions
from faithlib.models import CausalLM, Classifier, Encoding

KINDS = ("bert", "roberta", "distilbert")
CAUSAL_KINDS = ("gpt2", "llama", "qwen2", "gemma2")
PROMPTS = ["the plot was", "a long , not unlikely film about", "boring", "she liked the unlikely ending a"]
TEXTS = [
    "the plot was great", "a long , not unlikely film about nothing", "boring",
    "she liked the unlikely ending a lot", "it was not great , it was long and boring",
]  # fmt: skip
TEXTS_B = ["was it good ?", "is it long ?", "who ?", "what did she like ?", "good ?"]
WORDS = sorted({word for text in TEXTS + TEXTS_B for word in text.split()} - {"unlikely"})
LABELS = ("no", "yes", "maybe")
SIZES = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)


def methods(*needs):
    """The attributions that any model with attention weights can have, and those with `needs`."""
    return [n for n in attributions.names() if set(attributions.get(n).needs) <= {"attention", *needs}]


def word_pieces():
    """BERT's tokenizer over WORDS; "unlikely" is three pieces."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {t: i for i, t in enumerate([*special, *WORDS, "un", "##like", "##ly"])}
    pieces = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]")
    return pieces, names | dict(cls_token="[CLS]", sep_token="[SEP]")


def byte_pairs():
    """RoBERTa's tokenizer, trained on TEXTS: blanks belong to tokens, two </s> between the parts."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        special_tokens=special, vocab_size=320, show_progress=False, initial_alphabet=alphabet
    )
    pairs.train_from_iterator(TEXTS + TEXTS_B, trainer)
    pairs.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = dict(pad_token="<pad>", unk_token="<unk>", mask_token="<mask>")
    return pairs, names | dict(cls_token="<s>", sep_token="</s>", bos_token="<s>", eos_token="</s>")


def tokenizer(kind):
    """A fast tokenizer with the special tokens of `kind`."""
    built, named = byte_pairs() if kind == "roberta" else word_pieces()
    inputs = ["input_ids", *(["token_type_ids"] if kind == "bert" else []), "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=built, model_input_names=inputs, **named)


def config(kind, vocabulary, positions=64):
    """Two layers of width 16, two heads."""
    shared = dict(vocab_size=vocabulary, num_labels=len(LABELS), initializer_range=0.4)
    if kind == "distilbert":
        sizes = dict(dim=16, n_layers=2, n_heads=2, hidden_dim=32)
        return transformers.DistilBertConfig(**shared, **sizes, max_position_embeddings=positions)
    if kind == "roberta":
        special = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2)
        places = dict(max_position_embeddings=positions + 2, type_vocab_size=1)
        return transformers.RobertaConfig(**shared, **SIZES, **places, **special)
    return transformers.BertConfig(**shared, **SIZES, max_position_embeddings=positions)


CLASSES = {
    "bert": transformers.BertForSequenceClassification,
    "roberta": transformers.RobertaForSequenceClassification,
    "distilbert": transformers.DistilBertForSequenceClassification,
}


def classifier(kind="bert", seed=0, positions=64):
    """A Classifier with random weights that depend on `seed` alone."""
    words = tokenizer(kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = CLASSES[kind](config(kind, len(words), positions))
    return Classifier(model, words, f"tiny-{kind}")


def causal(kind="llama", seed=0, positions=64):
    """A CausalLM with random weights that depend on `seed` alone; its tokenizer puts [CLS] before a prompt.

    Gemma-2 looks back four tokens only in every other layer; Llama and Qwen2 share keys between heads.
    """
    built, named = word_pieces()
    built.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 2)])
    inputs, special = ["input_ids", "attention_mask"], dict(unk_token="[UNK]", pad_token="[PAD]")
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, bos_token="[CLS]", model_input_names=inputs, **special
    )
    ids = dict(bos_token_id=2, eos_token_id=3, pad_token_id=0)
    sizes = dict(vocab_size=len(words), max_position_embeddings=positions, initializer_range=0.4, **ids)
    grouped = dict(**SIZES, num_key_value_heads=1, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = {
            "gpt2": lambda: transformers.GPT2LMHeadModel(
                transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, **sizes)
            ),
            "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**grouped)),
            "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**grouped)),
            "gemma2": lambda: transformers.Gemma2ForCausalLM(
                transformers.Gemma2Config(head_dim=8, query_pre_attn_scalar=8, sliding_window=4, **grouped)
            ),
        }[kind]()
    return CausalLM(model, words, f"tiny-{kind}")


def examples(model):
    """Pairs of texts and a target each."""
    return model.encode(TEXTS, TEXTS_B), np.array([0, 1, 2, 1, 0])


def splits(classifier, copies=2, pairs=False):
    """Texts for training, and the first five of them for validation."""
    encodings = classifier.encode(TEXTS * copies, TEXTS_B * copies if pairs else None)
    labels = np.array([0, 1, 2, 0, 1] * copies)
    return {"train": (encodings, labels), "validation": (encodings[:5], labels[:5])}


def state(model):
    """A copy of its weights."""
    return {name: weights.clone() for name, weights in model.model.state_dict().items()}


def same(one, other):
    """Whether two states hold the same weights."""
    return all(torch.equal(one[name], other[name]) for name in one)


def without_dropout(model, p=0.0):
    for module in model.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = p
    return model


def logits(model, encodings, **changes):
    with torch.no_grad():
        return model.logits(model.collate(encodings), **changes)


def save(model, folder):
    """Write a model and its tokenizer into a folder."""
    model.model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


class Copying(torch.nn.Module):
    """A linear causal LM of one head that attends to the token `back` before, and predicts it once more."""

    def __init__(self, vocabulary, back, positions):
        super().__init__()
        self.config = SimpleNamespace(
            vocab_size=vocabulary, max_position_embeddings=positions, model_type="copying"
        )
        self.config._attn_implementation = "eager"
        self.words = torch.nn.Embedding.from_pretrained(torch.eye(vocabulary), freeze=False)
        self.head = torch.nn.Linear(vocabulary, vocabulary, bias=False)
        self.head.weight = torch.nn.Parameter(4 * torch.eye(vocabulary))  # its probability: 0.63
        self.sharpness = torch.nn.Parameter(torch.tensor(100.0))
        self.back = back

    def get_input_embeddings(self):
        return self.words

    def get_output_embeddings(self):
        return self.head

    def set_attn_implementation(self, kind):
        self.config._attn_implementation = kind

    def forward(self, inputs_embeds, past_key_values=None, use_cache=False, output_attentions=False):
        values = inputs_embeds[:, None]  # (batch, 1 head, tokens, width)
        if past_key_values is not None:
            values, _ = past_key_values.update(values, values, 0)
        to = torch.arange(values.shape[2])
        copied = (to[-inputs_embeds.shape[1] :] - self.back).clamp(min=0)
        attention = (self.sharpness * (to == copied[:, None])).softmax(-1)  # (from, to)
        attention = attention.expand(len(values), 1, -1, -1)
        return SimpleNamespace(logits=self.head((attention @ values)[:, 0]), attentions=(attention,))


def copying_lm(back=3, positions=64):
    """A CausalLM whose next token is that `back` before the last one, and on which nothing else bears."""
    words = causal().tokenizer
    return CausalLM(Copying(len(words), back, positions), words, "tiny-copying")


def encoding(tokens, maskable, ids=None):
    """An Encoding made by hand: `maskable` are indices."""
    ids = np.arange(1, tokens + 1) if ids is None else np.array(ids)
    mask = np.isin(np.arange(tokens), maskable)
    words = np.where(mask, np.cumsum(mask) - 1, -1)
    return Encoding(ids, np.zeros(tokens, int), mask, np.zeros(tokens, bool), words)
