#define _GNU_SOURCE
/* A libcublasLt.so.12 for tests: takes the descriptions as the real one does, refuses what that would refuse, and a
 * product takes the time that a recorded rate makes of it. It counts descriptions that are not given back. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int compute, transposed, other_transposed, fast, modes[2]; const void *scales[2]; } Operation;
typedef struct { int type; uint64_t rows, columns; int64_t ld; } Layout;
typedef struct { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; } Heuristic;

static int held;
static int (*current)(void);
static void (*advance)(int, double);

static void told(void) {
    const char *path = getenv("STUB_LT_HELD");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d", held);
    fclose(file);
}
static void *made(size_t size) { held++; told(); return calloc(1, size); }
static int freed(void *what) { held--; told(); free(what); return 0; }

int cublasLtCreate(void **handle) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return 1;
    current = (int (*)(void))dlsym(driver, "stub_current");
    advance = (void (*)(int, double))dlsym(driver, "stub_advance");
    *handle = made(8);
    return 0;
}
int cublasLtDestroy(void *handle) { return freed(handle); }
int cublasLtMatmulDescCreate(Operation **operation, int compute, int scale) {
    if (compute != 68 || scale != 0) return 15;
    *operation = made(sizeof(Operation));
    (*operation)->compute = compute;
    return 0;
}
int cublasLtMatmulDescDestroy(Operation *operation) { return freed(operation); }
int cublasLtMatmulDescSetAttribute(Operation *operation, int which, const void *value, size_t size) {
    size_t expected = which == 17 || which == 18 ? sizeof(void *) : which == 25 ? 1 : 4;
    if (size != expected) return 7;
    switch (which) {
        case 3: operation->transposed = *(const int *)value; return 0;
        case 4: operation->other_transposed = *(const int *)value; return 0;
        case 17: case 18: operation->scales[which - 17] = *(void *const *)value; return 0;
        case 25: operation->fast = *(const int8_t *)value; return 0;
        case 31: case 32:
            if (getenv("STUB_OLD_LT")) return 7;
            operation->modes[which - 31] = *(const int *)value;
            return 0;
    }
    return 7;
}
int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    *layout = made(sizeof(Layout));
    (*layout)->type = type;
    (*layout)->rows = rows;
    (*layout)->columns = columns;
    (*layout)->ld = ld;
    return 0;
}
int cublasLtMatrixLayoutDestroy(Layout *layout) { return freed(layout); }
int cublasLtMatmulPreferenceCreate(void **preference) { *preference = made(8); return 0; }
int cublasLtMatmulPreferenceDestroy(void *preference) { return freed(preference); }
int cublasLtMatmulPreferenceSetAttribute(void *preference, int which, const void *value, size_t size) {
    return which == 1 && size == 8 && *(const uint64_t *)value == 32 << 20 ? 0 : 7;
}

static int possible(const Operation *operation, const Layout *a, const Layout *b, const Layout *c, const Layout *d) {
    int narrow = a->type == 33;
    if (a->type != b->type || (a->type != 28 && a->type != 33) || c->type != 14 || d->type != 14) return 0;
    if (!operation->transposed || operation->other_transposed) return 0;
    return narrow ? operation->modes[0] == 1 && operation->modes[1] == 1 && operation->scales[0] && operation->scales[1]
                  : operation->modes[0] == 0 && operation->modes[1] == 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, Operation *operation, Layout *a, Layout *b, Layout *c, Layout *d,
                                   void *preference, int wanted, Heuristic *found, int *count) {
    if (!handle || !preference || wanted < 1) return 7;
    *count = 0;
    if (!possible(operation, a, b, c, d)) return 15;
    memset(found, 0, sizeof *found);
    found->algorithm[3] = 77;
    *count = 1;
    return 0;
}
int cublasLtMatmul(void *handle, Operation *operation, const float *alpha, const void *a, Layout *a_layout,
                   const void *b, Layout *b_layout, const float *beta, const void *c, Layout *c_layout, void *d,
                   Layout *d_layout, const uint64_t *algorithm, void *workspace, size_t workspace_bytes, void *stream) {
    double n = (double)a_layout->columns;
    if (!possible(operation, a_layout, b_layout, c_layout, d_layout) || !a || !b || c != d || !d) return 7;
    if (algorithm[3] != 77 || !workspace || workspace_bytes != 32 << 20 || *alpha != 1 || *beta != 0) return 7;
    advance(current(), 2 * n * n * n / (a_layout->type == 33 ? 5600e12 : operation->fast ? 1500e12 : 1300e12));
    return 0;
}
