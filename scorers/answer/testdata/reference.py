"""Reference values for the normalisation of short answers, EM and F1.

A second implementation of the published evaluation rules of TriviaQA and
SQuAD, on ASCII (and, for TriviaQA, the four typographic signs that its script
lists).

    python reference.py > reference.json
"""

import json
import random
import re
import string
from collections import Counter

rng = random.Random(20261130)


def drop_articles(text):
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad(text):
    return drop_articles("".join(c for c in text.lower() if c not in string.punctuation))


def triviaqa(text):
    blanked = set(string.punctuation + "‘’´`")
    return drop_articles("".join(" " if c in blanked else c for c in text.replace("_", " ").lower()))


def f1(normalize, prediction, gold):
    p, g = normalize(prediction).split(), normalize(gold).split()
    shared = sum((Counter(p) & Counter(g)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(p), shared / len(g)
    return 2 * precision * recall / (precision + recall)


ANSWERS = [
    "The Eiffel Tower", "eiffel tower.", "Eiffel-Tower", "Tower", "a", "A.", "an apple a day", "theatre", "The O'Brien_Case, vol. 2",
    "A.D. 1066", "rock-and-roll", "$1,000", "C++", "C#", "  the  ", "", "10% of a whole", "it's", "it’s", "the the cat", "U.S.A.",
    "John (the Baptist)", "a/an/the", "x_y_a_z", "AT&T", "The End", "end", "tab\tand\nline", "1 2 2 3", "2 2 3 3",
    "the tall Eiffel Tower of Paris", "Tower of London", "Paris, London", "cats and dogs and cats", "dogs and cats", "a 2 of 3",
]  # fmt: skip


def answer_cases():
    cases = []
    for prediction, gold in ((p, g) for p in ANSWERS for g in ANSWERS if rng.random() < 0.4):
        case = {"prediction": prediction, "gold": gold}
        for name, normalize in (("squad", squad), ("triviaqa", triviaqa)):
            if name == "squad" and "’" in prediction + gold:
                continue
            case[name] = {
                "prediction": normalize(prediction),
                "gold": normalize(gold),
                "em": normalize(prediction) == normalize(gold),
                "f1": f1(normalize, prediction, gold),
            }
        cases.append(case)
    return cases


if __name__ == "__main__":
    print(json.dumps(answer_cases(), ensure_ascii=False))
