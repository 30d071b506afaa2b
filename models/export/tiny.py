"""Tiny random models of every architecture that the export knows, as Hugging
Face folders. The tokenizers are those of the engine's tests.

    python tiny.py OUT
"""

import sys
from pathlib import Path

import torch
import transformers as hf

sys.path.insert(0, str(Path(__file__).parents[1] / "engine" / "testdata"))
import make_modes

SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
T5_SPECIAL = ["<pad>", "</s>", "<unk>"]
DEBERTA_SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]


def minicheck_roberta():
    tokenizer = make_modes.byte_bpe()
    config = hf.RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=514, pad_token_id=1, type_vocab_size=1, num_labels=2, **SHAPE
    )
    return tokenizer, hf.RobertaForSequenceClassification(config), ["--minicheck"]


def minicheck_deberta():
    tokenizer = make_modes.unigram(DEBERTA_SPECIAL, "[UNK]", "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    config = hf.DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=512, type_vocab_size=0, num_labels=2,
        relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16, share_att_key=True,
        norm_rel_ebd="layer_norm", position_biased_input=False, **SHAPE,
    )  # fmt: skip
    return tokenizer, hf.DebertaV2ForSequenceClassification(config), ["--minicheck"]


def minicheck_t5():
    tokenizer = make_modes.unigram(T5_SPECIAL, "<unk>", "$A </s>", "$A </s> $B </s>")
    config = hf.T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=16, d_kv=8, d_ff=24, num_layers=2, num_decoder_layers=2, num_heads=2,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0,
    )  # fmt: skip
    return tokenizer, hf.T5ForConditionalGeneration(config), []


def nli_bert():
    tokenizer = make_modes.wordpiece()
    labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    config = hf.BertConfig(vocab_size=tokenizer.get_vocab_size(), id2label=labels, label2id={v: k for k, v in labels.items()}, **SHAPE)
    return tokenizer, hf.BertForSequenceClassification(config), []


def nli_roberta():
    tokenizer, model, _ = minicheck_roberta()
    return tokenizer, model, ["--classes", "entailment,not_entailment"]


MODELS = {
    "minicheck-roberta": minicheck_roberta,
    "minicheck-deberta": minicheck_deberta,
    "minicheck-t5": minicheck_t5,
    "nli-bert": nli_bert,
    "nli-roberta": nli_roberta,
}


def write(name, out):
    """Writes a folder and returns the export's options for it."""
    torch.manual_seed(sorted(MODELS).index(name))
    tokenizer, model, options = MODELS[name]()
    # Fresh weights are so small that all pairs would look alike.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.4)
    folder = Path(out, name)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    return options


if __name__ == "__main__":
    for name in MODELS:
        print(name, *write(name, sys.argv[1]))
