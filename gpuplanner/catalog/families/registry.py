"""Which builder reads which family, by the names that configurations use. Nothing is computed here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gpuplanner.catalog.architecture import ModelArchitecture, Note
from gpuplanner.catalog.families import encoders, experts, gemma, gpt, hybrid, latent, special
from gpuplanner.catalog.families.dense import STYLES, Style, chatglm, dense_decoder, qwen1
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.towers import moon_vit, qwen_vision

Builder = Callable[[Fields], ModelArchitecture]


def _dense(style: Style) -> Builder:
    return lambda fields: dense_decoder(fields, style)


def _qwen3_vl(fields: Fields) -> ModelArchitecture:
    tower = qwen_vision(fields.inside("vision_config")) if fields.has("vision_config") else 0
    return dense_decoder(fields.inside("text_config"), STYLES["qwen3"], outer=fields, tower=tower)


def _qwen3_vl_moe(fields: Fields) -> ModelArchitecture:
    tower = qwen_vision(fields.inside("vision_config")) if fields.has("vision_config") else 0
    return experts.qwen3_moe(fields.inside("text_config"), outer=fields, tower=tower)


def _qwen2_vl(fields: Fields) -> ModelArchitecture:
    shape = dense_decoder(fields.inside_or_self("text_config"), STYLES["qwen2"], outer=fields)
    return shape.model_copy(update={"notes": (Note.TOWER_UNKNOWN,)})


def _qwen3_5(fields: Fields) -> ModelArchitecture:
    tower = qwen_vision(fields.inside("vision_config")) if fields.has("vision_config") else 0
    return hybrid.qwen_hybrid(fields.inside_or_self("text_config"), outer=fields, tower=tower)


def _qwen3_next(fields: Fields) -> ModelArchitecture:
    # The published files hold one prediction layer, which their configuration does not mention.
    return hybrid.qwen_hybrid(fields, predicted=1)


def _kimi_k25(fields: Fields) -> ModelArchitecture:
    text = fields.inside("text_config")
    tower = moon_vit(fields.inside("vision_config"), text.whole("hidden_size")) if fields.has("vision_config") else 0
    return latent.deepseek(text, outer=fields, tower=tower)


def _kimi_k3(fields: Fields) -> ModelArchitecture:
    text = fields.inside("text_config")
    tower = moon_vit(fields.inside("vision_config"), text.whole("hidden_size")) if fields.has("vision_config") else 0
    return hybrid.kimi_linear(text, outer=fields, tower=tower)


BUILDERS: Mapping[str, Builder] = MappingProxyType(
    {
        **{name: _dense(style) for name, style in STYLES.items()},
        "bert": encoders.bert,
        "bloom": gpt.bloom,
        "chatglm": chatglm,
        "clip": encoders.clip,
        "dbrx": experts.dbrx,
        "deepseek_v2": latent.deepseek,
        "deepseek_v3": latent.deepseek,
        "deepseek_v32": latent.deepseek,
        "deepseek_v4": latent.deepseek_v4,
        "falcon": gpt.falcon,
        "gemma3": gemma.gemma3,
        "gemma3_text": gemma.gemma3,
        "gemma4": gemma.gemma4,
        "gemma4_text": gemma.gemma4,
        "glm4_moe": experts.glm4_moe,
        "glm_moe_dsa": latent.deepseek,
        "gpt2": gpt.gpt2,
        "gpt_bigcode": gpt.gpt_bigcode,
        "gpt_neox": gpt.gpt_neox,
        "gpt_oss": experts.gpt_oss,
        "gptj": gpt.gptj,
        "grok-1": experts.grok,
        "jamba": hybrid.jamba,
        "kimi_k2": latent.deepseek,
        "kimi_k25": _kimi_k25,
        "kimi_k3": _kimi_k3,
        "kimi_linear": hybrid.kimi_linear,
        "llama4": experts.llama4,
        "llama4_text": experts.llama4,
        "mamba": hybrid.mamba,
        "mimo_v2_flash": experts.mimo_v2,
        "minimax_m2": experts.minimax_m2,
        "minimax_m3": special.minimax_m3,
        "mistral4": latent.deepseek,
        "mixtral": experts.mixtral,
        "mpt": gpt.mpt,
        "nemotron-nas": special.nemotron_nas,
        "nemotron_h": hybrid.nemotron_h,
        "olmoe": experts.olmoe,
        "opt": gpt.opt,
        "phi": gpt.phi,
        "qwen": qwen1,
        "qwen2_5_vl": _qwen2_vl,
        "qwen2_moe": experts.qwen2_moe,
        "qwen2_vl": _qwen2_vl,
        "qwen3_5": _qwen3_5,
        "qwen3_5_moe": _qwen3_5,
        "qwen3_moe": experts.qwen3_moe,
        "qwen3_next": _qwen3_next,
        "qwen3_vl": _qwen3_vl,
        "qwen3_vl_moe": _qwen3_vl_moe,
        "roberta": encoders.bert,
        "step3p5": special.step,
        "step3p7": special.step,
        "t5": encoders.t5,
        "whisper": encoders.whisper,
    }
)

OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        # Model types of the same design.
        "aquila": "llama",
        "camembert": "roberta",
        "minimax_m3_vl": "minimax_m3",
        "qwen3_5_moe_text": "qwen3_5_moe",
        "qwen3_5_text": "qwen3_5",
        "qwen3_vl_moe_text": "qwen3_moe",
        "qwen3_vl_text": "qwen3",
        "refinedweb": "falcon",
        "refinedwebmodel": "falcon",
        "umt5": "t5",
        "xlm-roberta": "roberta",
        # Class names, for files without a model type or with one of their own.
        "AquilaForCausalLM": "llama",
        "BaiChuanForCausalLM": "baichuan",
        "BaichuanForCausalLM": "baichuan",
        "BertForMaskedLM": "bert",
        "BertModel": "bert",
        "BloomForCausalLM": "bloom",
        "CLIPModel": "clip",
        "ChatGLMForConditionalGeneration": "chatglm",
        "ChatGLMModel": "chatglm",
        "DeciLMForCausalLM": "nemotron-nas",
        "DeepseekV2ForCausalLM": "deepseek_v2",
        "DeepseekV32ForCausalLM": "deepseek_v32",
        "DeepseekV3ForCausalLM": "deepseek_v3",
        "DeepseekV4ForCausalLM": "deepseek_v4",
        "FalconForCausalLM": "falcon",
        "GPT2LMHeadModel": "gpt2",
        "GPTBigCodeForCausalLM": "gpt_bigcode",
        "GPTJForCausalLM": "gptj",
        "GPTNeoXForCausalLM": "gpt_neox",
        "GemmaForCausalLM": "gemma",
        "Gemma2ForCausalLM": "gemma2",
        "Gemma3ForCausalLM": "gemma3_text",
        "Gemma3ForConditionalGeneration": "gemma3",
        "Gemma4ForConditionalGeneration": "gemma4",
        "Glm4MoeForCausalLM": "glm4_moe",
        "GlmMoeDsaForCausalLM": "glm_moe_dsa",
        "GptOssForCausalLM": "gpt_oss",
        "InternLM2ForCausalLM": "internlm2",
        "InternLMForCausalLM": "internlm",
        "KimiK25ForConditionalGeneration": "kimi_k25",
        "KimiK3ForConditionalGeneration": "kimi_k3",
        "KimiLinearForCausalLM": "kimi_linear",
        "Llama4ForConditionalGeneration": "llama4",
        "LlamaForCausalLM": "llama",
        "MPTForCausalLM": "mpt",
        "MiMoForCausalLM": "mimo",
        "MiMoV2FlashForCausalLM": "mimo_v2_flash",
        "MiniMaxM2ForCausalLM": "minimax_m2",
        "MiniMaxM3ForCausalLM": "minimax_m3",
        "MiniMaxM3SparseForConditionalGeneration": "minimax_m3",
        "MistralForCausalLM": "mistral",
        "MixtralForCausalLM": "mixtral",
        "NemotronHForCausalLM": "nemotron_h",
        "OPTForCausalLM": "opt",
        "PhiForCausalLM": "phi",
        "Phi3ForCausalLM": "phi3",
        "QWenLMHeadModel": "qwen",
        "Qwen2ForCausalLM": "qwen2",
        "Qwen2MoeForCausalLM": "qwen2_moe",
        "Qwen3ForCausalLM": "qwen3",
        "Qwen3MoeForCausalLM": "qwen3_moe",
        "Qwen3NextForCausalLM": "qwen3_next",
        "RobertaForMaskedLM": "roberta",
        "Step3p5ForCausalLM": "step3p5",
        "Step3p7FlashForCausalLM": "step3p7",
        "T5EncoderModel": "t5",
        "T5ForConditionalGeneration": "t5",
        "WhisperForConditionalGeneration": "whisper",
    }
)
