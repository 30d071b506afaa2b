"""Nothing that is measured is trained on."""

import gzip
import json
from itertools import islice
from pathlib import Path

from verifier_train.mixture import Mixture
from verifier_train.overlap import Overlap, of_folder
from verifier_train.recipe import Recipe
from verifier_train.sets import SETS, Row, load, read

DOC = "The tower was finished in 1889 and has three levels. " * 4


def test_a_claim_a_document_and_a_pair_of_a_development_set_are_found_however_they_are_written():
    overlap = Overlap([Row(DOC, "The tower has got three levels.", 0), Row("Short.", "Tiny claim.", 0)])
    assert overlap.has(Row("Something else.", "the  tower has got THREE levels", 1))
    assert overlap.has(Row(DOC.upper(), "Another claim of five words.", 1))
    assert overlap.has(Row("short", "tiny claim", 1))
    assert overlap.has_text("Unrelated. The tower was finished in 1889, and has three levels. More.")


def test_short_scenes_and_claims_of_a_development_set_are_left_out(data: Path, tmp_path: Path):
    """Though they recur by chance: that costs SNLI 4 % of its rows, others less."""
    rows = load(data, "cad_nli")
    short = next(row.claim for row in rows if len(row.claim.split()) < 5)
    scene = next(row.doc for row in rows if len(row.doc.split()) < 20 and row.claim != short)
    recipe = Recipe(sets=("cad_nli",), corpora=("squad2_halfdev",), questions=0)
    mixture = Mixture(recipe, data, Overlap([Row("Another premise.", short, 0), Row(scene, "Another claim.", 0)]), tmp_path)
    assert mixture.dropped["cad_nli"] == sum(row.claim == short or row.doc == scene for row in rows)


def test_rows_that_were_put_into_a_development_set_are_dropped_from_training(data: Path, tmp_path: Path):
    """The guard has work to do: with some training rows in a development file
    the mixture has fewer rows, by those and their repetitions."""
    planted = load(data, "fool_me_twice")[:25]
    dev = tmp_path / "dev"
    dev.mkdir()
    with gzip.open(dev / "planted.jsonl.gz", "wt", encoding="utf-8") as out:
        for row in planted:
            out.write(json.dumps({"doc": row.doc, "claim": row.claim, "label": 1}) + "\n")
    recipe = Recipe(sets=("fool_me_twice",), corpora=("squad2_halfdev",), questions=0)
    mixture = Mixture(recipe, data, of_folder(dev), tmp_path / "cache")
    assert mixture.dropped["fool_me_twice"] >= len(planted)
    claims = {row.claim for number in range(1) for row in mixture.chunk(number)}
    assert not claims & {row.claim for row in planted}


def test_what_is_in_a_development_set_is_found_and_hardly_anything_else(data: Path):
    """Every tenth row of all files: the guard finds all of dev/, and leaves nearly
    all of the training sets, which come without rows that are in dev/ whole."""
    overlap = of_folder(data / "dev")
    for path in sorted((data / "dev").glob("*.jsonl.gz")):
        assert all(overlap.has(row) for row in islice(read(path), 0, None, 10)), path.name
    for name in SETS:
        found = [overlap.has(row) for row in load(data, name)[::10]]
        share = 0.15 if name in ("fever", "rte", "scifact", "lila_stress", "snli", "cad_nli") else 0.005  # share short premises with dev/
        assert sum(found) <= share * len(found), name
