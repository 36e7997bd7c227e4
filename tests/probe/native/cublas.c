#define _GNU_SOURCE
/* A libcublas.so.12 for tests: a matrix product takes the time that a recorded rate makes of it. */
#include <dlfcn.h>
#include <stdlib.h>

static int (*current)(void);
static void (*advance)(int, double);

int cublasCreate_v2(void **handle) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return 1;
    current = (int (*)(void))dlsym(driver, "stub_current");
    advance = (void (*)(int, double))dlsym(driver, "stub_advance");
    if (!current || !advance || getenv("STUB_NO_CUBLAS")) return 1;
    *handle = malloc(8);
    return 0;
}
int cublasSetStream_v2(void *handle, void *stream) { return 0; }
int cublasDestroy_v2(void *handle) { free(handle); return 0; }
int cublasGemmEx(void *handle, int one, int other, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc, int compute,
                 int algorithm) {
    double rate = a_type == 3 ? 1500e12 : a_type != 0 ? 795e12 : compute == 77 ? 400e12 : 52e12;
    if (!a || !b || !c || !one || other) return 7;
    advance(current(), 2.0 * m * n * k / rate);
    return 0;
}
