#!/usr/bin/env python3
"""Writes what Hugging Face tokenizers answers for the golden corpus.

The library turns literal control tokens in a text ("[SEP]") into control tokens;
here text is plain text. So each tokenizer.json is loaded without its
added_tokens, which leaves exactly normalizer, pre_tokenizer, model and
post_processor, and without truncation and padding.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_golden.py
"""

import gzip
import hashlib
import itertools
import json
import pathlib
import random
import unicodedata

from tokenizers import Tokenizer

import corpus

HERE = pathlib.Path(__file__).resolve().parent
# The planes whose answers are stored; of the other ones only hashes are.
SWEPT = 0x20000


def plain(config):
    """The tokenizer of a parsed tokenizer.json, without control tokens in text."""
    return Tokenizer.from_str(json.dumps(config | {"added_tokens": [], "truncation": None, "padding": None}))


def answer(tokenizer, text):
    """[id, gap, length, ...]: where each token begins after the end of the
    one before and how long it is, in bytes of the text."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    at = list(itertools.accumulate((len(c.encode()) for c in text), initial=0))
    out, last = [], 0
    for token, (start, end) in zip(encoding.ids, encoding.offsets):
        out += [token, at[start] - last, at[end] - at[start]]
        last = at[end]
    return out


def in_context(c):
    return chr(c), f"a{chr(c)}b"


def sweep(tokenizer):
    """Answers for every code point, alone and in a word."""
    stored = [[answer(tokenizer, t) for t in in_context(c)] for c in range(SWEPT) if not 0xD800 <= c <= 0xDFFF]
    hashes = []
    for block in range(SWEPT, 0x110000, 256):
        rows = [answer(tokenizer, t) for c in range(block, block + 256) for t in in_context(c)]
        lines = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        hashes.append(hashlib.sha256(lines.encode()).hexdigest()[:8])
    return {"answers": stored, "hashes": hashes}


def pair(tokenizer, a, b):
    encoding = tokenizer.encode(a, b)
    return {"ids": encoding.ids, "types": encoding.type_ids}


def golden(config, texts, pairs):
    tokenizer = plain(config)
    return {
        "texts": [answer(tokenizer, t) for t in texts],
        "pairs": [pair(tokenizer, texts[a], texts[b]) for a, b in pairs],
        "sweep": sweep(tokenizer),
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
            small = config | {
                "normalizer": normalizer,
                "model": config["model"] | {"vocab": vocab, "max_input_chars_per_word": 12},
            }
            tokenizer = plain(small)
            out.append({"normalizer": normalizer, "answers": [answer(tokenizer, t) for t in texts]})
    return {"vocab": vocab, "texts": texts, "variants": out}


def write(name, value):
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    # No name and no time in the header: equal content gives an equal file.
    with open(HERE / name, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(data)


def main():
    config = json.loads((HERE.parent.parent / "bundled" / "tokenizer.json").read_text())
    words = [w for w in config["model"]["vocab"] if w.isalpha() and w.isascii() and len(w) > 1]
    texts = corpus.texts(words)
    pairs = corpus.pairs(len(texts))
    write("corpus.json.gz", {"texts": texts, "pairs": pairs})
    write("wordpiece.json.gz", golden(config, texts, pairs))
    write("bert_variants.json.gz", bert_variants(config))
    print(f"{len(texts)} texts, {len(pairs)} pairs")


if __name__ == "__main__":
    main()
