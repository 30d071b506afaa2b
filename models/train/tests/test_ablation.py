"""The ablation's recipes and its table."""

from pathlib import Path

import pytest

from verifier_train import ablation, recipe

RECIPES = recipe.read(Path(__file__).parent.parent / "recipes.toml")


def test_each_run_changes_one_thing():
    names = [name for name in RECIPES if name.startswith(ablation.BASE)]
    assert names[0] == ablation.BASE and len(names) > 2
    assert ablation.changes(RECIPES, ablation.BASE) == ""
    told = [ablation.changes(RECIPES, name) for name in names[1:]]
    assert all(change and ", " not in change for change in told)
    assert len(set(told)) == len(told)
    assert ablation.changes(RECIPES, "ablation-no-padding") == "pad = 0.0"


def test_some_are_chosen_by_name_and_the_base_with_them():
    assert list(ablation.chosen(RECIPES, ["ablation-mean"])) == ["ablation", "ablation-mean"]
    assert len(ablation.chosen(RECIPES, None)) > 10
    with pytest.raises(SystemExit, match="full: no recipe of the ablation"):
        ablation.chosen(RECIPES, ["full"])


def test_the_table_shows_differences_to_the_base():
    figures = {"auroc": {"value": 0.7004}, "balanced_accuracy_chosen": {"value": 0.65}}
    less = {"auroc": {"value": 0.68}, "balanced_accuracy_chosen": {"value": 0.66}}
    differences = {
        "auroc": {"value": -0.0204, "lower": -0.04, "upper": 0.001},
        "balanced_accuracy_chosen": {"value": 0.01, "lower": -0.01, "upper": 0.03},
    }
    table = ablation.markdown(
        {
            "ablation": ("", {"mean": {"figures": figures}}),
            "ablation-x": ("pad = 0.0", {"mean": {"figures": less}, "against": {"mean": {"differences": differences}}}),
        }
    )
    assert table.splitlines()[2:] == [
        "| none | 0.700 |  | 0.650 |  |",
        "| pad = 0.0 | 0.680 | -0.020 [-0.040, +0.001] | 0.660 | +0.010 [-0.010, +0.030] |",
    ]
