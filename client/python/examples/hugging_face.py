"""A Hugging Face sequence classifier as a verifier.

    python examples/hugging_face.py FOLDER --listen 127.0.0.1:50061

FOLDER has the model and its tokenizer, as save_pretrained writes them. The labels of
its configuration say which of its outputs is which: entailment, neutral and
contradiction in any order, or entailment and one other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from plumbline.sidecar import Description, NoScore, Pair, Score, digest_of_files, serve

NLI = ["entailment", "neutral", "contradiction"]


class Classifier:
    """Scores pairs with the classifier that lies in a folder."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.max_tokens = min(self.tokenizer.model_max_length, self.model.config.max_position_embeddings)
        self.outputs = outputs(self.model.config.id2label)
        self.description = Description(
            name=folder.rstrip("/").rpartition("/")[2],
            digest=digest_of_files(folder),
            three_class=len(self.outputs) == len(NLI),
            max_tokens=self.max_tokens,
            pair_overhead=self.tokenizer.num_special_tokens_to_add(pair=True),
            deterministic=True,
            epsilon=1e-4,  # padding moves a probability a little
        )

    def __call__(self, pairs: Sequence[Pair]) -> list[Score]:
        """Give the probabilities of each pair, or say that it is too long: a text that
        is cut silently would be scored as one that it is not."""
        tokens = self.tokenizer([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
        fits = [i for i, ids in enumerate(tokens["input_ids"]) if len(ids) <= self.max_tokens]
        probabilities = self.probabilities({name: [rows[i] for i in fits] for name, rows in tokens.items()})
        scores: list[Score] = [NoScore("STATUS_TOO_LONG", f"at most {self.max_tokens} tokens fit")] * len(
            pairs
        )
        for i, score in zip(fits, probabilities, strict=True):
            scores[i] = score
        return scores

    def probabilities(self, tokens: dict[str, list[list[int]]]) -> Iterator[Score]:
        if not tokens["input_ids"]:
            return
        with torch.inference_mode():
            logits = self.model(**self.tokenizer.pad(tokens, return_tensors="pt")).logits
        chosen = torch.softmax(logits.double(), dim=-1)[:, self.outputs].tolist()
        for row in chosen:
            yield tuple(row) if len(row) == len(NLI) else row[0]


def outputs(labels: dict[int, str]) -> list[int]:
    """Find entailment, neutral and contradiction among the outputs; or entailment alone."""
    by_name = {name.lower(): i for i, name in labels.items()}
    if by_name.keys() == set(NLI):
        return [by_name[name] for name in NLI]
    if len(by_name) == 2 and "entailment" in by_name:
        return [by_name["entailment"]]
    raise SystemExit(
        f"the labels are {sorted(by_name)}: set id2label to {NLI}, or to entailment and one other"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    classifier = Classifier(parser.parse_known_args()[0].folder)
    serve(classifier, classifier.description)
