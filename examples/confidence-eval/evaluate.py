"""Measures confidence scores, grounding and gates on labelled public data with
the `plumbline` program.

    python evaluate.py --plumbline PATH --data DIR --out figures.json [PART ...]

DIR holds samples/ and routing/ (gzip JSONL; docs/confidence-eval.md names the
sets). The parts are exact, entailment, verbalised, wikibio, gates and cost; none
named means all. Only entailment, wikibio and cost ask the verifier; the first two
work on seeded subsets whose sizes are flags. The figures go to standard output
and, in full, to the file.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import random

import numpy as np

from service import Plumbline, Stopwatch
from stats import SEED, auroc, calibration_error, estimate, normalised, token_f1

TRIVIAQA = ("uqnlg_triviaqa_llama13b", "donia_triviaqa_qwen2.5-3b")
RULES = ("EXACT", "ENTAIL_BOTH", "ENTAIL_EITHER", "NOT_CONTRADICT", "DINCO")
BUDGET = 0.4  # share of questions searched for, where a threshold follows from a budget
UNCERTAINTIES = ("semantic_entropy", "degree_matrix", "eigenvalues_laplacian", "eccentricity", "luq", "semantic_sets")


def read(data, name):
    """The objects of a gzip JSONL file."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def confidences(responses, score):
    """A score of each response, negated if more of it means less sure, so that a
    higher number always means surer."""
    sign = -1 if responses[0][score]["direction"] == "DIRECTION_HIGHER_IS_UNCERTAIN" else 1
    return [sign * r[score]["value"] for r in responses]


def sampled(question, limit=None, **rules):
    """The request for a sampled question. The main answer is sample 0 in these
    data, so that its own sample is left out of the samples."""
    others = question["samples"][1:limit]
    return {
        "question": question["question"],
        "main_answer": question["main_answer"],
        "samples": [{"text": s["text"]} for s in others],
        **rules,
    }


def exact(plumbline, data, _):
    """Scores that need no verifier, on all questions."""
    figures = {}
    for name in TRIVIAQA:
        questions = read(data / "samples", name)
        right = [q["correct"] for q in questions]
        with_main = plumbline.confidence(sampled(q) for q in questions)
        samples_only = plumbline.confidence({"samples": sampled(q)["samples"]} for q in questions)
        figures[name] = {
            "sc": estimate(auroc, right, confidences(with_main, "sc")),
            "semantic_entropy, samples only": estimate(auroc, right, confidences(samples_only, "semantic_entropy")),
            "semantic_entropy, with main answer": estimate(auroc, right, confidences(with_main, "semantic_entropy")),
            "lexical_similarity": estimate(auroc, right, confidences(with_main, "lexical_similarity")),
        }
    return figures


def entailment(plumbline, data, options):
    """Scores that ask the verifier, on a subset, beside the exact ones on the
    same questions and samples."""
    figures = {}
    for name in TRIVIAQA:
        questions = read(data / "samples", name)
        questions = random.Random(SEED).sample(questions, min(options.questions, len(questions)))
        right = [q["correct"] for q in questions]
        watch = Stopwatch()
        # One run for all rules: its cache asks each pair once.
        responses = plumbline.confidence(
            sampled(q, options.samples, agreement=f"AGREEMENT_{rule}") for rule in RULES for q in questions
        )
        by_rule = {rule: responses[i * len(questions) :][: len(questions)] for i, rule in enumerate(RULES)}
        scores = {f"sc, {rule}": confidences(by_rule[rule], "sc") for rule in RULES}
        scores["semantic_entropy, exact"] = confidences(by_rule["EXACT"], "semantic_entropy")
        scores["lexical_similarity"] = confidences(by_rule["EXACT"], "lexical_similarity")
        for score in UNCERTAINTIES:
            scores[f"{score}, entailment"] = confidences(by_rule["ENTAIL_BOTH"], score)
        figures[name] = {title: estimate(auroc, right, values) for title, values in scores.items()}
        figures[name]["cost"] = watch.read() | {"pairs": sum(r["pairs"] for r in by_rule["ENTAIL_BOTH"])}
    return figures


