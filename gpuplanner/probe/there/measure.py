"""Measures the machine it runs on: its GPUs alone and together, the conditions meanwhile, its disks, the way to it.

Standard library only, Python 3.6 and later; the GPUs need the driver alone. It takes at most `MOST_BYTES` of each GPU
in buffers and `limit_s` in all, writes nothing, changes no setting, refuses where somebody computes, and gives
everything back at the end, on an error and when it is told to stop. Tested against libraries of our own with recorded
values; never run on a GPU.
"""

import os
import sys
from typing import Any, Dict, List, Optional

from gpuplanner.probe.there.alone import ALONE, FEW_GPUS, Alone
from gpuplanner.probe.there.channel import measure_channel
from gpuplanner.probe.there.collect import Listening, Tell
from gpuplanner.probe.there.conditions import Conditions
from gpuplanner.probe.there.cuda import CudaFault, Device, Driver, Ended, uuid_of
from gpuplanner.probe.there.disk import measure_disks
from gpuplanner.probe.there.libraries import LibraryFault
from gpuplanner.probe.there.nvml import Nvml, NvmlFault, somebody_computes
from gpuplanner.probe.there.report import Report
from gpuplanner.probe.there.together import Together
from gpuplanner.probe.there.torch_part import measure_torch

WITH_GPUS = (*ALONE, "device_to_device", "all_reduce", "torch")
WITHOUT_GPUS = ("disk", "channel")


class Measuring:
    """One run. Every failure is told as a frame with its reason, and the rest goes on where it can."""

    def __init__(self, job: Dict[str, Any], tell: Tell, stop: Listening) -> None:
        self._report = Report(tell, stop, float(job["limit_s"]), job.get("only") or ())
        self._tell = tell
        self._job = job
        self._listening = stop
        self._even_if_busy = bool(job.get("even_if_busy"))
        self._devices: List[Device] = []
        self._names: Dict[int, int] = {}
        self._nvml: Optional[Nvml] = None

    def run(self) -> bool:
        """Whether it came to its end: not refused, not stopped, not out of time."""
        # The numbers of nvidia-smi; and nothing may be kept on a disk of what the driver compiles.
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        os.environ["CUDA_CACHE_DISABLE"] = "1"
        sys.dont_write_bytecode = True
        report = self._report
        try:
            return self._measure()
        except Ended as ended:
            return report.failed(ended.reason, "")
        except (CudaFault, LibraryFault) as fault:
            return report.failed(fault.reason, fault.said)
        finally:
            self._free()
            if self._nvml is not None:
                self._nvml.close()
            self._tell({"frame": "freed"})

    def _measure(self) -> bool:
        wanted = any(self._report.wants(what) for what in WITH_GPUS)
        try:
            self._nvml = Nvml()
        except NvmlFault as fault:
            if wanted:
                self._tell({"frame": "without", "what": "nvml", "reason": fault.reason, "said": fault.said})
        ready = self._found() if wanted else True
        if not self._even_if_busy and not self._idle():
            return False
        beside = [what for what in WITHOUT_GPUS if self._report.wants(what)]
        if not self._job.get("channel") and "channel" in beside:
            beside.remove("channel")
        alone = sum(self._report.wants(what) for what in ALONE) * len(self._devices)
        pairs = len(self._devices) * (len(self._devices) - 1) if self._report.wants("device_to_device") else 0
        once = [what for what in ("all_reduce", "torch") if self._report.wants(what)] if self._devices else []
        self._report.expect(alone + pairs + len(once) + len(beside))
        if "disk" in beside:
            measure_disks(self._report, [str(place) for place in self._job.get("places") or ()])
        if "channel" in beside:
            measure_channel(self._report, self._listening)
        if ready and self._devices:
            self._gpus()
        return ready

    def _found(self) -> bool:
        """Find the GPUs and tell of them. Whether there is one to measure."""
        try:
            driver = Driver()
            count = driver.number("cuDeviceGetCount")
            self._devices = [Device(driver, index, self._report.leave) for index in range(count)]
        except CudaFault as fault:
            self._devices = []
            return self._report.failed(fault.reason, fault.said)
        handles = self._named()
        self._report.conditions = Conditions(self._nvml, handles)
        self._tell(
            {
                "frame": "machine",
                "driver_cuda": driver.number("cuDriverGetVersion"),
                "missing": driver.missing,
                "gpus": [self._described(driver, device) for device in self._devices],
            }
        )
        if not self._devices:
            return self._report.failed("no_device", "cuDeviceGetCount gives 0")
        return True

    def _named(self) -> Dict[int, Any]:
        """NVML's handles by the number that `nvidia-smi` gives the GPU."""
        handles: Dict[int, Any] = {}
        known: Dict[str, int] = {}
        if self._nvml is not None:
            for number, handle in self._nvml.handles():
                if handle is not None:
                    known[self._nvml.text("nvmlDeviceGetUUID", handle)] = number
        for device in self._devices:
            handle = self._nvml.at_bus(device.bus_id) if self._nvml is not None else None
            uuid = self._nvml.text("nvmlDeviceGetUUID", handle) if self._nvml is not None and handle else ""
            number = known.get(uuid, device.index)
            self._names[device.index] = number
            if handle is not None:
                handles[number] = handle
        return handles

    def _described(self, driver: Driver, device: Device) -> Dict[str, Any]:
        return {
            "index": self._names[device.index],
            "name": device.name,
            "uuid": uuid_of(driver, device),
            "pci_bus_id": device.bus_id,
            "memory_bytes": device.memory_bytes,
            "compute_capability": "%d.%d" % device.capability,
            "multiprocessors": device.multiprocessors,
        }

    def _idle(self) -> bool:
        """Whether nobody computes on any GPU. Where that cannot be told, no GPU is measured, nor anything beside it."""
        nvml = self._nvml
        if self._devices:
            gpus = [
                (self._names[device.index], nvml.at_bus(device.bus_id) if nvml is not None else None)
                for device in self._devices
            ]
        else:
            # Reading a disk slows down who reads data for these.
            gpus = nvml.handles() if nvml is not None else []
        reason, gpu = somebody_computes(nvml, gpus, must_know=bool(self._devices))
        return self._report.failed(reason, "", gpu=gpu) if reason else True

    def _gpus(self) -> None:
        alone = Alone(self._report, min(1.0, FEW_GPUS / float(len(self._devices))))
        for device in self._devices:
            alone.measure(device, self._names[device.index])
        if len(self._devices) > 1:
            Together(self._report, self._devices, self._names).measure()
        if self._report.wants("torch") and self._job.get("torch"):
            # It has contexts of its own.
            for device in self._devices:
                device.close()
            measure_torch(self._report, str(self._job["torch"]), self._names)

    def _free(self) -> None:
        self._report.conditions.close()
        for device in self._devices:
            device.close()


def measure(job: Dict[str, Any], tell: Tell, stop: Listening) -> bool:
    """Measure as the job says and tell of it; whether it came to its end.

    `limit_s`; `even_if_busy`; `only`: the steps that are wanted, all where it is left out; `places`: folders whose
    files are read for the disks; `channel`: whether the other side answers; `torch`: the text of `torch_rates.py`.
    """
    return Measuring(job, tell, stop).run()
