"""Writes modes/: tiny random models of every kind of manifest, and what they answer.

One model for each way in which a verifier is asked and answers: two classes,
MiniCheck's one text for RoBERTa and for DeBERTa, and the first decoder token of
T5. Between them they use all three families of tokenizers. The tokens are those
of Hugging Face tokenizers; the probabilities are computed here by NumPy, not by
ONNX Runtime, which the Go side runs. Run in this folder:

    pip install onnx==1.23.2 tokenizers==0.23.3 numpy
    python make_modes.py
"""

import hashlib
import json
import pathlib
import random
import string

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

WIDTH = 8
WORDS = "the a bridge mill river was built sold crossed in by of 1887 1954 town council not never old new stone".split()
LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits + ".,'-"


def wordpiece():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = sorted(set(LETTERS.lower()))
    vocab = special + WORDS + letters + ["##" + c for c in letters]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(vocab))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"]))
    return tokenizer


def byte_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        [" ".join(WORDS)] * 4,
        trainers.BpeTrainer(
            vocab_size=330,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def unigram(special, unknown, single, pair):
    pieces = ["▁"] + ["▁" + w for w in WORDS] + list(LETTERS) + [a + b for a in "aeiou" for b in string.ascii_lowercase]
    rng = random.Random(11)
    vocab = [(piece, 0.0) for piece in special]
    vocab += [(piece, -round(rng.uniform(2, 9), 3)) for piece in dict.fromkeys(pieces)]
    tokenizer = Tokenizer(models.Unigram(vocab, special.index(unknown), False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(t, special.index(t)) for t in special]
    )
    return tokenizer


class Network:
    """Embeddings, averaged with weights that fall with the position, and a
    linear head: small, and sensitive to order, types and the start token."""

    def __init__(self, seed, vocabulary, inputs, outputs):
        rng = np.random.default_rng(seed)
        self.inputs, self.decoder = inputs, "decoder_input_ids" in inputs
        self.weights = {
            "embeddings": rng.normal(0, 0.4, (vocabulary, WIDTH)),
            "types": rng.normal(0, 0.05, (2, WIDTH)),
            "head": rng.normal(0, 2, (WIDTH, outputs)),
            "bias": rng.normal(0, 0.3, (outputs,)),
        }
        self.weights = {name: value.astype(np.float32) for name, value in self.weights.items()}

    def logits(self, ids, types, start):
        """The reference, in float64."""
        w = {name: value.astype(np.float64) for name, value in self.weights.items()}
        x = w["embeddings"][ids]
        if "token_type_ids" in self.inputs:
            x = x + w["types"][types]
        falling = 1 / np.sqrt(np.arange(1, len(ids) + 1))
        hidden = (x * falling[:, None]).sum(axis=0)
        if self.decoder:
            hidden = hidden + w["embeddings"][start]
        return np.tanh(hidden) @ w["head"] + w["bias"]

    def onnx(self):
        nodes, x = [], "tokens"
        nodes.append(helper.make_node("Gather", ["embeddings", "input_ids"], ["tokens"]))
        if "token_type_ids" in self.inputs:
            nodes.append(helper.make_node("Gather", ["types", "token_type_ids"], ["typed"]))
            nodes.append(helper.make_node("Add", [x, "typed"], ["sum"]))
            x = "sum"
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("CumSum", ["mask", "axis"], ["position"]),
            helper.make_node("Sqrt", ["position"], ["root"]),
            helper.make_node("Div", ["mask", "root"], ["falling"]),
            helper.make_node("Unsqueeze", ["falling", "last"], ["column"]),
            helper.make_node("Mul", [x, "column"], ["weighted"]),
            helper.make_node("ReduceSum", ["weighted", "axes"], ["pooled"], keepdims=int(self.decoder)),
        ]
        hidden = "pooled"
        if self.decoder:
            nodes.append(helper.make_node("Gather", ["embeddings", "decoder_input_ids"], ["start"]))
            nodes.append(helper.make_node("Add", ["pooled", "start"], ["begun"]))
            hidden = "begun"
        nodes += [
            helper.make_node("Tanh", [hidden], ["activated"]),
            helper.make_node("MatMul", ["activated", "head"], ["product"]),
            helper.make_node("Add", ["product", "bias"], ["logits"]),
        ]
        used = [name for name in self.weights if any(name in node.input for node in nodes)]
        constants = {"axis": np.array(1), "last": np.array([2]), "axes": np.array([1])}
        initializers = [numpy_helper.from_array(self.weights[name], name) for name in used]
        initializers += [numpy_helper.from_array(value.astype(np.int64), name) for name, value in constants.items()]
        shape = ["batch", 1, None] if self.decoder else ["batch", None]
        shape[-1] = int(self.weights["bias"].shape[0])
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", n]) for n in self.inputs],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
            initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return model.SerializeToString()


