/* A libcuda.so.1 for tests: devices with a clock of their own, on which each copy and kernel takes the time that a
 * recorded rate makes of it. It counts what is taken and given back; addresses point nowhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16
#define MAXIMUM_BYTES 4096
typedef struct { int device; double seconds; } Event;
typedef struct { char name[16]; } Function;

static int devices, initialized, current = -1, calls;
static long contexts, buffers, pinned, streams, events, modules, bytes_now[MOST], bytes_most;
static double clocks[2 * MOST];
static int streams_of[MOST];
static struct { uint64_t address; size_t size; int device; float value; } taken[MAXIMUM_BYTES];
static void *pinned_at[MOST];
static uint64_t next_address = 1 << 20;

static double setting(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

/* STUB_FAIL=function:device:code[:call], the device -1 for any of them; the call counts from 1. */
static int failing(const char *name, int device) {
    const char *text = getenv("STUB_FAIL");
    char function[64];
    int where, code, call = 0;
    if (!text || sscanf(text, "%63[^:]:%d:%d:%d", function, &where, &code, &call) < 3) return 0;
    if (strcmp(function, name) || (where != -1 && where != device)) return 0;
    calls++;
    return call == 0 || calls == call ? code : 0;
}

static void told(void) {
    const char *path = getenv("STUB_LEDGER");
    char whole[4096];
    /* A test may read at any time: it sees the old counts or the new ones. */
    snprintf(whole, sizeof whole, "%s.new", path ? path : "");
    FILE *file = path ? fopen(whole, "w") : NULL;
    if (!file) return;
    fprintf(file, "{\"contexts\": %ld, \"buffers\": %ld, \"pinned\": %ld, \"streams\": %ld, \"events\": %ld, "
            "\"modules\": %ld, \"bytes_most\": %ld}\n", contexts, buffers, pinned, streams, events, modules, bytes_most);
    fclose(file);
    rename(whole, path);
}

void stub_advance(int device, double seconds) { clocks[device] += seconds; }
int stub_current(void) { return current; }

/* A GPU's first stream is its number plus one, its second a hundred more: each has a clock. */
static int clock_of(void *stream) {
    int number = (int)(intptr_t)stream - 1;
    return number >= 100 ? MOST + number - 100 : number;
}

static int advanced(const char *name, void *stream, double bytes, double rate) {
    int code = failing(name, current);
    if (!code) clocks[clock_of(stream)] += bytes / rate;
    return code;
}

