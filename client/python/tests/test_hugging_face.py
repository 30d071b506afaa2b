"""The example around a Hugging Face classifier, on tiny models with random weights.

It needs torch and transformers, which are gigabytes and therefore not among the test's
packages: `client/python/scripts/test --hugging-face` installs them.
"""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed: client/python/scripts/test --hugging-face"
)
transformers = pytest.importorskip("transformers")

from plumbline import AsyncClient, probabilities, v1  # noqa: E402
from plumbline.sidecar import Sidecar  # noqa: E402

WORDS = [
    "the",
    "bridge",
    "opened",
    "in",
    "1932",
    "it",
    "is",
    "made",
    "of",
    "steel",
    "cheese",
    "not",
    "new",
    "a",
    "long",
    "time",
    "ago",
    ".",
]
PAIRS = [
    ("the bridge opened in 1932 .", "it is not new ."),
    ("", "the bridge is made of cheese ."),
    ("a long time ago the bridge opened .", "it is made of steel ."),
    ("the bridge", "the bridge"),
]


@pytest.fixture(scope="module")
def example() -> Any:
    path = Path(__file__).parents[1] / "examples/hugging_face.py"
    spec = importlib.util.spec_from_file_location("hugging_face", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(folder: Path, labels: list[str]) -> str:
    """A model whose weights depend on nothing but the seed."""
    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(vocabulary), model_max_length=32)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=1.0,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def reference(folder: str, premise: str, hypothesis: str) -> dict[str, float]:
    """The probabilities of one pair alone, by label."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
    return {model.config.id2label[i]: p for i, p in enumerate(torch.softmax(logits, -1).tolist())}


def verify(classifier: Any, pairs: list[tuple[str, str]]) -> list[v1.VerifyResult]:
    async def main() -> list[v1.VerifyResult]:
        async with Sidecar(classifier, classifier.description) as sidecar:
            port = await sidecar.start("127.0.0.1:0")
            async with AsyncClient(f"127.0.0.1:{port}") as client:
                return await client.verify(pairs)

    return asyncio.run(main())


@pytest.mark.parametrize(
    "labels", [["entailment", "neutral", "contradiction"], ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"]]
)
def test_three_classes_in_any_order(example: Any, tmp_path: Path, labels: list[str]) -> None:
    folder = make(tmp_path / "model", labels)
    classifier = example.Classifier(folder)
    assert classifier.description.three_class
    assert (classifier.description.max_tokens, classifier.description.pair_overhead) == (32, 3)
    seen = set()
    for pair, result in zip(PAIRS, verify(classifier, PAIRS), strict=True):
        want = {name.lower(): p for name, p in reference(folder, *pair).items()}
        got = probabilities(result)
        assert got == pytest.approx((want["entailment"], want["neutral"], want["contradiction"]), abs=1e-5)
        seen.add(round(got.entailment, 3))
    assert len(seen) == len(PAIRS), "the model tells the pairs apart"


def test_two_classes(example: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "model", ["not_entailment", "entailment"])
    for pair, result in zip(PAIRS, verify(example.Classifier(folder), PAIRS), strict=True):
        assert probabilities(result) == (
            pytest.approx(reference(folder, *pair)["entailment"], abs=1e-5),
            None,
            None,
        )


def test_a_pair_that_is_too_long(example: Any, tmp_path: Path) -> None:
    classifier = example.Classifier(make(tmp_path / "model", ["not_entailment", "entailment"]))
    long = ("the bridge " * 20, "it is new")
    scored = verify(classifier, [PAIRS[0], long, PAIRS[3]])
    assert [v1.Status.Name(r.status) for r in scored] == ["STATUS_OK", "STATUS_TOO_LONG", "STATUS_OK"]
    assert verify(classifier, [long])[0].status == v1.Status.STATUS_TOO_LONG


def test_labels_that_say_nothing(example: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="label_0"):
        example.Classifier(make(tmp_path / "model", ["LABEL_0", "LABEL_1"]))
