"""Turns a Hugging Face folder into a model that Plumbline runs.

    python export.py HF_FOLDER OUT

Sequence classifiers for natural language inference (BERT, RoBERTa, DeBERTa and
the like) and MiniCheck's three small models. OUT gets the ONNX graph,
tokenizer.json, manifest.json, and reference.json: pairs with the tokens and the
probabilities of the Hugging Face model. The export fails if ONNX Runtime's
logits, or the support that Plumbline gives, differ from them.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from tokenizers import Tokenizer

import quantize

# The largest difference of a logit that fp32 arithmetic in another order makes:
# absolute up to 1, relative above.
LOGIT_TOLERANCE = 1e-4
# The same of a probability, with what storing weights in fp16 or int8 may add.
SUPPORT_TOLERANCE = 1e-4
NAMED = ["entailment", "neutral", "contradiction", "not_entailment"]
MINICHECK = ["not_entailment", "entailment"]
# The tokens with which MiniCheck-Flan-T5 begins "0" and "1".
T5_CLASS_IDS = [3, 209]
STORAGE = {"fp32": None, "fp16": "fp16-storage", "int8": "int8-storage"}
FORMAT_NAMES = {"fp32": "onnx-fp32", "fp16": "onnx-fp16-storage", "int8": "onnx-int8-storage"}
# A protobuf message, and so a graph in one file, is at most 2 GiB.
LARGEST_FILE = 2**31 - 1


class Refused(Exception):
    """The folder or the options cannot be exported; the message says what to do."""


@dataclass
class Plan:
    """How the model is asked and answers: the decisive part of its manifest."""

    architecture: str
    classes: list
    inputs: list
    max_tokens: int
    one_text: dict | None = None
    decoder: dict | None = None
    layout: str = "the tokenizer's own layout of a pair"
    logits: list = field(default_factory=lambda: ["batch", "classes"])

    def text(self, premise, hypothesis):
        """The text of a model that reads a pair as one."""
        return self.one_text["prefix"] + premise + self.one_text["separator"] + hypothesis

    def class_logits(self, output):
        """The logits of the classes from the network's output for a pair."""
        return (output[0, self.decoder["class_ids"]] if self.decoder else output).astype(np.float64)

    def probabilities(self, logits):
        """The probability of each class from the logits."""
        e = np.exp(logits - logits.max())
        return dict(zip(self.classes, (e / e.sum()).tolist(), strict=True))


def refuse_other_decoders(config):
    """Of models with a decoder only T5's are read as MiniCheck does. BART's have a
    classification head, which would silently be left out."""
    heads = config.architectures or []
    if config.model_type != "t5" or not all(head.endswith("ForConditionalGeneration") for head in heads):
        names = ", ".join(heads or [config.model_type])
        raise Refused(f"{names} has a decoder and is no T5 that writes its answer: such models cannot be exported")


def plan(config, tokenizer, options):
    inputs = ["input_ids", "attention_mask"]
    separator = "[SEP]" if tokenizer.token_to_id("[SEP]") is not None else "</s>"
    if getattr(config, "is_encoder_decoder", False):
        refuse_other_decoders(config)
        vocabulary = config.vocab_size
        ids = options.class_ids or T5_CLASS_IDS
        if max(ids) >= vocabulary:
            raise Refused(f"the vocabulary has {vocabulary} tokens, none of them {max(ids)}: give --class-ids")
        return Plan(
            architecture=config.model_type,
            classes=options.classes or MINICHECK,
            inputs=inputs + ["decoder_input_ids"],
            max_tokens=options.max_tokens or 2048,
            one_text={"prefix": "predict: ", "separator": separator},
            decoder={"start_id": config.decoder_start_token_id, "vocabulary": vocabulary, "class_ids": ids},
            layout=f"predict: premise {separator} hypothesis {separator}",
            logits=["batch", 1, vocabulary],
        )
    if getattr(config, "type_vocab_size", 0) > 1:
        inputs.append("token_type_ids")
    p = Plan(
        architecture=config.model_type,
        classes=options.classes or classes(config, options.minicheck),
        inputs=inputs,
        max_tokens=options.max_tokens or longest(config),
    )
    if len(p.classes) != config.num_labels:
        raise Refused(f"the model has {config.num_labels} classes, --classes names {len(p.classes)}")
    p.logits[1] = len(p.classes)
    if options.minicheck:
        p.one_text = {"prefix": "", "separator": separator}
    begin = "[CLS]" if separator == "[SEP]" else "<s>"
    between = separator if p.one_text or separator == "[SEP]" else "</s> </s>"
    p.layout = f"{begin} premise {between} hypothesis {separator}"
    return p


