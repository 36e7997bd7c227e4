"""Time and memory of an encoder and a text decoder over windows of audio: Whisper's form. Looks nothing up.

The encoder multiplies over all frames of a window at once; the decoder reads its weights and caches for every token.
"""

from gpuplanner.engine.formulas.elementwise import Number, ceil, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

WHISPER = "Radford et al., Robust speech recognition via large-scale weak supervision, 2022: windows of 30 s"


@formula(Unit.COUNT, "ceil(audio_s / advance_s)", WHISPER)
def audio_windows(audio_s: Number, advance_s: Number) -> Number:
    """Windows of a recording; a program that follows its own time stamps moves on by less than a whole window."""
    return ceil(audio_s / advance_s)


@formula(Unit.COUNT, "ceil(windows / rows)", "windows of a batch are computed together")
def window_batches(windows: Number, rows: Number) -> Number:
    """Batches of windows of a recording."""
    return ceil(windows / rows)


@formula(Unit.COUNT, "windows / rows", "windows of several recordings fill a batch")
def shared_batches(windows: Number, rows: Number) -> Number:
    """A recording's part of the batches that it shares with others."""
    return windows / rows


@formula(Unit.TOKEN, "tokens_per_audio_s · min(audio_s, advance_s) · longest_factor + prompt_tokens", "")
def window_tokens(
    tokens_per_audio_s: Number, audio_s: Number, advance_s: Number, longest_factor: Number, prompt_tokens: Number
) -> Number:
    """Steps of the decoder for a batch of windows: it goes on until the longest of them is done."""
    return tokens_per_audio_s * minimum(audio_s, advance_s) * longest_factor + prompt_tokens


@formula(
    Unit.FLOP,
    "rows · audio_frames · (2 · (encoder_parameters + cross_parameters) + 4 · encoder_layers · audio_frames · hidden)",
    "2 FLOP per weight and frame, and attention of every frame to every frame; Vaswani et al., 2017",
)
def encoder_flops(
    rows: Number,
    audio_frames: Number,
    encoder_parameters: Number,
    cross_parameters: Number,
    encoder_layers: Number,
    hidden: Number,
) -> Number:
    """Operations of a batch of windows before the first token, keys and values of cross attention included."""
    return (
        rows
        * audio_frames
        * (2.0 * (encoder_parameters + cross_parameters) + 4.0 * encoder_layers * audio_frames * hidden)
    )


@formula(Unit.FLOP, "2 · decoder_parameters · rows · beams", "")
def decoder_flops(decoder_parameters: Number, rows: Number, beams: Number) -> Number:
    """Operations of one step of the decoder."""
    return 2.0 * decoder_parameters * rows * beams


@formula(
    Unit.BYTE, "2 · rows · copies · audio_frames · decoder_layers · hidden · cache_element_bytes", "keys and values"
)
def cross_cache_bytes(
    rows: Number,
    copies: Number,
    audio_frames: Number,
    decoder_layers: Number,
    hidden: Number,
    cache_element_bytes: Number,
) -> Number:
    """Keys and values of the audio; `copies`: 1, or one for each beam."""
    return 2.0 * rows * copies * audio_frames * decoder_layers * hidden * cache_element_bytes


@formula(Unit.BYTE, "2 · rows · beams · tokens · decoder_layers · hidden · cache_element_bytes", "keys and values")
def text_cache_bytes(
    rows: Number, beams: Number, tokens: Number, decoder_layers: Number, hidden: Number, cache_element_bytes: Number
) -> Number:
    """Keys and values of the text so far."""
    return 2.0 * rows * beams * tokens * decoder_layers * hidden * cache_element_bytes


@formula(Unit.BYTE, "text_bytes · text_held_share", "windows that are done leave before the longest one is")
def held_text_bytes(text_bytes: Number, text_held_share: Number) -> Number:
    """The most that the keys and values of the text take at a time."""
    return text_bytes * text_held_share


@formula(Unit.BYTE, "cross_bytes + text_bytes / 2", "the text grows from nothing")
def mean_cache_bytes(cross_bytes: Number, text_bytes: Number) -> Number:
    """What an average step of the decoder reads of its caches."""
    return cross_bytes + 0.5 * text_bytes


@formula(Unit.SECOND, "batches · encode_s", "")
def encoder_seconds(batches: Number, encode_s: Number) -> Number:
    """Time of the encoder over all windows of a recording."""
    return batches * encode_s


@formula(Unit.SECOND, "steps · max(step_read_s, step_multiply_s)", "reading and multiplying overlap")
def decoder_weight_seconds(steps: Number, step_read_s: Number, step_multiply_s: Number) -> Number:
    """Time of the decoder's matrices over all steps."""
    return steps * maximum(step_read_s, step_multiply_s)


@formula(Unit.SECOND, "steps · step_cache_s", "")
def decoder_cache_seconds(steps: Number, step_cache_s: Number) -> Number:
    """Time of reading the caches of audio and text over all steps."""
    return steps * step_cache_s


@formula(Unit.COUNT, "batches · tokens", "")
def decoder_steps(batches: Number, tokens: Number) -> Number:
    """Steps of the decoder over the whole recording."""
    return batches * tokens


@formula(Unit.SECOND, "steps · (decoder_layers · layer_s + step_host_s)", "kernels too small to fill the GPU")
def step_launch_seconds(steps: Number, decoder_layers: Number, layer_s: Number, step_host_s: Number) -> Number:
    """Time of launching the decoder's kernels and of choosing tokens, however little each computes."""
    return steps * (decoder_layers * layer_s + step_host_s)


@formula(Unit.BYTE, "weight_bytes · cast_share", "16-bit copies that the allocator keeps")
def cast_copies_bytes(weight_bytes: Number, cast_share: Number) -> Number:
    """Copies of weights that are turned into another format as they are used."""
    return weight_bytes * cast_share


@formula(
    Unit.BYTE,
    "rows · audio_frames · (8 · hidden + heads · audio_frames · scores_kept) · cache_element_bytes",
    "vectors of a layer and, where they are written, its scores; Vaswani et al., 2017",
)
def encoder_working_bytes(
    rows: Number, audio_frames: Number, hidden: Number, heads: Number, scores_kept: Number, cache_element_bytes: Number
) -> Number:
    """What one layer of the encoder needs beside its weights."""
    return rows * audio_frames * (8.0 * hidden + heads * audio_frames * scores_kept) * cache_element_bytes
