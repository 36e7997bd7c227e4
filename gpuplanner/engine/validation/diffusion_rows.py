"""Rows of measured image and clip models as a plan and a machine: which model, which runtime, what was timed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuplanner.catalog.entries import Gpu, GpuProperty, Model
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import bare
from gpuplanner.engine.slices import sliced
from gpuplanner.engine.validation.cells import count
from gpuplanner.engine.validation.rows import GROUP_COLUMN, Row, ValidationContext
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.units import GIB
from gpuplanner.workload.diffusion import Diffusion, DiffusionPrecision, DiffusionRuntime, PipelineOffload
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import GpuSlice
from gpuplanner.workload.training import AttentionKernel

MODELS: Mapping[str, str] = {
    r"klein": "FLUX.2-klein-base-4B",
    r"flux[ .-]*2": "FLUX.2-dev",
    r"flux.*schnell": "FLUX.1-schnell",
    r"flux": "FLUX.1-dev",
    r"(sd|stable[- ]diffusion)[- ]?v?3[.]5.*large": "stable-diffusion-3.5-large",
    r"(sd|stable[- ]diffusion)[- ]?v?3([- ]medium)?(?![.\d])": "stable-diffusion-3-medium (MMDiT)",
    r"sdxl|sd[- ]xl|stable[- ]diffusion[- ]xl": "stable-diffusion-xl-base-1.0 UNet",
    r"(sd|stable[- ]diffusion)[- ]?v?2": "stable-diffusion-2-1 UNet",
    r"(sd|stable[- ]diffusion)[- ]?v?1|stable[- ]diffusion$": "stable-diffusion-v1-5 UNet",
    r"pixart": "PixArt-Sigma-XL-2-1024",
    r"qwen[- ]?image": "Qwen-Image",
    r"cogvideo.*2b": "CogVideoX-2b",
    r"cogvideo.*5b": "CogVideoX-5b",
    r"wan.*2[.]2.*5b": "Wan2.2-TI2V-5B",
    r"wan.*1[.]3b": "Wan2.1-T2V-1.3B",
    r"wan.*14b": "Wan2.1-T2V-14B",
    r"hunyuan.*video": "HunyuanVideo",
}
"""What sources call a model, case aside, first match; other names go through the catalog."""
NOT_MODELLED = r"controlnet|ip-adapter|refiner|upscal|inpaint"
ANY_FORM: Mapping[str, str] = {"A100": "A100 SXM4 80GB", "A100 80GB": "A100 SXM4 80GB", "A100 40GB": "A100 SXM4 40GB"}
"""Forms of one GPU that differ in nothing that an image model notices, where a source leaves the form open."""
SEVERAL = re.compile(r"(?:^(\d{1,4}) ?[x×] ?)|(?: ?[x×] ?(\d{1,4})$)")
SLICE = re.compile(r"\bMIG (\d+g\.\d+gb)\b", re.IGNORECASE)
NOMINAL = re.compile(r"nominal (\d{1,4}) GB")
SIDE = re.compile(r"(\d{2,5})(?: ?[x×*] ?(\d{2,5}))?(?: ?[x×*] ?(\d{1,5}))?")
RUNTIMES: Mapping[str, DiffusionRuntime] = {
    r"tensorrt|_trt|/trt|stable-fast \(|aitemplate|oneflow|onediff|mlperf": DiffusionRuntime.TENSORRT,
    r"torch[. ]?compile|compiled|inductor": DiffusionRuntime.COMPILED,
}
"""What sources call the software, first match; everything else is PyTorch as written."""
MOST = 10_000
UNGUIDED = r"turbo|lcm|lightning|schnell|hyper|distil"
"""Models that are distilled to few steps run without guidance."""
NAMED_SIZES: Mapping[str, tuple[int, int]] = {"480p": (832, 480), "720p": (1280, 720), "1080p": (1920, 1080)}
OFFLOADS: Mapping[str, PipelineOffload] = {
    r"sequential[_ -](?:cpu[_ -])?offload": PipelineOffload.SEQUENTIAL,
    r"cpu[_ -]offload|model[_ -]offload": PipelineOffload.MODEL,
}
SATURATED = 8
"""Images in a batch where a throughput is measured without saying how many: from here on more change nothing."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A row as what the engine estimates. `codec`: "encode" or "decode" where that alone was measured."""

    model: Model
    network: DiffusionNetwork
    work: Diffusion
    machine: Machine
    codec: str
    throughput: bool


def placed(row: Row, context: ValidationContext) -> Placed:
    """The row as a plan on a machine.

    Raises InputError naming what cannot be read or is not modelled.
    """
    model, network = model_of(row, context)
    machine = machine_of(row, context)
    width, height, frames = sizes_of(row.text("res"))
    words = f"{row.text('notes')} {row.text('source')} {row.text(GROUP_COLUMN)}"
    runtime = runtime_of(words)
    throughput = not row.text("batch") and not row.text("it_per_s") and "mlperf" in words.lower()
    precision = precision_of(row.text("precision"), runtime, machine.gpu)
    at_once = count(row, "batch", MOST) or (SATURATED if throughput else 1)
    work = Diffusion(
        model=ModelChoice(catalog_id=model.id),
        precision=precision,
        width=width,
        height=height,
        frames=count(row, "frames", MOST) or frames,
        steps=count(row, "steps", MOST),
        at_once=at_once,
        runtime=runtime,
        attention=_attention(words),
        guidance=False if re.search(UNGUIDED, row.text("model"), re.IGNORECASE) else None,
        offload=offload_of(words),
        vae_slicing=_sliced(words, at_once),
        vae_tiling=re.search(r"\btiling\b", words, re.IGNORECASE) is not None,
    )
    return Placed(model, network, work, machine, _codec(row.text("model")), throughput)


