"""A speech model as the few numbers that its time and memory depend on: encoder, decoder, cross attention. No time."""

from dataclasses import dataclass

from gpuplanner.catalog.architecture import LayerGroup, ModelArchitecture
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.messages import InputError, msg

WHISPER = "whisper"
FRAMES = 1500.0
"""Positions of the encoder for a window of 30 s; every Whisper has as many."""


@dataclass(frozen=True, slots=True)
class SpeechNumbers:
    """Sums over layers. `decoder_parameters`: what a token multiplies, the output projection with them.

    `cross_parameters`: of them the projections of the audio's keys and values, which are done once a window.
    """

    parameters: float
    hidden: float
    heads: float
    encoder_layers: float
    encoder_parameters: float
    decoder_layers: float
    decoder_parameters: float
    cross_parameters: float


def speech_numbers(model: ModelArchitecture) -> SpeechNumbers:
    """The numbers of a model. Raises InputError when it is not of Whisper's form."""
    if model.family != WHISPER:
        raise InputError(msg("speech.not_whisper", model=model.name))
    encoder = [group for group in model.groups if group.encoder]
    decoder = [group for group in model.groups if not group.encoder]
    layers = float(sum(group.count for group in decoder))
    cross = 2.0 * layers * model.hidden * model.hidden
    return SpeechNumbers(
        parameters=float(total_parameters(model)),
        hidden=float(model.hidden),
        heads=float(max(group.attention.heads for group in model.groups)),
        encoder_layers=float(sum(group.count for group in encoder)),
        encoder_parameters=float(sum(map(_parameters, encoder))),
        decoder_layers=layers,
        decoder_parameters=sum(map(_parameters, decoder)) - cross + float(model.vocabulary) * model.hidden,
        cross_parameters=cross,
    )


def _parameters(group: LayerGroup) -> float:
    cross = group.cross_attention.parameters if group.cross_attention else 0
    return float(group.count * (group.attention.parameters + group.mlp.parameters + group.norm_parameters + cross))
