"""A module by the name of PyTorch for tests: work takes, on a clock of its own, the time that a recorded rate makes."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

__version__ = "2.8.0+stub"
_told = os.environ.get("STUB_TORCH", "")
if _told == "broken":
    raise ImportError("libcudart.so.99: cannot open shared object file")
if _told.startswith("hangs:"):
    Path(_told.partition(":")[2]).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(60)
if _told == "takes_time":
    time.sleep(0.3)
if not sys.dont_write_bytecode:
    raise ImportError("this would write compiled files beside PyTorch")

float32, float16, bfloat16 = "float32", "float16", "bfloat16"
_RATES = {"float32": 48e12, "float16": 700e12, "bfloat16": 710e12}
_clock = [0.0]
_limits: dict[int, float] = {}


class Event:
    def __init__(self, enable_timing=False):
        self.at = 0.0

    def record(self):
        self.at = _clock[0]

    def synchronize(self):
        if _told == "takes_time":
            time.sleep(0.05)

    def elapsed_time(self, later):
        return (later.at - self.at) * 1e3


class Tensor:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype
        if cuda.device not in _limits:
            raise RuntimeError("nobody said how much memory may be taken")


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def no_grad():
    return _Nothing()


def randn(*shape, dtype, device):
    return Tensor(shape, dtype)


empty = randn


def matmul(one, other, out):
    fast = backends.cuda.matmul.allow_tf32 and one.dtype == float32
    _clock[0] += 2.0 * one.shape[0] ** 3 / (390e12 if fast else _RATES[one.dtype])


def _attend(query, key, value):
    if _told == "no_attention" or backends.cuda.math:
        raise RuntimeError("No available kernel. Aborting execution.")
    sequences, heads, tokens, size = query.shape
    _clock[0] += 4.0 * sequences * heads * tokens * tokens * size / 480e12


nn = SimpleNamespace(functional=SimpleNamespace(scaled_dot_product_attention=_attend))
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False), math=True))
backends.cuda.enable_math_sdp = lambda wanted: setattr(backends.cuda, "math", wanted)


class cuda:  # noqa: N801 (it stands for a module)
    Event = Event
    device = 0

    @staticmethod
    def device_count():
        return int(os.environ.get("STUB_GPUS", "2"))

    @staticmethod
    def set_device(gpu):
        cuda.device = gpu

    @staticmethod
    def get_device_capability(_gpu):
        return divmod(int(os.environ.get("STUB_CAPABILITY", "90")), 10)

    @staticmethod
    def get_device_properties(_gpu):
        return SimpleNamespace(total_memory=80 << 30)

    @staticmethod
    def set_per_process_memory_fraction(share, gpu):
        if share * (80 << 30) > (1 << 30) + 1:
            raise RuntimeError("more than is promised")
        _limits[gpu] = share

    @staticmethod
    def empty_cache():
        pass