def model_of(row: Row, context: ValidationContext) -> tuple[Model, DiffusionNetwork]:
    """The model that a row names. Raises InputError where it is no diffusion model that the catalog describes."""
    printed = row.text("model")[:200]
    if re.search(NOT_MODELLED, printed, re.IGNORECASE):
        raise InputError(msg("validation.diffusion.with_more", model=shortened(printed, 60)))
    found = next((id_ for pattern, id_ in MODELS.items() if re.search(pattern, printed, re.IGNORECASE)), "")
    model = context.models[found] if found in context.models else context.names.model(printed)
    if not isinstance(model.network, DiffusionNetwork):
        raise InputError(msg("validation.diffusion.no_network", model=model.name))
    return model, model.network


def machine_of(row: Row, context: ValidationContext) -> Machine:
    """The machine that a row names: so many GPUs, or a slice of one."""
    printed = row.text("gpu")[:200]
    several = SEVERAL.search(printed)
    gpus = int(next(filter(None, several.groups()))) if several else (count(row, "n_gpus", MOST) or 1)
    name = SEVERAL.sub("", printed).strip()
    part = SLICE.search(name)
    gpu = _gpu(SLICE.sub("", name).strip(), row, context)
    if part is not None:
        gpu = sliced(gpu, _slice(part.group(1).lower(), gpu))
    per_node = min(gpus, 8)
    return bare(gpu, per_node, max(gpus // per_node, 1))


def _gpu(name: str, row: Row, context: ValidationContext) -> Gpu:
    nominal = NOMINAL.search(row.text("notes"))
    memory = float(nominal.group(1)) * GIB if nominal else None
    return context.names.gpu(ANY_FORM.get(name, name), memory)


def _slice(profile: str, gpu: Gpu) -> GpuSlice:
    """Of seven compute slices so many, of eight memory slices what the profile's gigabytes are of the whole."""
    compute, memory = (int(number) for number in re.findall(r"\d+", profile))
    share = Fraction(max(round(memory / _gigabytes(gpu) * 8), 1), 8)
    return GpuSlice(profile=profile, compute=f"{compute}/7", memory=str(share))


def _gigabytes(gpu: Gpu) -> float:
    known = gpu.known(GpuProperty.MEMORY_BYTES)
    return known.value / GIB if known else 80.0


def sizes_of(printed: str) -> tuple[int | None, int | None, int | None]:
    """Width, height and frames of "1024x1024", "512" or "720x480x49"; None for what is not there."""
    named = next((size for name, size in NAMED_SIZES.items() if printed.lower().startswith(name)), None)
    if named is not None:
        return *named, None
    found = SIDE.match(printed)
    if found is None:
        return None, None, None
    width = int(found.group(1))
    return width, int(found.group(2) or width), int(found.group(3)) if found.group(3) else None


def runtime_of(words: str) -> DiffusionRuntime:
    """The software that a row's notes and source name."""
    lower = words.lower()
    found = (runtime for pattern, runtime in RUNTIMES.items() if re.search(pattern, lower))
    return next(found, DiffusionRuntime.EAGER)


def offload_of(words: str) -> PipelineOffload:
    """What waits in host memory by a row's notes."""
    lower = words.lower()
    found = (offload for pattern, offload in OFFLOADS.items() if re.search(pattern, lower))
    return next(found, PipelineOffload.NONE)


def precision_of(printed: str, runtime: DiffusionRuntime, gpu: Gpu) -> DiffusionPrecision:
    """The denoiser's format; where engines leave it open, 8 bits where the GPU has them (MLPerf's closed division)."""
    denoiser = re.search(r"(?:unet|transformer|dit)\W+(\w+)", printed.lower())
    text = denoiser.group(1) if denoiser else printed.lower()
    for pattern, precision in PRECISIONS.items():
        if re.search(pattern, text):
            return precision
    if runtime is DiffusionRuntime.TENSORRT and gpu.known(GpuProperty.FP8_FLOP_PER_S) is not None:
        return DiffusionPrecision.FP8
    return DiffusionPrecision.FP16


PRECISIONS: Mapping[str, DiffusionPrecision] = {
    r"nf4|int4|4.?bit|q4": DiffusionPrecision.NF4,
    r"fp8|float8|e4m3": DiffusionPrecision.FP8,
    r"int8|8.?bit|q8": DiffusionPrecision.INT8,
    r"bf16|bfloat16": DiffusionPrecision.BF16,
    r"fp16|float16|half": DiffusionPrecision.FP16,
    r"fp32|float32|tf32": DiffusionPrecision.FP32,
}


def _attention(words: str) -> AttentionKernel:
    without = re.search(r"xformers=0|no_xformers|benchmark_H100_MIG", words)
    return AttentionKernel.MATH if without else AttentionKernel.FLASH


def _sliced(words: str, at_once: int) -> bool:
    """lambda-diffusers decodes one image at a time from 32 on, where it uses xFormers: its memory falls there."""
    said = re.search(r"vae[_ -]slicing", words, re.IGNORECASE) is not None
    return said or (at_once >= SLICED_FROM and "xformers=1" in words)


SLICED_FROM = 32


def _codec(model: str) -> str:
    found = re.search(r"VAE (en|de)cod", model)
    return "" if found is None else f"{found.group(1)}code"
