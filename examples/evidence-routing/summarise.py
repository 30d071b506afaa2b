"""Makes Markdown tables of what run.sh left in a folder.

    python summarise.py OUT > tables.md
"""

import json
import pathlib
import sys

FIVE = ("max_score", "score_stddev", "dense_stddev", "evidence_coverage", "retriever_divergence")
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


if __name__ == "__main__":
    main()
