#!/usr/bin/env python3
"""Trains the small tokenizers of the tests on the golden corpus and writes them
as tokenizer.json files: byte-level BPE in the layout of RoBERTa, and Unigram with
SentencePiece's own normalisation in the layout of T5. make_golden.py then asks
Hugging Face tokenizers about them. Training may give other vocabularies on other
machines; the files that are committed are the ones that count.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_models.py
"""

import base64
import json
import pathlib
import random
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors, trainers

import corpus
import golden_files

VOCABULARY = 3000


def training_texts():
    words = golden_files.english_words()
    rng = random.Random(3)
    # Early words are drawn more often, so that merges have something to find.
    weights = [1 / (i + 10) for i in range(len(words))]
    english = [" ".join(rng.choices(words, weights, k=25)) + "." for _ in range(4000)]
    return english + corpus.SENTENCES * 30


def bpe(texts):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return json.loads(tokenizer.to_str())


def unigram(texts):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder, "texts")
        lines.write_text("\n".join(" ".join(t.split()) for t in texts), errors="ignore")
        sentencepiece.SentencePieceTrainer.train(
            input=str(lines), model_prefix=f"{folder}/model", vocab_size=VOCABULARY, character_coverage=0.999,
            pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols=["<extra_id_0>"], num_threads=1,
            minloglevel=2,
        )
        model = sentencepiece_model_pb2.ModelProto.FromString(pathlib.Path(folder, "model.model").read_bytes())
    tokenizer = Tokenizer(models.Unigram([(p.piece, p.score) for p in model.pieces], 2, False))
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in ("<pad>", "</s>", "<unk>", "<extra_id_0>")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    config = json.loads(tokenizer.to_str())
    charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    config["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    return config


def main():
    texts = training_texts()
    golden_files.write("bpe_tokenizer.json.gz", bpe(texts))
    golden_files.write("unigram_tokenizer.json.gz", unigram(texts))


if __name__ == "__main__":
    main()
