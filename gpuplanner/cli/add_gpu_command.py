"""`catalog add-gpu`: a GPU type that the catalog has not, from six fields, kept among a person's own."""

import argparse

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.store.own_gpus import NewGpu, add_gpu

NVIDIA = "nvidia"
"""The vendor whose GPUs have a CUDA compute capability."""


def add(options: argparse.Namespace, context: Context) -> int:
    """Add the GPU and say where it is kept and how to plan with it."""
    new = NewGpu(
        name=" ".join(options.text),
        vendor=options.vendor,
        memory_gb=options.memory_gb,
        memory_bandwidth_gb_per_s=options.bandwidth,
        bf16_tflops=options.bf16_tflops,
        fp16_tflops=options.fp16_tflops,
        pcie_gb_per_s=options.pcie,
        pcie_generation=options.pcie_generation,
        link=options.link,
        link_gb_per_s=options.link_rate,
        power_w=options.power,
        architecture=options.architecture,
        compute_capability=options.compute_capability,
        source=options.source,
    )
    added = add_gpu(context.workspace.home, new, context.workspace.catalog)
    if options.json:
        facts = {name.value: known.value for name, known in added.gpu.properties.items()}
        print_json({"id": added.gpu.id, "file": str(added.path), "user": True, "facts": facts})
        return 0
    print(context.text("answers.gpu.added", name=safe(added.gpu.name), file=str(added.path)))
    rows = [
        [f"  {context.text(f'fact.{name.value}')}", context.number(known.value, known.fact.unit)]
        for name, known in added.gpu.properties.items()
    ]
    print("\n".join(columns(rows, right=(1,))))
    for warning in added.warnings:
        print(f"! {context.text(warning)}")
    if not added.gpu.compute_capability and added.gpu.vendor.casefold() == NVIDIA:
        print(context.text("answers.gpu.no_capability"))
    print()
    print(context.text("answers.gpu.next", name=safe(added.gpu.name)))
    return 0
