"""Makes Markdown tables of what run.sh left in a folder.

    python summarise.py OUT > tables.md
"""

import json
import pathlib
import sys

FIVE = ("max_score", "score_stddev", "dense_stddev", "evidence_coverage", "retriever_divergence")
POLICY = ("prevalence", "catch_rate", "escalation_rate", "precision", "balanced_accuracy")
WAYS = ("article", "five", "bar60", "classifier")


def figure(estimate, digits=3):
    """A figure with its interval, or a dash."""
    if not estimate or estimate.get("value") is None:
        return "–"
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(estimate["value"], estimate["lower"], estimate["upper"], d=digits)


def side(verdict):
    """The side that weak retrievals are on."""
    mark = " (!)" if verdict.get("unexpected_direction") else ""
    return verdict["direction"].removeprefix("WEAK_WHEN_").lower() + mark


def table(head, rows):
    """A Markdown table."""
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for row in rows:
        print("|", " | ".join(row), "|")
    print()


def main():
    """Reads the answers of every corpus."""
    folder = pathlib.Path(sys.argv[1])
    corpora = sorted({p.name.split(".")[0] for p in folder.glob("*.article.json")})
    answers = {c: {w: json.loads((folder / f"{c}.{w}.json").read_text()) for w in WAYS} for c in corpora}

    print("### The retrievers\n")
    retrievers(folder, corpora)

    print("### The article's five\n")
    verdicts = {c: {v["signal"]: v for v in answers[c]["article"]["signals"]} for c in corpora}
    rows = []
    for signal in FIVE:
        cells = [verdicts[c].get(signal) for c in corpora]
        rows.append([f"`{signal}`"] + [f"{figure(v['separation'])} {side(v)}" if v and v["separation"].get("value") else "–" for v in cells])
    table(["signal", *corpora], rows)

    print("### The strongest of all signals\n")
    for corpus in corpora:
        print(f"{corpus}:\n")
        rows = [
            [f"`{v['signal']}`", figure(v["separation"]), side(v), "kept" if v.get("kept") else "dropped", v["reason"]]
            for v in answers[corpus]["article"]["signals"][:8]
        ]
        table(["signal", "separation", "weak when", "verdict", "reason"], rows)

    print("### Policies, on the records held out\n")
    rows = []
    for corpus in corpora:
        for way in WAYS:
            answer = answers[corpus][way]
            metrics = answer.get("metrics") or {}
            kept = [v for v in answer["signals"] if v.get("kept")]
            floors = ", ".join(
                f"`{v['signal']}`" + (f" {'<' if v['direction'].endswith('LOW') else '>'} {v['threshold']:.4g}" if v.get("threshold") is not None else "")
                for v in kept
            )
            if not answer.get("policy"):
                floors = answer["reason"]
            rows.append([corpus, way, floors, figure(metrics.get("prevalence"), 2), figure(metrics.get("catch_rate"), 2),
                         figure(metrics.get("escalation_rate"), 2), figure(metrics.get("commit_error_rate"), 2), figure(metrics.get("balanced_accuracy"), 2)])
    table(["corpus", "way", "floors", "weak", "caught", "escalated", "weak among committed", "balanced accuracy"], rows)

    for path in sorted(folder.glob("*.unanswerable.json")):
        print(f"### Unanswerable questions of {path.name.split('.')[0]}\n")
        unanswerable(json.loads(path.read_text()))


def retrievers(folder, corpora):
    """What each retriever finds, with intervals over questions."""
    rows = []
    for corpus in corpora:
        for group in json.loads((folder / f"{corpus}.retrievers.json").read_text())["groups"]:
            metrics = group["metrics"]
            rows.append([corpus, group["model"], metrics["mrr"]["n"]] + [
                figure(metrics[name]) for name in ("recall_at_window", "full_gold_at_window", "gold_share_at_window", "mrr")
            ])
    table(["corpus", "retriever", "questions", "a gold passage in the window", "all of them", "share of them", "MRR"], rows)


def unanswerable(answer):
    """How signals tell questions that the corpus does not answer."""
    rows = [[f"`{v['signal']}`", figure(v["separation"]), side(v).removesuffix(" (!)")] for v in answer["signals"][:10]]
    table(["signal", "AUROC", "unanswerable when"], rows)
    named = {v["signal"]: v for v in answer["signals"]}
    table(["signal", "AUROC", "unanswerable when"], [
        [f"`{s}`", figure(named[s]["separation"]), side(named[s]).removesuffix(" (!)")] for s in FIVE if s in named and named[s]["separation"].get("value")
    ])
    if answer.get("policy"):
        metrics = answer["metrics"]
        kept = sum(1 for v in answer["signals"] if v.get("kept"))
        table(["classifier over", *(n.replace("_", " ") for n in POLICY)], [[f"{kept} signals"] + [figure(metrics.get(n), 2) for n in POLICY]])


if __name__ == "__main__":
    main()
