"""What the pickers of the Plan place offer, and in which order."""

import pytest

from gpuplanner.ui.plan_place.pickers import model_items


@pytest.mark.parametrize("query", ["", "qwen3"])
def test_the_model_picker_sorts_sizes_as_numbers(shipped_catalog, appearance, query):
    models = [model for model in shipped_catalog.models.values() if model.id.startswith("Qwen/Qwen3-")]
    titles = [item.title for item in model_items(models, query, appearance, "")]
    wanted = ["Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B"]
    assert [title for title in titles if title in wanted] == wanted
