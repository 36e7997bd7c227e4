"""A language model of equal layers, as rows of measurements give its sizes. Pure."""

from gpuplanner.catalog.architecture import Attention, LayerGroup, Mlp, ModelArchitecture
from gpuplanner.catalog.parameters import embedding_parameters


def plain_model(
    name: str, layers: int, hidden: int, vocabulary: int, attention: Attention, mlp: Mlp, *, tied: bool
) -> ModelArchitecture:
    """Equal layers with two norms each, one embedding table, and a head of its own unless that is `tied`."""
    table = embedding_parameters(vocabulary, hidden)
    return ModelArchitecture(
        name=name,
        family="",
        hidden=hidden,
        vocabulary=vocabulary,
        groups=(LayerGroup(count=layers, attention=attention, mlp=mlp, norm_parameters=2 * hidden),),
        tied_embeddings=tied,
        embedding_parameters=table,
        head_parameters=0 if tied else table,
        final_norm_parameters=hidden,
    )
