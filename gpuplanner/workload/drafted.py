"""A language model together with the smaller one that drafts for it: what a plan with both runs. A type, no reading."""

from gpuplanner.catalog.architecture import ModelArchitecture


class DraftedModel(ModelArchitecture):
    """A model whose next tokens another one drafts; in all else the model itself."""

    draft: ModelArchitecture


def drafted(model: ModelArchitecture, draft: ModelArchitecture) -> DraftedModel:
    """The model with the one that drafts for it."""
    return DraftedModel(**{name: getattr(model, name) for name in ModelArchitecture.model_fields}, draft=draft)