def verbalised(plumbline, data, _):
    """Stated confidence of API models, beside the agreement of five trials."""
    figures = {}
    by_model = collections.defaultdict(list)
    for question in read(data / "samples", "yoyoyohan_mmlu_verbalized"):
        by_model[question["model"]].append(question)
    for model, questions in by_model.items():
        right = [q["correct"] for q in questions]
        responses = plumbline.confidence(
            sampled(q)
            | {"raw_output": f"Answer: {q['main_answer']}\nConfidence: {q['verbalized']}", "confidence_scale": "CONFIDENCE_SCALE_UNIT"}
            for q in questions
        )
        stated = confidences(responses, "verbalized")
        figures[model] = {
            "accuracy": float(np.mean(right)),
            "mean stated": float(np.mean(stated)),
            "ECE": estimate(calibration_error, right, stated),
            "AUROC": estimate(auroc, right, stated),
            "AUROC of sc over 4 trials": estimate(auroc, right, confidences(responses, "sc")),
        }
    return figures


def wikibio(plumbline, data, options):
    """Sentences of generated biographies, labelled by people, against the
    reference text and against sampled biographies."""
    passages = read(data / "samples", "selfcheck_wikibio_gpt3.5samples")
    figures = {"reference": against_reference(plumbline, passages)}
    passages = random.Random(SEED).sample(passages, min(options.passages, len(passages)))
    figures["reference, subset"] = against_reference(plumbline, passages)
    figures["samples, subset"] = against_samples(plumbline, passages, options.biographies)
    return figures


def labels(passages):
    """Whether each sentence is accurate, and which passage it is of."""
    right = [c["correct"] for p in passages for c in p["claims"]]
    return right, [p["id"] for p in passages for _ in p["claims"]]


def sentences(passage, evidence):
    return {
        "evidence": [{"text": evidence}],
        "claims": [{"text": c["text"]} for c in passage["claims"]],
        "claim_form": "CLAIM_FORM_STATEMENT",
        "score_all_kinds": True,
    }


def against_reference(plumbline, passages):
    right, groups = labels(passages)
    watch = Stopwatch()
    responses = plumbline.grounding(sentences(p, p["gold"][0]) for p in passages)
    claims = [c for r in responses for c in r["claims"]]
    return {
        "support": estimate(auroc, right, [c["support"]["value"] for c in claims], groups),
        "1 - contradiction": estimate(auroc, right, [-c["contradiction"]["value"] for c in claims], groups),
        "cost": watch.read(),
    }


def against_samples(plumbline, passages, biographies):
    """SelfCheck's way: each sentence against each sample alone, then the mean."""
    right, groups = labels(passages)
    watch = Stopwatch()
    responses = plumbline.grounding(sentences(p, s["text"]) for p in passages for s in p["samples"][:biographies])
    support, contradiction = [], []
    for i in range(0, len(responses), biographies):
        for claim in zip(*(r["claims"] for r in responses[i : i + biographies])):
            support.append(np.mean([c["support"]["value"] for c in claim]))
            contradiction.append(np.mean([c["contradiction"]["value"] for c in claim]))
    return {
        "mean support": estimate(auroc, right, support, groups),
        "1 - mean contradiction": estimate(auroc, right, -np.array(contradiction), groups),
        "cost": watch.read(),
    }


def gates(plumbline, data, _):
    """What built-in policies decide on recorded inputs, and how that ends."""
    return {
        "hotpotqa": hotpotqa_gates(plumbline, read(data / "routing", "hotpotqa.paired")),
        "nq": nq_gates(plumbline, read(data / "routing", "nq.signals")),
        "triviaqa": triviaqa_gates(plumbline, data),
        "mmlu": mmlu_gates(plumbline, read(data / "samples", "yoyoyohan_mmlu_verbalized")),
    }