def classes(config, minicheck):
    """The classes in the order of the logits, by the names in config.json."""
    if minicheck:
        return MINICHECK
    names = [config.id2label[i].strip().lower().replace("-", "_").replace(" ", "_") for i in range(config.num_labels)]
    if not set(names) <= set(NAMED) or "entailment" not in names:
        raise Refused(
            f"config.json names the classes {names}: give --classes in the order of the logits, out of {NAMED}, "
            "or --minicheck for MiniCheck's encoders"
        )
    return names


def longest(config):
    """The most tokens for which the model has positions."""
    limit = config.max_position_embeddings
    # The RoBERTa family counts positions from behind the padding token's.
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        limit -= config.pad_token_id + 1
    return limit


class Logits(torch.nn.Module):
    """The network from named inputs to logits, and nothing else."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs

    def forward(self, *values):
        more = {"use_cache": False} if "decoder_input_ids" in self.inputs else {}
        return self.model(**dict(zip(self.inputs, values, strict=True)), **more).logits


def open_model(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = transformers.AutoModelForSequenceClassification
    if getattr(config, "is_encoder_decoder", False):
        kind = transformers.AutoModelForSeq2SeqLM
    return config, kind.from_pretrained(folder, dtype=torch.float32).eval()


def open_tokenizer(folder, target):
    """Writes tokenizer.json, made from the slow tokenizer where there is none."""
    source = folder / "tokenizer.json"
    if source.exists():
        target.write_bytes(source.read_bytes())
    else:
        transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer.save(str(target))
    tokenizer = Tokenizer.from_file(str(target))
    # Plumbline cuts evidence into windows itself.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def feed(p, ids, types):
    values = {
        "input_ids": np.array([ids], dtype=np.int64),
        "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
        "token_type_ids": np.array([types], dtype=np.int64),
    }
    if p.decoder:
        values["decoder_input_ids"] = np.array([[p.decoder["start_id"]]], dtype=np.int64)
    return {name: values[name] for name in p.inputs}


def write_graph(network, p, path):
    """Writes the fp32 graph; one above 2 GiB gets its weights beside it."""
    example = feed(p, list(range(4, 20)), [0] * 16)
    axes = {name: {0: "batch", 1: "tokens"} for name in p.inputs if name != "decoder_input_ids"}
    torch.onnx.export(
        network,
        tuple(torch.tensor(example[name]) for name in p.inputs),
        str(path),
        input_names=p.inputs,
        output_names=["logits"],
        dynamic_axes=axes | {"decoder_input_ids": {0: "batch"}, "logits": {0: "batch"}},
        opset_version=17,
        # The tracing exporter: its graphs are smaller, and equal in their results.
        dynamo=False,
    )
    return path


SENTENCES = [
    "The ferry to the island leaves at half past six and takes forty minutes.",
    "In 1887 the town council bought the old mill for 4,200 crowns.",
    "Ms. Okonkwo-Lindqvist chairs the committee on coastal waters.",
    "The enzyme is stable up to 71.5 °C but loses half of its activity at pH 4.",
    "Café Zürich serves crème brûlée, naïve décor and all.",
    "Revenue rose by 12% to €3.4bn, while costs fell for the third quarter in a row.",
    'Her second novel, "The Salt Road", was translated into nineteen languages.',
    "東京 is written with two characters, Kyoto (京都) likewise.",
]
CLAIMS = [
    "The ferry takes less than an hour.",
    "The mill was sold in the nineteenth century.",
    "Costs rose in the third quarter.",
    "Her novel was never translated.",
]


# Longer pairs would take minutes, where a model has no limit of its own.
LONGEST_PAIR = 1024


def sample_pairs(tokenizer, p):
    """Pairs from a sentence to the model's limit, or LONGEST_PAIR; the first ones are
    short, the last one fills it."""
    limit = min(p.max_tokens, LONGEST_PAIR)
    for i, sentence in enumerate(SENTENCES):
        yield sentence, CLAIMS[i % len(CLAIMS)]
    length = 2
    while True:
        premise, claim = " ".join(SENTENCES[k % len(SENTENCES)] for k in range(length)), CLAIMS[length % len(CLAIMS)]
        if len(encode(tokenizer, p, premise, claim).ids) > limit:
            break
        yield premise, claim
        length *= 2
    words, filled = premise.split(), ""
    while words and len(encode(tokenizer, p, f"{filled} {words[0]}".strip(), claim).ids) <= limit:
        filled = f"{filled} {words.pop(0)}".strip()
    while len(encode(tokenizer, p, f"{filled} a", claim).ids) <= limit:
        filled += " a"
    if filled:
        yield filled, claim


def encode(tokenizer, p, premise, hypothesis):
    if p.one_text:
        return tokenizer.encode(p.text(premise, hypothesis))
    return tokenizer.encode(premise, hypothesis)


def references(network, tokenizer, p):
    """What the Hugging Face model answers."""
    rows = []
    for premise, hypothesis in sample_pairs(tokenizer, p):
        encoding = encode(tokenizer, p, premise, hypothesis)
        values = feed(p, encoding.ids, encoding.type_ids)
        try:
            with torch.no_grad():
                logits = p.class_logits(network(*(torch.tensor(values[name]) for name in p.inputs)).numpy()[0])
        except (IndexError, RuntimeError) as error:  # no such position
            raise Refused(f"the model does not run a pair of {len(encoding.ids)} tokens: give --max-tokens ({error})") from None
        rows.append(
            {
                "premise": premise,
                "hypothesis": hypothesis,
                "ids": encoding.ids,
                "types": encoding.type_ids,
                "logits": logits,
                "probabilities": p.probabilities(logits),
            }
        )
    return rows


def differences(path, p, rows):
    """The largest differences of ONNX Runtime's logits, in units of what they are
    above 1, and probabilities."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    logits = probability = 0.0
    for row in rows:
        (got,) = session.run(["logits"], feed(p, row["ids"], row["types"]))
        got = p.class_logits(got[0])
        logits = max(logits, float(np.abs(got - row["logits"]).max() / max(1, np.abs(row["logits"]).max())))
        probability = max(probability, *(abs(value - row["probabilities"][name]) for name, value in p.probabilities(got).items()))
    return logits, probability