int cuInit(unsigned flags) {
    int code = failing("cuInit", -1);
    if (code) return code;
    devices = (int)setting("STUB_GPUS", 2);
    initialized = 1;
    return devices ? 0 : 100;
}
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = devices; return initialized ? 0 : 3; }
int cuDeviceGet(int *device, int index) { *device = index; return index < devices ? 0 : 101; }
int cuDeviceGetName(char *name, int size, int device) {
    const char *told = getenv("STUB_NAME");
    if (told) snprintf(name, size, "%s", told);
    else snprintf(name, size, "NVIDIA Stub %d", device);
    return 0;
}
int cuDeviceGetPCIBusId(char *name, int size, int device) { snprintf(name, size, "0000:%02X:00.0", device + 1); return 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { *size = (size_t)80 << 30; return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device) { memset(uuid, device, 16); return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
    int capability = (int)setting("STUB_CAPABILITY", 90);
    *value = which == 75 ? capability / 10 : which == 76 ? capability % 10 : which == 16 ? 132 : 0;
    return 0;
}
int cuGetErrorName(int code, const char **name) {
    *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE"
        : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
    return *name ? 0 : 1;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    int code = failing("cuDevicePrimaryCtxRetain", device);
    if (code) return code;
    *context = (void *)(intptr_t)(device + 1);
    contexts++;
    told();
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) { contexts--; told(); return 0; }
int cuCtxSetCurrent(void *context) { current = (int)(intptr_t)context - 1; return current < 0 ? 201 : 0; }
int cuMemAlloc_v2(uint64_t *address, size_t size) {
    int code = failing("cuMemAlloc_v2", current);
    if (code) return code;
    for (int at = 0; at < MAXIMUM_BYTES; at++)
        if (!taken[at].address) {
            taken[at].address = *address = next_address;
            taken[at].size = size;
            taken[at].device = current;
            taken[at].value = 0;
            next_address += size;
            buffers++;
            bytes_now[current] += size;
            if (bytes_now[current] > bytes_most) bytes_most = bytes_now[current];
            told();
            return 0;
        }
    return 2;
}
int cuMemFree_v2(uint64_t address) {
    for (int at = 0; at < MAXIMUM_BYTES; at++)
        if (taken[at].address == address && address) {
            taken[at].address = 0;
            buffers--;
            bytes_now[taken[at].device] -= taken[at].size;
            told();
            return 0;
        }
    return 1;
}
int cuMemHostAlloc(void **address, size_t size, unsigned flags) {
    int code = failing("cuMemHostAlloc", current);
    if (code) return code;
    *address = malloc(16);
    for (int at = 0; at < MOST; at++)
        if (!pinned_at[at]) { pinned_at[at] = *address; break; }
    pinned++;
    told();
    return 0;
}
static int is_pinned(const void *address) {
    for (int at = 0; at < MOST; at++)
        if (pinned_at[at] == address && address) return 1;
    return 0;
}
int cuMemFreeHost(void *address) {
    for (int at = 0; at < MOST; at++)
        if (pinned_at[at] == address) pinned_at[at] = NULL;
    free(address);
    pinned--;
    told();
    return 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
    *stream = (void *)(intptr_t)(current + 1 + 100 * streams_of[current]++);
    streams++;
    told();
    return 0;
}
int cuStreamDestroy_v2(void *stream) {
    streams_of[clock_of(stream) % MOST]--;
    streams--;
    told();
    return 0;
}
int cuEventCreate(void **event, unsigned flags) { *event = calloc(1, sizeof(Event)); events++; told(); return 0; }
int cuEventDestroy_v2(void *event) { free(event); events--; told(); return 0; }
int cuEventRecord(Event *event, void *stream) {
    int device = clock_of(stream) % MOST, code = failing("cuEventRecord", device);
    if (code) return code;
    event->device = device;
    event->seconds = clocks[clock_of(stream)];
    usleep((unsigned)setting("STUB_SLEEP_US", 0));
    return 0;
}
int cuEventQuery(Event *event) { return getenv("STUB_HANGS") ? 600 : failing("cuEventQuery", event->device); }
int cuEventElapsedTime(float *milliseconds, Event *first, Event *last) {
    *milliseconds = (float)((last->seconds - first->seconds) * 1e3);
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
    if (!is_pinned(from)) return advanced("cuMemcpyHtoDAsync_v2", stream, size, 11.5e9);
    return advanced("cuMemcpyHtoDAsync_v2", stream, size, 55.4e9);
}
/* What a buffer holds is one number, which memset writes and an all-reduce makes larger. */
static float *value_at(uint64_t address) {
    for (int at = 0; at < MAXIMUM_BYTES; at++)
        if (taken[at].address && taken[at].address <= address && address < taken[at].address + taken[at].size)
            return &taken[at].value;
    return NULL;
}
void stub_multiply(uint64_t address, float factor) {
    float *value = value_at(address);
    if (value) *value *= factor;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
    float *value = value_at(from);
    if (value && *value && !is_pinned(to))
        for (size_t at = 0; at < size / 4; at++) ((float *)to)[at] = *value;
    if (!is_pinned(to)) return advanced("cuMemcpyDtoHAsync_v2", stream, size, 9.8e9);
    return advanced("cuMemcpyDtoHAsync_v2", stream, size, 53.1e9);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
    return advanced("cuMemcpyDtoDAsync_v2", stream, 2.0 * size, 2.7e12);
}
#ifndef OLD
int cuMemsetD32Async(uint64_t address, unsigned word, size_t count, void *stream) {
    float *value = value_at(address);
    if (!value) return 1;
    memcpy(value, &word, 4);
    return (intptr_t)stream == current + 1 ? failing("cuMemsetD32Async", current) : 1;
}
int cuStreamWaitEvent(void *stream, Event *event, unsigned flags) {
    double *clock = &clocks[clock_of(stream)];
    if (*clock < event->seconds) *clock = event->seconds;
    return failing("cuStreamWaitEvent", event->device);
}
int cuDeviceCanAccessPeer(int *can, int device, int other) { *can = !getenv("STUB_NO_PEERS"); return 0; }
int cuCtxEnablePeerAccess(void *context, unsigned flags) { return failing("cuCtxEnablePeerAccess", current); }
int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream) {
    /* One pair is joined by a slower path, in one direction. */
    return advanced("cuMemcpyPeerAsync", stream, size, (intptr_t)from_context == 1 && (intptr_t)to_context == 2 ? 26e9 : 396e9);
}
int cuModuleLoadData(void **module, const char *text) {
    int code = failing("cuModuleLoadData", current);
    const char *cache = getenv("CUDA_CACHE_DISABLE");
    /* The driver would write what it compiles into the home of whoever runs it. */
    if (!cache || strcmp(cache, "1")) return 201;
    if (code) return code;
    *module = strdup(text);
    modules++;
    told();
    return 0;
}
int cuModuleUnload(void *module) { free(module); modules--; told(); return 0; }
int cuModuleGetFunction(void **function, const char *module, const char *name) {
    static Function known[3] = {{"fma"}, {"mma"}, {"copy"}};
    char entry[40];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    for (int at = 0; at < 3; at++)
        if (!strcmp(known[at].name, name) && strstr(module, entry)) { *function = &known[at]; return 0; }
    return 500;
}
int cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                   unsigned shared, void *stream, void **values, void **extra) {
    double rounds = *(uint32_t *)values[1];
    if (!strcmp(function->name, "fma")) return advanced("cuLaunchKernel", stream, 128.0 * x * threads * rounds, 60e12);
    if (!strcmp(function->name, "mma")) return advanced("cuLaunchKernel", stream, 65536.0 * x * threads / 32 * rounds, 610e12);
    return advanced("cuLaunchKernel", stream, 2.0 * 16 * *(uint32_t *)values[2], 3.0e12);
}
#endif
