"""What is installed to compute with: the driver, CUDA, PyTorch and libraries."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record


class Software(Record):
    """Versions as printed. `cuda_driver_version`: the newest CUDA that the driver takes, no installed toolkit.

    `module_version`: of the loaded kernel module; `library_version`: of the library that programs load; `query_fields`:
    what `nvidia-smi --query-gpu` can be asked for.
    """

    driver_version: str | None = None
    module_version: str | None = None
    library_version: str | None = None
    module_flavour: Literal["open", "proprietary"] | None = None
    cuda_driver_version: str | None = None
    cuda_toolkit_version: str | None = None
    cuda_runtime_version: str | None = None
    cudnn_version: str | None = None
    nccl_version: str | None = None
    torch_version: str | None = None
    torch_cuda_version: str | None = None
    torch_rocm_version: str | None = None
    torch_sees_cuda: bool | None = None
    torch_architectures: tuple[str, ...] = ()
    python_version: str | None = None
    rocm_version: str | None = None
    vllm_version: str | None = None
    dcgm_version: str | None = None
    fabric_manager_version: str | None = None
    smi_version: str | None = None
    query_fields: tuple[str, ...] = ()
    libraries: dict[str, str] | None = None
    hidden_devices: str | None = None