def license_of(folder):
    """The licence in the head of the model's card, which may be a list of them."""
    card = folder / "README.md"
    head = re.match(r"---\n(.*?)\n---", card.read_text(encoding="utf-8"), re.S) if card.exists() else None
    line = re.search(r"^license:[ \t]*(?:\n[ \t]*-)?[ \t\[\"']*([\w.+-]+)", head.group(1), re.M) if head else None
    return line.group(1) if line else "not stated"


def lower_case(tokenizer):
    return tokenizer.encode("A Mill", add_special_tokens=False).ids == tokenizer.encode("a mill", add_special_tokens=False).ids


def file_entry(path):
    data = path.read_bytes()
    return {"name": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def manifest(p, options, files, tokenizer):
    license_name = options.license or license_of(options.folder)
    name = options.name or options.folder.resolve().name
    out = {
        "schema_version": 1,
        "name": name,
        "version": options.version,
        "architecture": p.architecture,
        "task": "first-decoder-token" if p.decoder else "sequence-classification",
        "weights_format": FORMAT_NAMES[options.weights],
        "files": files,
        "inputs": p.inputs,
        "output": "logits",
        "classes": p.classes,
        "max_tokens": p.max_tokens,
        "trained_max_tokens": min(p.max_tokens, options.trained_max_tokens or p.max_tokens),
        "pair_template": p.layout,
        "lower_case": lower_case(tokenizer),
        "qa_template": options.qa_template,
        "languages": options.languages,
        "epsilon": 0,
        "license": license_name,
        "base_model": {"name": name, "license": license_name},
        "training_data": [],
    }
    return out | {key: value for key, value in (("one_text", p.one_text), ("decoder", p.decoder)) if value}


# The engine's rules cut longer evidence into several windows, of which the best
# would count.
LONGEST_ENGINE_PAIR = 100


def engine_difference(plumbline, out, rows):
    """The largest difference of the support that Plumbline gives."""
    rows = [row for row in rows if len(row["ids"]) <= LONGEST_ENGINE_PAIR]
    requests = [
        {"evidence": [{"text": row["premise"]}], "claims": [{"text": row["hypothesis"], "hypothesis": row["hypothesis"]}]}
        for row in rows
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    run = subprocess.run(
        [plumbline, "score", "grounding", "--model-dir", str(out.resolve()), "--quiet"],
        input=lines, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise Refused(f"{plumbline} does not run the model: {run.stderr.strip() or run.stdout.strip()}")
    worst, compared = 0.0, 0
    for line, row in zip(run.stdout.splitlines(), rows, strict=True):
        support = json.loads(line)["claims"][0]["support"]
        if "value" not in support:
            continue  # a script that the service does not score, by its own rules
        worst, compared = max(worst, abs(support["value"] - row["probabilities"]["entailment"])), compared + 1
    if compared == 0:
        raise Refused(f"{plumbline} scores none of the pairs: are --languages right?")
    return worst


def export(options):
    """Makes the folder. Its files get their places when all of them are there and
    right, the manifest last."""
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out, prefix=".export-") as scratch:
        made = Path(scratch, "model")
        made.mkdir()
        said = make(options, made)
        for file in sorted(made.iterdir(), key=lambda file: file.name == "manifest.json"):
            file.replace(options.out / file.name)
    print(f"{options.out}: {said}")


def make(options, out):
    """Writes the folder's files and checks them; returns what they are."""
    folder = options.folder
    if options.plumbline and not shutil.which(options.plumbline):
        raise Refused(f"--plumbline: there is no program {options.plumbline}; build it with `make setup build`")
    tokenizer = open_tokenizer(folder, out / "tokenizer.json")
    config, model = open_model(folder)
    p = plan(config, tokenizer, options)
    network = Logits(model, p.inputs).eval()
    rows = references(network, tokenizer, p)
    target = out / ("model.onnx" if options.weights == "fp32" else f"model.{options.weights}.onnx")
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        graph = write_graph(network, p, Path(scratch, "model.onnx"))
        logits, _ = differences(graph, p, rows)
        print(f"ONNX Runtime, fp32: logits within {logits:.2g} of the Hugging Face model on {len(rows)} pairs")
        if not logits <= LOGIT_TOLERANCE:
            raise Refused(f"the exported graph differs by {logits:.2g}, more than {LOGIT_TOLERANCE:g}: nothing was kept")
        store(graph, target, options.weights)
    tolerance = SUPPORT_TOLERANCE
    if options.weights != "fp32":
        logits, tolerance = differences(target, p, rows)
        print(f"ONNX Runtime, {options.weights} storage: logits within {logits:.2g}, probabilities within {tolerance:.2g}")
        tolerance += SUPPORT_TOLERANCE
    files = {"weights": file_entry(target), "tokenizer": file_entry(out / "tokenizer.json")}
    (out / "manifest.json").write_text(json.dumps(manifest(p, options, files, tokenizer), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    write_references(out / "reference.json", rows)
    if options.plumbline:
        support = engine_difference(options.plumbline, out, rows)
        print(f"plumbline: support within {support:.2g}")
        if not support <= tolerance:
            raise Refused(f"plumbline's support differs by {support:.2g}, more than {tolerance:.2g}")
    return f"{target.name}, {target.stat().st_size / 1e6:.1f} MB, classes {', '.join(p.classes)}, at most {p.max_tokens} tokens"


def store(graph, target, weights):
    """Writes the graph in one file, its weights as asked."""
    model = onnx.load(str(graph))  # with weights that lie beside it
    if STORAGE[weights]:
        model = {"fp16": quantize.fp16_storage, "int8": quantize.int8_storage}[weights](model)
    size = sum(tensor.ByteSize() for tensor in model.graph.initializer)
    if size > LARGEST_FILE:
        raise Refused(f"the weights take {size / 1e9:.1f} GB, above the 2 GiB of one file: give --weights fp16 or int8")
    onnx.save(model, str(target))


def write_references(path, rows):
    lines = (
        json.dumps({key: value for key, value in row.items() if key != "logits"}, ensure_ascii=False, separators=(",", ":"))
        for row in rows
    )
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with config.json, weights and tokenizer")
    parser.add_argument("out", type=Path, help="folder for the model")
    parser.add_argument("--minicheck", action="store_true", help="the model is one of MiniCheck's encoders: a pair is one text, support is class 1")
    parser.add_argument("--classes", type=lambda s: s.split(","), help="classes in the order of the logits, out of " + ", ".join(NAMED))
    parser.add_argument("--class-ids", type=lambda s: [int(i) for i in s.split(",")], help="tokens of the classes, for an encoder-decoder (3,209)")
    parser.add_argument("--weights", choices=STORAGE, default="fp32", help="how weights are stored; all compute in fp32")
    parser.add_argument("--max-tokens", type=int, help="longest pair; by default what the model has positions for, 2048 for T5")
    parser.add_argument("--trained-max-tokens", type=int, help="longest pair of the training, if it is shorter")
    parser.add_argument("--name", help="name of the model; by default the folder's")
    parser.add_argument("--version", default="1")
    parser.add_argument("--license", help="SPDX identifier of the weights' licence; by default what the model card says")
    parser.add_argument("--languages", type=lambda s: s.split(","), default=["en"])
    parser.add_argument("--qa-template", default="", help='how a short answer becomes a claim: "{question} {answer}"')
    parser.add_argument("--plumbline", help="the program, to check the model with the engine too")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        export(parse(sys.argv[1:]))
    except Refused as refused:
        sys.exit(f"export: {refused}")