def hotpotqa_gates(plumbline, questions):
    """Each action has its recorded answer. Several steps have one only where
    Adaptive-RAG took them; no policy here asks for them elsewhere."""
    labels = [{"label_distribution": q["adaptive_rag_label_probs"]} for q in questions]
    eigen = [{"gram_logdet": q["seakr_last_step_eigen_score"]} for q in questions]
    quantile = budget_threshold([e["gram_logdet"] for e in eigen], BUDGET)
    actions = {
        "never": ["NO_RETRIEVAL"] * len(questions),
        "once, always": ["SINGLE_STEP"] * len(questions),
        "adaptive_rag": plumbline.decide("adaptive_rag", labels),
        "adaptive_rag.plumbline": plumbline.decide("adaptive_rag.plumbline", labels),
        "seakr (delta = -6)": plumbline.decide("seakr", eigen),
        f"seakr (delta = {quantile:.3f}, budget {BUDGET})": plumbline.decide("seakr", eigen, {"delta": quantile}),
    }
    return {policy: routed(questions, taken) for policy, taken in actions.items()}


def budget_threshold(scores, budget):
    """TARG's rule: the smallest score whose share of scores at or below it
    reaches 1 − budget. Fitted on the data it is then used on, so that rates are
    as asked and outcomes are optimistic."""
    return sorted(scores)[math.ceil((1 - budget) * len(scores) - 1e-9) - 1]


def routed(questions, actions):
    answer_of = {
        "NO_RETRIEVAL": "answer_no_retrieval",
        "SINGLE_STEP": "answer_one_retrieval",
        "RETRIEVE": "answer_one_retrieval",
        "MULTI_STEP": "adaptive_rag_answer",
    }
    steps_of = {"NO_RETRIEVAL": 0, "SINGLE_STEP": 1, "RETRIEVE": 1}
    f1s, ems, blind, retrievals = [], [], [], 0
    searched = np.mean([action != "NO_RETRIEVAL" for action in actions])
    for question, action in zip(questions, actions):
        if action == "MULTI_STEP" and question["adaptive_rag_steps"] < 2:
            raise ValueError(f"{question['id']} has no recorded answer of several steps")
        answer = question[answer_of[action]] or ""
        f1s.append(token_f1(answer, question["gold"]))
        ems.append(normalised(answer) in map(normalised, question["gold"]))
        without, once = (token_f1(question[answer_of[a]] or "", question["gold"]) for a in ("NO_RETRIEVAL", "SINGLE_STEP"))
        blind.append((1 - searched) * without + searched * once)
        retrievals += steps_of.get(action, question["adaptive_rag_steps"])
    return {
        "actions": dict(collections.Counter(actions)),
        "retrievals": retrievals,
        "f1": estimate(lambda _, f1: np.mean(f1, axis=-1), f1s, f1s),
        "em": float(np.mean(ems)),
        # What as many single retrievals would give on questions drawn by chance.
        "f1 of as many drawn by chance": float(np.mean(blind)),
    }


def nq_gates(plumbline, questions):
    """SeaKR's rule on its recorded score: how often it searches, and how right
    the answers are that it lets stand."""
    right = [bool(q["in_accuracy"]) for q in questions]
    eigen = [q["eigen_score"] for q in questions]
    figures = {
        f"AUROC of -{signal}": estimate(auroc, right, [-q[signal] for q in questions])
        for signal in ("perplexity", "ln_entropy", "eigen_score")
    }
    for title, delta in (("delta = -6", -6.0), (f"budget {BUDGET}", budget_threshold(eigen, BUDGET))):
        actions = plumbline.decide("seakr", [{"gram_logdet": e} for e in eigen], {"delta": delta})
        figures[f"seakr ({title})"] = stood(actions, right) | {"delta": delta}
    return figures


def stood(actions, right):
    """Rates of a decision without a second answer to compare: how many answers
    stand, and how right both sides are."""
    by_action = collections.defaultdict(list)
    for action, correct in zip(actions, right):
        by_action[action].append(correct)
    return {a: {"share": len(c) / len(right), "right": float(np.mean(c))} for a, c in sorted(by_action.items())}


