#!/usr/bin/env python3
"""Writes what Hugging Face tokenizers answers for the golden corpus.

The library turns literal control tokens in a text ("[SEP]") into control tokens;
here text is plain text. So each tokenizer.json is loaded without its
added_tokens, which leaves exactly normalizer, pre_tokenizer, model and
post_processor, and without truncation and padding.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_golden.py
"""

import base64
import hashlib
import itertools
import json
import random
import unicodedata

from tokenizers import Tokenizer
from tokenizers.normalizers import Precompiled

import corpus
import golden_files

# The planes with scripts. The other blocks that are swept stand for planes
# that are all alike: ideographs, tags, private use.
SCRIPTS = range(0, 0x20000, 256)
OTHERS = [*range(0x20000, 0x32400, 256), 0xE0000, 0xE0100, 0xF0000, 0xFFF00, 0x10FF00]


class Plain:
    """The tokenizer of a parsed tokenizer.json, to which all text is text."""

    def __init__(self, config):
        config = config | {"added_tokens": [], "truncation": None, "padding": None}
        self.tokenizer = Tokenizer.from_str(json.dumps(config))
        precompiled = (config["normalizer"] or {}).get("precompiled_charsmap")
        self.charsmap = precompiled and Precompiled(base64.b64decode(precompiled)).normalize_str

    def answer(self, text):
        """[id, gap, length, ...]: where each token begins after the end of the
        one before and how long it is, in bytes of the text."""
        hidden = self.dropped_prefix(text)
        encoding = self.tokenizer.encode(text[hidden:], add_special_tokens=False)
        at = list(itertools.accumulate((len(c.encode()) for c in text), initial=0))
        out, last = [], 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets):
            start, end = at[start + hidden], at[end + hidden]
            out += [token, start - last, end - start]
            last = end
        return out

    def dropped_prefix(self, text):
        """How many characters Precompiled drops at the start of text. The
        library forgets them when it aligns, so that all its offsets are shifted;
        they are left out of the question and counted in the answer."""
        hidden = 0
        while self.charsmap and text[hidden:] and self.charsmap(text[hidden]) == "":
            hidden += 1
        return hidden

    def pair(self, a, b):
        encoding = self.tokenizer.encode(a, b)
        return {"ids": encoding.ids, "types": encoding.type_ids}


def hide_special(config):
    """Takes the control tokens out of the reach of a Unigram model, which finds
    every entry of its vocabulary in the text, and keeps their ids."""
    special = {t["content"] for t in config["added_tokens"] if t["special"]}
    vocab = [
        [f"\U0010fffe{i}" if piece in special else piece, score]
        for i, (piece, score) in enumerate(config["model"]["vocab"])
    ]
    return config | {"model": config["model"] | {"vocab": vocab}}


def in_context(block):
    """Every code point of a block, alone and in a word."""
    for c in range(block, block + 256):
        if not 0xD800 <= c <= 0xDFFF:
            yield from (chr(c), f"a{chr(c)}b")


def block_hash(tokenizer, block):
    lines = "".join(" ".join(map(str, tokenizer.answer(t))) + "\n" for t in in_context(block))
    return hashlib.sha256(lines.encode()).hexdigest()[:8]


def sweep(tokenizer, stored, hashed):
    """Answers for every code point of the blocks to store, and a hash of them
    for each other block."""
    return {
        "answers": [[tokenizer.answer(t) for t in in_context(block)] for block in stored],
        "hashes": {str(block): block_hash(tokenizer, block) for block in hashed},
    }


def golden(config, texts, pairs, stored, hashed):
    tokenizer = Plain(config)
    return {
        "texts": [tokenizer.answer(t) for t in texts],
        "pairs": [tokenizer.pair(texts[a], texts[b]) for a, b in pairs],
        "sweep": sweep(tokenizer, stored, hashed),
    }