def modes():
    """Name, tokenizer, inputs and what the manifest says beyond that."""
    ids, types = ["input_ids", "attention_mask"], ["input_ids", "attention_mask", "token_type_ids"]
    yield "two-class", wordpiece(), types, {"classes": ["entailment", "not_entailment"]}
    yield "minicheck-roberta", byte_bpe(), ids, {
        "classes": ["not_entailment", "entailment"],
        "one_text": {"prefix": "", "separator": "</s>"},
    }
    deberta = unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]"], "[UNK]", "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    yield "minicheck-deberta", deberta, types, {
        "classes": ["not_entailment", "entailment"],
        "one_text": {"prefix": "", "separator": "[SEP]"},
    }
    t5 = unigram(["<pad>", "</s>", "<unk>"], "<unk>", "$A </s>", "$A </s> $B </s>")
    yield "minicheck-t5", t5, ids + ["decoder_input_ids"], {
        "task": "first-decoder-token",
        "classes": ["not_entailment", "entailment"],
        "one_text": {"prefix": "predict: ", "separator": "</s>"},
        "decoder": {"start_id": 0, "vocabulary": 0, "class_ids": [3, 209]},
    }


def texts(rng):
    extra = ["Café", "naïve,", "Okonkwo-Lindqvist", "東京", "it's", " ", "1954."]
    return " ".join(rng.choice(WORDS + extra) for _ in range(rng.randint(1, 40)))


def encode(tokenizer, more, premise, hypothesis):
    one = more.get("one_text")
    if one is None:
        return tokenizer.encode(premise, hypothesis)
    # As the reference does: the separator's text between the two, which the
    # library turns into the control token.
    return tokenizer.encode(one["prefix"] + premise + one["separator"] + hypothesis)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def main():
    for seed, (name, tokenizer, inputs, more) in enumerate(modes()):
        size = tokenizer.get_vocab_size()
        decoder = more.get("decoder")
        if decoder:
            assert size > max(decoder["class_ids"])
            decoder["vocabulary"] = size
        network = Network(seed, size, inputs, size if decoder else len(more["classes"]))
        folder = pathlib.Path("modes", name)
        folder.mkdir(parents=True, exist_ok=True)
        config = json.loads(tokenizer.to_str())
        files = {"model.onnx": network.onnx(), "tokenizer.json": json.dumps(config, ensure_ascii=False).encode()}
        for file, data in files.items():
            folder.joinpath(file).write_bytes(data)

        def entry(file):
            return {"name": file, "sha256": hashlib.sha256(files[file]).hexdigest(), "bytes": len(files[file])}

        manifest = {
            "schema_version": 1,
            "name": f"tiny-{name}",
            "version": "1",
            "architecture": "embeddings",
            "task": "sequence-classification",
            "weights_format": "onnx-fp32",
            "files": {"weights": entry("model.onnx"), "tokenizer": entry("tokenizer.json")},
            "inputs": inputs,
            "output": "logits",
            "max_tokens": 512,
            "trained_max_tokens": 512,
            "pair_template": "see one_text; premise and hypothesis" if "one_text" in more else "[CLS] premise [SEP] hypothesis [SEP]",
            "lower_case": name == "two-class",
            "qa_template": "",
            "languages": ["en"],
            "epsilon": 0,
            "license": "Apache-2.0",
            "base_model": {"name": "random", "license": "Apache-2.0"},
            "training_data": [],
        } | more
        folder.joinpath("manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        rng, rows = random.Random(seed), []
        for premise, hypothesis in [("", "the mill"), *((texts(rng), texts(rng)) for _ in range(30))]:
            encoding = encode(tokenizer, more, premise, hypothesis)
            logits = network.logits(encoding.ids, encoding.type_ids, decoder["start_id"] if decoder else 0)
            if decoder:
                logits = logits[decoder["class_ids"]]
            support = softmax(logits)[more["classes"].index("entailment")]
            rows.append({"premise": premise, "hypothesis": hypothesis, "ids": encoding.ids, "types": encoding.type_ids, "support": float(support)})
        lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
        folder.joinpath("reference.json").write_text("[\n" + lines + "\n]\n")
        support = [row["support"] for row in rows]
        print(name, size, "tokens,", f"support {min(support):.3f} to {max(support):.3f}")


if __name__ == "__main__":
    main()