def triviaqa_gates(plumbline, data):
    """The gates that read samples: agreement, entropy over exact clusters, and
    the majority of the first five."""
    figures = {}
    for name in TRIVIAQA:
        questions = read(data / "samples", name)
        right = [q["correct"] for q in questions]
        responses = plumbline.confidence(sampled(q) for q in questions)
        five = plumbline.confidence({"samples": [{"text": s["text"]} for s in q["samples"][:5]]} for q in questions)
        inputs = {
            "confidence.sc": [{"sc": r["sc"]["value"]} for r in responses],
            "sugar": [{"semantic_entropy": r["semantic_entropy"]["value"]} for r in responses],
            "verify_and_edit": [
                {"majority_count": r["majority"]["count"], "majority_total": r["majority"]["total"]} for r in five
            ],
        }
        figures[name] = {p: stood(plumbline.decide(p, i), right) for p, i in inputs.items()}
    return figures


def mmlu_gates(plumbline, questions):
    """BeyondUncertainty's rule on stated confidence at the source's thresholds."""
    figures = {}
    by_model = collections.defaultdict(list)
    for question in questions:
        by_model[question["model"]].append(question)
    for model, asked in by_model.items():
        inputs = [{"verbalized": q["verbalized"]} for q in asked]
        right = [q["correct"] for q in asked]
        figures[model] = {
            f"tau = {tau}": stood(plumbline.decide("beyond_uncertainty", inputs, {"tau": tau}), right) for tau in (0.9, 1.0)
        }
    return figures


def cost(plumbline, data, _):
    """Processor time and pairs of semantic entropy by entailment over twenty
    answers to one question: all different, and with repeated texts."""
    questions = read(data / "samples", TRIVIAQA[0])
    watch = Stopwatch()
    plumbline.confidence([sampled(questions[0])])  # asks no verifier
    start = watch.read()["cpu_s"]
    figures = {"loading the model, cpu_s": start}
    for wanted in (20, 10, 5):
        question = next(q for q in questions if len({s["text"] for s in q["samples"]}) == wanted)
        request = {
            "question": question["question"],
            "samples": [{"text": s["text"]} for s in question["samples"]],
            "equivalence": "EQUIVALENCE_STRICT",
        }
        watch = Stopwatch()
        (response,) = plumbline.confidence([request])
        seconds = watch.read()
        figures[f"{wanted} distinct of {len(question['samples'])}"] = {
            "pairs": response["pairs"],
            "cpu_s": round(seconds["cpu_s"] - start, 2),
            "wall_s": float(response["timing"]["total"].rstrip("s")),
        }
    return figures


def rounded(figures):
    """Figures to four decimals."""
    if isinstance(figures, dict):
        return {title: rounded(figure) for title, figure in figures.items()}
    return round(figures, 4) if isinstance(figures, float) else figures


def show(figures, depth=3):
    """Prints figures as nested Markdown lists, an estimate as one line."""
    for title, figure in figures.items():
        pad = "  " * (3 - depth)
        if isinstance(figure, dict) and {"value", "low", "high"} <= figure.keys():
            print(f"{pad}- {title}: {figure['value']:.4f} [{figure['low']:.3f}, {figure['high']:.3f}], n = {figure['n']}")
        elif isinstance(figure, dict) and depth and any(isinstance(f, dict) for f in figure.values()):
            print(f"{pad}- {title}")
            show(figure, depth - 1)
        else:
            print(f"{pad}- {title}: {figure}")


PARTS = {part.__name__: part for part in (exact, entailment, verbalised, wikibio, gates, cost)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default="plumbline", help="the program (default: %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder with samples/ and routing/")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="JSON file for all figures; parts not run are kept")
    parser.add_argument("--parallel", type=int, default=2, help="records that are scored at once (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=200, help="questions a set for entailment (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=10, help="answers a question for entailment (default: %(default)s)")
    parser.add_argument("--passages", type=int, default=30, help="biographies checked against samples (default: %(default)s)")
    parser.add_argument("--biographies", type=int, default=4, help="samples for each of these (default: %(default)s)")
    parser.add_argument("parts", nargs="*", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()

    plumbline = Plumbline(options.plumbline, options.parallel)
    figures = json.loads(options.out.read_text()) if options.out.exists() else {}
    for part in options.parts or PARTS:
        figures[part] = PARTS[part](plumbline, options.data, options)
        print(f"\n## {part}\n")
        show(figures[part])
        options.out.write_text(json.dumps(rounded(figures), indent=1) + "\n")


if __name__ == "__main__":
    main()