def bert_variants(config):
    """Small vocabularies of single characters, under every combination of the
    normalizer's options: they show the order of combining marks, which the
    model's own vocabulary hides behind [UNK]."""
    chars = (
        "abiIA\u0130\u1e9eßσΣς中龍\uf900é\u00c5 \t\u00a0.,¿\u0000\u0085\u200b\ufffd\ue000각\u1100\u1161\u11a8"
        "\u0301\u0323\u0334\u0344\u0345\u0f72\u0f73\u0f75\u1b44\u1b35\u1b06\u302e\u302f\U0001d15e\U0001d160"
        "\U0001d165\U0001d16d\U0001d158\U000116b6\u05b0\u3099\u094d\u00bc\u037e\u1fef\U00016ff0"
    )
    normal = sorted({d for c in chars for d in (c + c.lower() + unicodedata.normalize("NFD", c))})
    vocab = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
    for c in normal:
        for piece in (c, "##" + c):
            vocab[piece] = len(vocab)
    rng = random.Random(11)
    texts = ["".join(rng.choices(chars, k=rng.randint(1, 14))) for _ in range(400)]
    out = []
    for clean, han, lower in itertools.product((True, False), repeat=3):
        for strip in (None, True, False):
            normalizer = {
                "type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": han,
                "strip_accents": strip, "lowercase": lower,
            }
            out.append({"normalizer": normalizer})
    small = config | {"model": config["model"] | {"vocab": vocab, "max_input_chars_per_word": 12}}
    return {"vocab": vocab} | answers(small, out, texts)


def byte_level_variants(config, texts):
    """Every combination of the options that trim blanks, and the newer layout."""
    out = []
    for trim, prefix in itertools.product((True, False), repeat=2):
        out.append({"post_processor": config["post_processor"] | {"trim_offsets": trim, "add_prefix_space": prefix}})
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    template = golden_files.bundled_tokenizer()["post_processor"]
    out.append({"post_processor": {"type": "Sequence", "processors": [byte_level, template]}})
    return answers(config, out, texts)


def metaspace_variants(config, texts):
    """The layouts of DeBERTa-v3 and XLM-RoBERTa, and Metaspace's options."""
    precompiled = config["normalizer"]
    # Behind other normalizers Plain does not see what Precompiled drops.
    plain = Plain(config)
    texts = [t for t in texts if not plain.dropped_prefix(t.lstrip())]
    blanks = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    marks = blanks | {"content": "▁"}
    layouts = [
        [precompiled],
        [{"type": "Strip", "strip_left": True, "strip_right": True}, precompiled, blanks],
        [{"type": "Strip", "strip_left": False, "strip_right": True}, precompiled, marks],
        [{"type": "Strip", "strip_left": True, "strip_right": False}],
    ]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    pre = [metaspace | {"prepend_scheme": p, "split": s} for p in ("always", "never") for s in (True, False)]
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace | {"prepend_scheme": "never"}]}
    out = [
        {"normalizer": {"type": "Sequence", "normalizers": n}, "pre_tokenizer": p}
        for n, p in itertools.product(layouts, pre)
    ]
    out += [{"normalizer": None, "pre_tokenizer": metaspace}, {"pre_tokenizer": words}]
    return answers(config, out, texts)


def answers(config, variants, texts):
    """Answers of a tokenizer with some sections replaced. The sections are kept
    without the bulky precompiled_charsmap, which they share with config."""
    out = []
    for variant in variants:
        tokenizer = Plain(config | variant)
        sections = json.loads(json.dumps(variant), object_hook=lambda o: {k: v for k, v in o.items() if k != "precompiled_charsmap"})
        out.append({"sections": sections, "answers": [tokenizer.answer(t) for t in texts]})
    return {"texts": texts, "variants": out}


def main():
    texts = corpus.texts(golden_files.english_words())
    pairs = corpus.pairs(len(texts))
    golden_files.write("corpus.json.gz", {"texts": texts, "pairs": pairs})
    bundled = golden_files.bundled_tokenizer()
    golden_files.write("wordpiece.json.gz", golden(bundled, texts, pairs, SCRIPTS, OTHERS))
    golden_files.write("bert_variants.json.gz", bert_variants(bundled))

    blocks = [*SCRIPTS, *OTHERS]
    some = random.Random(5).sample([t for t in texts if len(t) < 80], 100) + corpus.edge_cases()[:400]
    bpe = golden_files.read("bpe_tokenizer.json.gz")
    golden_files.write("bpe.json.gz", golden(bpe, texts, pairs, [], blocks))
    golden_files.write("bpe_variants.json.gz", byte_level_variants(bpe, some))
    unigram = hide_special(golden_files.read("unigram_tokenizer.json.gz"))
    golden_files.write("unigram.json.gz", golden(unigram, texts, pairs, [], blocks))
    golden_files.write("unigram_variants.json.gz", metaspace_variants(unigram, some))
    print(f"{len(texts)} texts, {len(pairs)} pairs")


if __name__ == "__main__":
    main()
