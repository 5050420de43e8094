// Comparison of two float32 arrays that stay on the card: each block reports one record, the host takes the worst.
#pragma once

#include "layer.cuh"

namespace shardsmith {

/** What one block saw: 32 bytes, read by the host field by field. */
struct Difference {
    float maxAbsolute;    // NaN if exactly one of the two was NaN somewhere
    float maxRelative;    // |a - b| / max(|a|, |b|)
    uint32_t maxUlp;      // float32 steps between the two
    uint32_t reserved;
    long long beyond;     // elements whose difference is larger than their bound, or NaN on one side only
    long long worst;      // index of the largest absolute difference, the first of equals
};

/** Floats in order as integers: neighbours differ by one, and -0 equals +0. */
__device__ __forceinline__ long long ordered(float v) {
    int bits = __float_as_int(v);
    return bits < 0 ? -static_cast<long long>(bits & 0x7fffffff) : bits;
}

__device__ __forceinline__ bool worse(float a, long long at, float b, long long bt) {
    bool brokenA = a != a;
    bool brokenB = b != b;
    if (brokenA != brokenB) return brokenA;
    return !brokenA && a != b ? a > b : at < bt;
}

__device__ __forceinline__ void merge(Difference& d, const Difference& o) {
    if (worse(o.maxAbsolute, o.worst, d.maxAbsolute, d.worst)) {
        d.maxAbsolute = o.maxAbsolute;
        d.worst = o.worst;
    }
    if (o.maxRelative != o.maxRelative || o.maxRelative > d.maxRelative) d.maxRelative = o.maxRelative;
    d.maxUlp = max(d.maxUlp, o.maxUlp);
    d.beyond += o.beyond;
}

}  // namespace shardsmith

/** bound: one value per element, or null for the one {@code limit}. */
extern "C" __global__ void __launch_bounds__(256)
    compare_arrays(const float* a, const float* b, const float* bound, float limit, long long length,
                   shardsmith::Difference* out) {
    using namespace shardsmith;
    __shared__ Difference all[256];
    Difference d{0.0f, 0.0f, 0u, 0u, 0, 0x7fffffffffffffffll};
    eachElement(
        length, [=](long long i) { return make_float2(a[i], b[i]); },
        [&](long long i, float2 pair) {
            float x = pair.x;
            float y = pair.y;
            // Most elements are equal; the first of them is the worst as long as all are.
            if (__float_as_int(x) == __float_as_int(y)) {
                if (i < d.worst && d.maxAbsolute == 0.0f) d.worst = i;
                return;
            }
            bool nanX = x != x;
            bool nanY = y != y;
            Difference own{0.0f, 0.0f, 0u, 0u, 0, i};
            if (nanX || nanY) {
                if (nanX != nanY) {
                    own.maxAbsolute = own.maxRelative = __int_as_float(0x7fffffff);
                    own.maxUlp = 0xffffffffu;
                    own.beyond = 1;
                }
            } else if (x != y) {
                own.maxAbsolute = fabsf(x - y);
                own.maxRelative = isinf(own.maxAbsolute) ? INFINITY : own.maxAbsolute / fmaxf(fabsf(x), fabsf(y));
                long long steps = ordered(x) - ordered(y);
                own.maxUlp = static_cast<uint32_t>(steps < 0 ? -steps : steps);
                own.beyond = own.maxAbsolute <= (bound != nullptr ? bound[i] : limit) ? 0 : 1;
            }
            merge(d, own);
        });
    all[threadIdx.x] = d;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) merge(all[threadIdx.x], all[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = all[0];
}
