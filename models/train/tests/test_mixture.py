"""The stream of examples is what the recipe says, and can be taken up again."""

from pathlib import Path
from random import Random

import pytest

from verifier_train import synthetic
from verifier_train.mixture import CHUNK, Mixture, cut_to_fit
from verifier_train.overlap import Overlap
from verifier_train.recipe import Recipe, read
from verifier_train.sets import NOT_ENTAILED, NOT_STATED, SETS, Row, without_variants
from verifier_train.text import sentences

TWO_HOPS = synthetic.Question(
    "Where was its builder born?", ("Eiffel built the tower.", "Eiffel was born in Dijon."), "Dijon", ("Paris",)
)
RECIPE = Recipe(sets=("fool_me_twice", "tracie", "rte"), corpora=("squad2_halfdev",), questions=0)


@pytest.fixture(scope="module")
def mixture(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Mixture:
    return Mixture(RECIPE, data, Overlap([]), tmp_path_factory.mktemp("cache"))


def test_a_chunk_depends_on_its_number_alone(mixture: Mixture, data: Path, tmp_path: Path):
    again = Mixture(RECIPE, data, Overlap([]), tmp_path)
    assert again.chunk(3) == mixture.chunk(3)
    assert mixture.chunk(3) != mixture.chunk(4)


def test_each_row_of_a_set_comes_once_before_any_comes_again(mixture: Mixture):
    name = "rte"
    share = mixture.describe()[name]["share"]
    rows = mixture._rows[name]
    seen = [row.claim for row in (mixture._example(name, at, Random(0)) for at in range(len(rows)))]
    assert share > 0
    assert sorted(seen) == sorted(row.claim for row in rows)


def test_held_out_documents_are_not_trained_on(mixture: Mixture):
    held = {row.doc for row in mixture.held_out}
    assert held
    assert not any(row.doc in held for rows in mixture._rows.values() for row in rows)


def test_held_out_claims_and_questions_are_not_trained_on(data: Path, tmp_path: Path):
    recipe = RECIPE.with_changes({"sets": ["fool_me_twice", "fool_me_twice_retrieved", "qa_ground"], "corpora": ["hotpotqa"]})
    mixture = Mixture(recipe, data, Overlap([]), tmp_path)
    held = {row.claim for row in mixture.held_out if len(row.claim.split()) >= 5}
    assert held
    assert not any(row.claim in held for rows in mixture._rows.values() for row in rows)
    questions = {claim.rpartition("?")[0] for claim in held} - {""}
    assert questions
    assert not any(question.text.rstrip("?") in questions for question in mixture._maker._answered)


def test_shares_add_up_and_a_chunk_is_full(mixture: Mixture):
    assert sum(source["share"] for source in mixture.describe().values()) == pytest.approx(1, abs=1e-3)
    assert CHUNK - len(mixture.describe()) <= len(mixture.chunk(0)) <= CHUNK


def test_without_unstated_licences_no_such_set_is_left(data: Path, tmp_path: Path):
    strict = Mixture(
        RECIPE.with_changes({"stated_licences_only": True, "corpora": ["squad2_halfdev", "cisi"]}),
        data,
        Overlap([]),
        tmp_path,
    )
    assert "rte" not in strict.describe() and "tracie" in strict.describe()
    assert strict.describe()["synthetic"]["licence"].startswith("made from squad2_halfdev (CC BY-SA)") and "cisi" not in str(strict.describe())
    assert strict.describe()["joined"]["licence"] == "claims of the labelled sets about one document"
    assert NOT_STATED not in strict.corpora().values()
    assert SETS["rte"].licence == NOT_STATED


def test_padding_keeps_the_document_whole(mixture: Mixture):
    row = Row("The tower was finished in 1889.", "It was finished in 1889.", 0)
    padded = [mixture._pad(row, False, Random(seed)) for seed in range(60)]
    assert all(row.doc in p.doc and (p.claim, p.label) == (row.claim, row.label) for p in padded)
    assert any(p.doc != row.doc for p in padded)


def test_a_joined_claim_is_entailed_only_if_all_its_parts_are(mixture: Mixture):
    labels = {row.claim.strip().rstrip(".!?"): row.label for rows in mixture._rows.values() for row in rows}
    rng, checked = Random(5), 0
    for _ in range(200):
        row = mixture._join(rng)
        parts = [labels[p] for p in labels if p in row.claim and len(p) > 15]
        if len(parts) >= 2:
            checked += 1
            assert (row.label == 0) == all(label == 0 for label in parts)
    assert checked > 50


def test_the_length_of_a_claim_does_not_give_its_label_away(mixture: Mixture):
    joined = [mixture._join(Random(seed)).label == 0 for seed in range(400)]
    assert 0.4 < sum(joined) / len(joined) < 0.75
    made = [mixture._maker.row(Random(seed)) for seed in range(3000)]
    supported = {
        many: [row.label == 0 for row in made if (len(sentences(row.claim)) > 1) == many] for many in (False, True)
    }
    rates = {many: sum(labels) / len(labels) for many, labels in supported.items()}
    assert len(supported[True]) > 300
    assert abs(rates[True] - rates[False]) < 0.12


def test_a_recipe_changes_the_weights_of_sets(mixture: Mixture, data: Path, tmp_path: Path):
    doubled = Mixture(RECIPE.with_changes({"shares": {"rte": 2 * SETS["rte"].share}}), data, Overlap([]), tmp_path)
    before, after = mixture.describe(), doubled.describe()
    assert after["rte"]["share"] / after["tracie"]["share"] == pytest.approx(
        2 * before["rte"]["share"] / before["tracie"]["share"], rel=1e-2
    )


def test_a_long_document_is_cut_to_what_shares_most_with_the_claim():
    filler = [f"Sentence number {i} speaks of nothing in particular at all." for i in range(60)]
    doc = " ".join([*filler[:40], "Gustave Eiffel built the tower in 1889.", *filler[40:]])
    row = Row(doc, "The tower was built by Gustave Eiffel.", 0)
    cut = cut_to_fit(row, lambda text: len(text.split()), 60)
    assert "Gustave Eiffel built the tower in 1889." in cut.doc
    assert len(cut.doc.split()) + len(cut.claim.split()) + 3 <= 60


def test_a_row_whose_support_does_not_fit_is_left_out():
    filler = " ".join(["word"] * 12) + "."
    doc = f"Gustave Eiffel built the tower. {filler.capitalize()} {filler.capitalize()} Gustave was born in Dijon, near the old canal and the new station."

    def cut(limit: int, whole: bool = True) -> Row | None:
        return cut_to_fit(Row(doc, "The tower was built by a man born in Dijon.", 0), lambda text: len(text.split()), limit, whole)

    assert "Dijon" in cut(40).doc and "tower" in cut(40).doc
    assert cut(20) is None and cut(20, whole=False) is not None


def test_answers_that_may_be_right_are_not_wrong():
    def row(answer: str, label: int) -> Row:
        return Row("A document.", f"Which president was assassinated? {answer}", label)

    rows = [row("James Abram Garfield", 0), row("James A. Garfield", NOT_ENTAILED), row("Abraham Lincoln", NOT_ENTAILED)]
    assert without_variants(rows) == [rows[0], rows[2]]


def test_made_rows_repeat_nothing_of_a_development_set(data: Path, tmp_path: Path):
    free = Mixture(RECIPE, data, Overlap([]), tmp_path)
    first = [free._example("synthetic", 0, Random(seed)) for seed in range(5)]
    guarded = Mixture(RECIPE, data, Overlap([Row("An unrelated document.", row.claim, 0) for row in first]), tmp_path)
    claims = {row.claim for row in first if len(row.claim.split()) >= 5}
    made = [guarded._example("synthetic", 0, Random(seed)).claim for seed in range(5)]
    assert claims and not claims & set(made)


def test_recipes_change_their_base(tmp_path: Path):
    file = tmp_path / "recipes.toml"
    file.write_text('[a]\nexamples = 5\n[b]\nbase = "a"\npad = 0.0\n', encoding="utf-8")
    recipes = read(file)
    assert recipes["b"].examples == 5 and recipes["b"].pad == 0 and recipes["a"].pad > 0


# --- Rows made from paragraphs ---

TEXT = "Marie Curie was born in Warsaw on 7 November 1867. She was the first woman who won a Nobel Prize."


def test_each_corruption_changes_what_it_says():
    rng = Random(1)
    paris, both = synthetic.names_in("She lived in Paris.", ""), synthetic.names_in("Eve lived in Paris with Otto Lind.", "")
    assert synthetic.swap_name("Marie Curie was born in Warsaw.", paris, "", rng) in (
        "Paris was born in Warsaw.",
        "Marie Curie was born in Paris.",
    )
    born = {synthetic.swap_name("It was in Warsaw.", both, "", Random(seed)) for seed in range(20)}
    assert born == {"It was in Paris."}, "a name behind the same word is taken first"
    assert synthetic.swap_name("It was in Warsaw.", paris, "Born in Warsaw, Paris.", rng) is None
    parts = {synthetic.swap_part("It was Marie Curie.", both, "", Random(seed)) for seed in range(20)}
    assert parts == {"It was Otto Curie.", "It was Marie Lind."}
    assert synthetic.swap_roles("In 1903 Marie Curie replaced Irene Joliot.", "", rng) == (
        "In 1903 Irene Joliot replaced Marie Curie."
    )
    assert synthetic.swap_roles("Eve followed Ada.", "Then Eve left.", rng) == "Ada followed Eve."
    changed = synthetic.change_number("She got 2 prizes.", [], rng)
    assert changed != "She got 2 prizes." and changed.startswith("She got ") and changed.endswith(" prizes.")
    assert "November" not in synthetic.change_month("Born on 7 November 1867.", rng)
    assert synthetic.negate("It was not built.", rng) == "It was built."
    assert synthetic.negate("It was built.", rng) in ("It was not built.", "It was never built.", "It wasn't built.")
    assert synthetic.oppose("She was the first.", "She was the first.", rng) == "She was the last."
    assert synthetic.oppose("He is an American.", "", rng) == "He is a British."
    assert synthetic.fuse("Marie Curie was born in Warsaw.", "The Nobel Prize was founded in 1895.") == (
        "Marie Curie was founded in 1895."
    )
    assert synthetic.add("Marie Curie was born in Warsaw.", "It was founded in memory of her.") == (
        "Marie Curie was born in Warsaw in memory of her."
    )


def test_a_pronoun_is_its_title_only_after_a_sentence_about_it():
    first = "Marie Curie was a chemist."
    assert synthetic.name_subject("She won.", first, "Marie Curie (chemist)") == "Marie Curie won."
    assert synthetic.name_subject("She won.", "Her sister left.", "Marie Curie") == "She won."
    assert synthetic.name_subject("It is said that she won.", first, "Marie Curie") == "It is said that she won."
    for first, sentence, title in (
        ("The Salt Road is a film about a farmer.", "He is looking for his son.", "The Salt Road"),
        ("Salt Road is a film.", "He is looking for his son.", "Salt Road"),
        ("Ida Lind was raised.", "She won.", "Ida Lind"),
        ("Ida Lind was a pupil of a painter.", "She won.", "Ida Lind"),
        ("Ida Lind was a painter.", "It was red.", "Ida Lind"),
        ("Ida Lind painted dogs.", "They barked.", "Ida Lind"),
        ("The bridge is a road bridge.", "It took three years.", "The bridge"),
        ("The bridge is a road bridge.", "It was hard to build.", "The bridge"),
        ("The bridge is a road bridge.", "It was cold there.", "The bridge"),
    ):
        assert synthetic.name_subject(sentence, first, title) == sentence
    assert synthetic.name_subject("It was moved to Oslo.", "Salt Road is a film.", "Salt Road") == "Salt Road was moved to Oslo."
    assert synthetic.name_subject("It opened.", "The bridge crosses a river.", "The bridge") == "The bridge opened."
    assert synthetic.name_subject("He died.", "Marie Curie married Pierre.", "Marie Curie") == "He died.", "who may be another"


def test_a_document_that_says_more_still_says_the_claim():
    paragraph = synthetic.Paragraph("", ("Marie lived in Warsaw.", "They met her there in memory of him."))
    maker = synthetic.Maker([paragraph], [])
    longer = "Marie lived in Warsaw in memory of him."
    rows = [row for row in map(maker.row, map(Random, range(1500))) if longer in row.doc]
    assert any(row.claim == longer for row in rows)
    assert all(row.label == 0 for row in rows if row.claim in (longer, "Marie lived in Warsaw."))


def test_what_may_still_be_true_is_no_corruption():
    rng = Random(1)
    assert synthetic.fuse("Marie Curie was born in Warsaw.", "She was the first woman to win.") is None
    assert synthetic.fuse("Marie Curie was born in Warsaw.", "Curie was the first woman to win.") is None
    assert synthetic.fuse("Marie Curie was born in Warsaw.", "The film was made in 1943.") is None
    assert synthetic.change_number("It has at least 5 rooms.", [], rng) is None
    assert synthetic.change_number("It has about 300 rooms.", ["301"], rng) is None
    assert synthetic.change_number("It was built before 1900.", [], rng) is None
    assert synthetic.change_number("It has 5 or more rooms.", [], rng) is None
    assert synthetic.change_month("It was built by June.", rng) is None
    assert synthetic.oppose("It cost at least three.", "", rng) is None
    assert synthetic.oppose("It cost over 2 million.", "", rng) is None
    for mutual in ("In 1990 Ann Lee married Bob Ray.", "In 2008 Ann Lee played Bob Ray.", "So Clark Kent is Super Man."):
        assert synthetic.swap_roles(mutual, "", rng) is None
    assert synthetic.negate("Whether or not it was good, it did not sell.", rng) == "Whether or not it was good, it did sell."
    assert synthetic.negate("It was never built.", rng) is None
    assert synthetic.oppose("All came.", "", rng) is None
    assert synthetic.oppose("The village is not large.", "", rng) is None
    assert synthetic.change_number("The hall holds between 10 and 20 people.", [], rng) is None
    assert synthetic.swap_roles("The park West Ham is adjacent to East Ham.", "", rng) is None
    assert synthetic.fuse("Ida Lind was a painter from Oslo.", "Otto Berg was a painter.") is None
    assert synthetic.negate("When he was young, he lived in Rome.", rng) is None
    assert synthetic.negate("People who were born there left.", rng) is None
    assert synthetic.negate("When he was not young, he lived in Rome.", rng) is None
    assert synthetic.change_month("It was open between June and the end.", rng) is None
    assert synthetic.change_month("It was open between 5 May and 7 June.", rng) is None
    assert synthetic.change_number("It was built before June 1900.", [], rng) is None
    assert synthetic.change_number("She did not win 3 prizes.", [], rng) is None
    for denied in ("Ida Lind did not travel.", "The mill was never repaired."):
        assert synthetic.add(denied, "It was founded during the war.") is None
    assert synthetic.oppose("The first came.", "The first and the last came.", rng) is None


def test_where_there_is_nothing_to_change_there_is_no_corruption():
    rng = Random(1)
    plain = "they slept well at home"
    assert synthetic.swap_name(plain, synthetic.names_in("in Paris", ""), plain, rng) is None
    assert synthetic.swap_roles(plain, plain, rng) is None
    assert synthetic.change_number(plain, ["3"], rng) is None
    assert synthetic.change_month(plain, rng) is None
    assert synthetic.oppose(plain, plain, rng) is None
    assert synthetic.fuse(plain, plain) is None


def test_names_of_one_paragraph_may_be_one_persons():
    alone = synthetic.Paragraph("", ("Joe ran a gang.", "Joseph Stewart, known as Joe, was a drug lord."))
    maker = synthetic.Maker([alone, *[synthetic.Paragraph("", ("It rained in Oslo.",))] * 100_000], [])
    claims = {row.claim for row in map(maker.row, map(Random, range(800))) if row.label != 0}
    assert claims
    assert not any("Joseph Stewart ran" in claim or "Joe was a drug" in claim for claim in claims)


def test_a_document_that_answers_alone_lacks_no_hop():
    question = synthetic.Question("Who is Ida Lind, and where was her sister born?", ("Ida Lind: She is a vet.", "Eva: She was born in Oslo."), "a vet", ())
    assert [synthetic.answers_alone(question, doc) for doc in question.docs] == [True, False]


def test_a_clause_ends_at_no_number_and_no_title():
    for seed in range(40):
        for text, short in (
            ("The bombs, which killed 129,000 people, fell.", "The bombs, fell."),
            ("He met Eve, who was Dr. Lind's child.", "He met Eve."),
        ):
            assert synthetic.compress(text, Random(seed)) in (text, short)


def test_a_sentence_begins_after_its_date():
    for seed in range(40):
        assert synthetic.compress("On June 5, 2007, he won.", Random(seed)) == "On June 5, 2007, he won."
        assert synthetic.compress("In London, England, he won.", Random(seed)) == "In London, England, he won."
    assert "He won it all." in {synthetic.compress("In the end of June, he won it all.", Random(seed)) for seed in range(40)}


def test_what_stands_before_a_denial_or_in_theory_stays():
    for text in ("During the war, the museum was not open.", "In 2009, no team won a match.", "In theory, it runs on water."):
        assert {synthetic.compress(text, Random(seed)) for seed in range(40)} == {text}


def test_a_clause_is_cut_only_behind_one_that_can_stand_alone():
    for whole in (
        "The engineers Jones, Smith, Baker, and Brown founded the firm.",
        "The house that was built for the dog, the cat, and the horse was red.",
        "If the new museum was open on that day, and it was not full, they went in.",
        "In Norway, he was the first who skied to the sea.",
    ):
        assert {synthetic.compress(whole, Random(seed)) for seed in range(40)} == {whole}
    for cut in ("and she moved to Oslo.", "but the old mill was sold."):
        made = {synthetic.compress(f"Ida Lind founded a bakery on the quay, {cut}", Random(seed)) for seed in range(40)}
        assert "Ida Lind founded a bakery on the quay." in made


def test_compressing_only_takes_away():
    for seed in range(20):
        short = synthetic.compress("In 1903, Marie Curie (born 1867), who lived in Paris, won a prize, and left.", Random(seed))
        rest = iter("in 1903, marie curie (born 1867), who lived in paris, won a prize, and left.")
        assert all(c in rest for c in short.lower()), short


def test_rows_have_every_kind_of_label_and_supported_claims_have_their_sentence():
    paragraphs = [
        synthetic.Paragraph("Marie Curie", tuple(TEXT.split(". ", 1))),
        synthetic.Paragraph("Tower", ("Gustave Eiffel was its builder.", "It has 3 levels and 1,665 steps.")),
    ]
    maker = synthetic.Maker(paragraphs, [synthetic.Question("Who built it?", ("Eiffel built it.",), "Eiffel", ("Curie",)), TWO_HOPS])
    rows = [maker.row(Random(seed)) for seed in range(300)]
    assert {row.label for row in rows} == {0, 1, 2, NOT_ENTAILED}
    questions = [maker.question_row(Random(seed)) for seed in range(200)]
    assert 0.4 < sum(row.label == 0 for row in questions) / len(questions) < 0.6
    assert all(row.label == 1 for row in questions if "Who built it" in row.claim and "Eiffel built it." not in row.doc)
    hops = [row for row in questions if row.claim == "Where was its builder born? Dijon"]
    for row in hops:
        told = sum(doc in row.doc for doc in TWO_HOPS.docs)
        assert row.label == {0: 1, 1: NOT_ENTAILED, 2: 0}[told]
    assert len({row.label for row in hops}) == 3
    assert {row.claim: row.label for row in questions if "Curie" in row.claim} == {"Who built it? Curie": NOT_ENTAILED}
    assert any(row.label == 0 and row.claim == "Who built it? Eiffel" for row in questions)
