/* A libnvidia-ml.so.1 for tests: recorded values of GPUs, one of them lost or throttled where the test asks for it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(device) ((int)(intptr_t)(device) - 1)
#define NEEDS(device) if (AT(device) == (int)setting("STUB_LOST", -1)) return 15
typedef struct { uint32_t field, scope; int64_t time, latency; int kind, code; uint64_t value; } Field;
typedef struct { uint32_t pid; uint64_t used; uint32_t gpu_instance, compute_instance; } Process;

static double setting(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}
static unsigned looks;

int nvmlInit_v2(void) { return (int)setting("STUB_NVML_INIT", 0); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = (unsigned)setting("STUB_GPUS", 2); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(intptr_t)(index + 1);
    return index < (unsigned)setting("STUB_GPUS", 2) ? 0 : 2;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    unsigned domain, number;
    if (sscanf(bus, "%x:%x", &domain, &number) != 2) return 2;
    *device = (void *)(intptr_t)number;
    return 0;
}
int nvmlDeviceGetName(void *device, char *name, unsigned size) { snprintf(name, size, "NVIDIA Stub %d", AT(device)); return 0; }
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size) { snprintf(uuid, size, "GPU-%04d", AT(device)); return 0; }
int nvmlDeviceGetUtilizationRates(void *device, unsigned *use) { NEEDS(device); use[0] = 87; use[1] = 41; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    NEEDS(device);
    memory[0] = 80ULL << 30; memory[1] = 78ULL << 30; memory[2] = 2ULL << 30;
    return 0;
}
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *clock) { NEEDS(device); *clock = which == 2 ? 2619 : 1755; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *power) { NEEDS(device); *power = 431500; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *value) { NEEDS(device); *value = 61 + AT(device); return 0; }
int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *value) { NEEDS(device); *value = 5; return 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *value) { NEEDS(device); *value = 16; return 0; }
#ifdef OLD
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *space) { *count = 0; return 0; }
#else
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
    NEEDS(device);
    /* From its third look on, the GPU that the test names is too hot for two looks. */
    if (AT(device) == (int)setting("STUB_ALWAYS_HOT", -1)) { *reasons = 0x40; return 0; }
    if (AT(device) == (int)setting("STUB_HOT", -1)) { looks++; *reasons = looks == 3 || looks == 4 ? 0x40 : 0; }
    else *reasons = 0x4;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *space) {
    unsigned run = AT(device) == (int)setting("STUB_BUSY", -1) ? 1 : 0;
    NEEDS(device);
    if (*count < run) { *count = run; return 7; }
    *count = run;
    if (run) { space[0].pid = 4242; space[0].used = 3ULL << 30; }
    return 0;
}
int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *value) {
    NEEDS(device);
    usleep((unsigned)setting("STUB_PCIE_US", 0));
    *value = counter ? 2000000 : 1000000;
    return 0;
}
typedef struct { void *device; unsigned long long kind, data; unsigned gpu_instance, compute_instance; } Event;
static unsigned heard, listened;
int nvmlEventSetCreate(void **set) { *set = (void *)(intptr_t)0x77; return 0; }
int nvmlDeviceRegisterEvents(void *device, unsigned long long kinds, void *set) {
    if (setting("STUB_NO_EVENTS", 0)) return 3;
    if (kinds != 8 || set != (void *)(intptr_t)0x77) return 2;
    listened |= 1u << AT(device);
    return 0;
}
int nvmlEventSetWait_v2(void *set, Event *event, unsigned wait_ms) {
    /* The GPU that the test names meets an Xid at the second look. */
    int gpu = (int)setting("STUB_XID_GPU", -1);
    if (set != (void *)(intptr_t)0x77 || gpu < 0 || !(listened >> gpu & 1) || ++heard != 2) return 10;
    event->device = (void *)(intptr_t)(gpu + 1); event->kind = 8; event->data = (unsigned long long)setting("STUB_XID", 79);
    return 0;
}
int nvmlEventSetFree(void *set) { return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *power) { NEEDS(device); *power = 700000; return 0; }
int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *clock) { NEEDS(device); *clock = which == 2 ? 2619 : 1980; return 0; }
int nvmlDeviceGetEncoderUtilization(void *device, unsigned *use, unsigned *period) { NEEDS(device); *use = 3; *period = 1000; return 0; }
int nvmlDeviceGetDecoderUtilization(void *device, unsigned *use, unsigned *period) { return 3; }
int nvmlDeviceGetFieldValues(void *device, int count, Field *fields) {
    static uint64_t counted;
    NEEDS(device);
    counted += 1 << 20;
    for (int at = 0; at < count; at++) {
        fields[at].code = fields[at].scope == 0xFFFFFFFF ? 0 : 2;
        fields[at].value = counted * (fields[at].field == 138 ? 1 : 2);
    }
    return 0;
}
#endif
