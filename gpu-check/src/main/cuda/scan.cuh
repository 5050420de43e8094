// The state space dual (SSD) scan of Mamba-2 in chunks of 128 tokens, any head dimension, state size and length.
//
//   scan_decay   dt = clamp(softplus(raw + bias)), s = running sum of dt * A inside each chunk, times log2(e)
//   scan_scores  CB[i, j] = C_i . B_j                                        per chunk and group
//   scan_states  S = sum_j exp(s_last - s_j) dt_j  B_j (x) x_j               per chunk and head
//   scan_carry   H <- exp(s_last) H + S, the state that enters each chunk
//   scan_output  y_i = exp(s_i) C_i . H + sum_{j<=i} CB[i, j] exp(s_i - s_j) dt_j x_j + D x_i, times silu(z_i)
//
// The running sum is taken in double precision and kept as two floats, high and low part: the difference of two large
// sums then still has full float precision, which a plain float sum loses as |s| grows. It is kept times log2(e), ready
// for the hardware's power of two.
//
// Each kernel comes twice: for rows that may be read in aligned groups of four, and ("any") for all others.
#pragma once

#include "tile.cuh"

namespace shardsmith {

constexpr int CHUNK = TILE_M;

constexpr double LOG2E = 1.4426950408889634;
constexpr double LN2 = 0.69314718055994531;

enum SkipMode { SKIP_NONE = 0, SKIP_PER_HEAD = 1, SKIP_PER_CHANNEL = 2 };

/** Sizes and strides (elements) of one scan; all fields are 32 bits so that the host can pass a plain int array. */
struct ScanShape {
    int batch;
    int length;      // tokens of this window
    int heads;
    int headDim;
    int groups;
    int state;
    int chunks;      // ceil(length / CHUNK)
    int strideX;     // between tokens
    int strideB;
    int strideC;
    int strideDt;
    int strideZ;
    int strideY;
    int skipMode;
    int softplus;
    float dtMin;
    float dtMax;
    int carriedId;   // sequence id of the state that enters, or -1: that of the token before this window
    int tokenStride; // tokens between two batch entries of x, B, C, dt, z, y and the ids
};

/** softplus as the framework defines it: the identity above 20. */
__device__ __forceinline__ double softplus(double v) { return v > 20.0 ? v : log1p(exp(v)); }

template <class T>
__device__ __forceinline__ void scanDecay(const T* dt, const float* aLog, const float* bias, float* step, float2* sum,
                                          const ScanShape& s) {
    __shared__ double warpTotal[CHUNK / 32];
    int token = blockIdx.x * CHUNK + threadIdx.x;
    int head = blockIdx.y;
    int batch = blockIdx.z;
    double d = 0.0;
    if (token < s.length) {
        d = widen(dt[(static_cast<long long>(batch) * s.tokenStride + token) * s.strideDt + head]);
        if (bias != nullptr) d += bias[head];
        if (s.softplus) d = softplus(d);
        d = fmin(fmax(d, static_cast<double>(s.dtMin)), static_cast<double>(s.dtMax));
    }
    double total = d * -exp(static_cast<double>(aLog[head])) * LOG2E;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        double before = __shfl_up_sync(0xffffffffu, total, reach);
        if (lane >= reach) total += before;
    }
    if (lane == 31) warpTotal[warp] = total;
    __syncthreads();
    for (int w = 0; w < warp; w++) total += warpTotal[w];
    long long at = ((static_cast<long long>(batch) * s.heads + head) * s.chunks + blockIdx.x) * CHUNK + threadIdx.x;
    float high = static_cast<float>(total);
    step[at] = static_cast<float>(d);
    sum[at] = make_float2(high, static_cast<float>(total - high));
}

/** The sequence id that the state entering chunk 0 belongs to. */
__device__ __forceinline__ int enteringId(const int* ids, int batch, const ScanShape& s) {
    if (ids == nullptr || s.carriedId >= 0) return s.carriedId;
    return ids[static_cast<long long>(batch) * s.tokenStride - 1];
}

__device__ __forceinline__ float exp2Fast(float v) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
/** The decay from one token to a later one, from their split sums. */
__device__ __forceinline__ float decayBetween(float2 later, float2 earlier) {
    return exp2Fast((later.x - earlier.x) + (later.y - earlier.y));
}
/** The decay from the start of the chunk. */
__device__ __forceinline__ float decayTo(float2 sum) {
    return exp2f(sum.x) * fmaf(sum.y, static_cast<float>(LN2), 1.0f);
}

template <bool VECTORS, class E, class T>
__device__ __forceinline__ void scanScores(const T* b, const T* c, float* scores, const ScanShape& s) {
    __shared__ typename E::Shared shared;
    int chunk = blockIdx.y / s.groups;
    int group = blockIdx.y % s.groups;
    int first = chunk * CHUNK;
    int column = blockIdx.x * TILE_N;
    long long token = static_cast<long long>(blockIdx.z) * s.tokenStride + first;
    int valid = min(CHUNK, s.length - first);
    RowsAlongK<VECTORS, T> rows{c + token * s.strideC + group * s.state, s.strideC, s.state, valid};
    RowsAlongK<VECTORS, T> columns{b + (token + column) * s.strideB + group * s.state, s.strideB, s.state,
                                   valid - column};
    E engine;
    accumulate(engine, shared, rows, columns, s.state);
    float* out = scores
                 + ((static_cast<long long>(blockIdx.z) * s.chunks + chunk) * s.groups + group) * (CHUNK * CHUNK);
    // Columns lie one after the other: the rows of a column are neighbours.
#pragma unroll
    for (int k = 0; k < E::COLUMNS; k++) {
        float* to = out + (column + engine.column(k)) * CHUNK;
#pragma unroll
        for (int r = 0; r < E::ROWS; r += E::ROW_RUN) {
            float v[E::ROW_RUN];
#pragma unroll
            for (int e = 0; e < E::ROW_RUN; e++) v[e] = engine.acc[r + e][k];
            writeRun<true>(v, to, engine.row(r), CHUNK);
        }
    }
}

/** x of one head, tokens along k, each token scaled by its own weight as soon as it is there. */
template <bool VECTORS, class T>
struct WeightedTokens {
    static constexpr bool K_CONTIGUOUS = false;
    RowsAcrossK<VECTORS, T> x;
    const float* weight;

    __device__ __forceinline__ float4 fetch(int k, int m) const {
        float v[4];
        x.finish(v, x.fetch(k, m), k, m);
        float w = weight[k];
        return make_float4(v[0] * w, v[1] * w, v[2] * w, v[3] * w);
    }
    __device__ __forceinline__ void finish(float (&v)[4], float4 scaled, int, int) const {
        v[0] = scaled.x, v[1] = scaled.y, v[2] = scaled.z, v[3] = scaled.w;
    }
};

template <bool VECTORS, class E, class T>
__device__ __forceinline__ void scanStates(const T* x, const T* b, const float* step, const float2* sum,
                                           const int* ids, float* states, const ScanShape& s) {
    __shared__ typename E::Shared shared;
    __shared__ float weight[CHUNK];
    int chunk = blockIdx.y / s.heads;
    int head = blockIdx.y % s.heads;
    int group = head / (s.heads / s.groups);
    int columnTiles = (s.headDim + TILE_N - 1) / TILE_N;
    int n = blockIdx.x / columnTiles * TILE_M;
    int p = blockIdx.x % columnTiles * TILE_N;
    int first = chunk * CHUNK;
    int valid = min(CHUNK, s.length - first);
    long long token = static_cast<long long>(blockIdx.z) * s.tokenStride + first;
    long long scalars = ((static_cast<long long>(blockIdx.z) * s.heads + head) * s.chunks + chunk) * CHUNK;
    for (int j = threadIdx.x; j < CHUNK; j += E::THREADS) {
        float w = decayBetween(sum[scalars + CHUNK - 1], sum[scalars + j]) * step[scalars + j];
        if (ids != nullptr) {
            int last = ids[token + valid - 1];
            if (j >= valid || ids[token + j] != last || last < 0) w = 0.0f;
        }
        weight[j] = w;
    }
    __syncthreads();
    RowsAcrossK<VECTORS, T> rows{b + token * s.strideB + group * s.state + n, s.strideB, valid, s.state - n};
    WeightedTokens<VECTORS, T> columns{
        {x + token * s.strideX + head * s.headDim + p, s.strideX, valid, s.headDim - p}, weight};
    E engine;
    accumulate(engine, shared, rows, columns, valid);
    float* out = states
                 + ((static_cast<long long>(blockIdx.z) * s.heads + head) * s.chunks + chunk)
                       * (static_cast<long long>(s.state) * s.headDim);
#pragma unroll
    for (int r = 0; r < E::ROWS; r++) {
        int row = n + engine.row(r);
        if (row >= s.state) continue;
#pragma unroll
        for (int k = 0; k < E::COLUMNS; k += E::RUN) {
            float v[E::RUN];
#pragma unroll
            for (int e = 0; e < E::RUN; e++) v[e] = engine.acc[r][k + e];
            writeRun<VECTORS>(v, out + static_cast<long long>(row) * s.headDim, p + engine.column(k), s.headDim);
        }
    }
}

/**
 * Turns chunk states into the state that enters each chunk, in place; writes the state after the last one. A thread
 * carries RUN neighbouring elements through all chunks of a head, which lie one after the other in memory. It asks for
 * many chunks at once: nothing but the bytes in flight limits it.
 */
template <int RUN>
__device__ __forceinline__ void scanCarry(float* states, const float2* sum, const int* ids, const float* initial,
                                          float* final, const ScanShape& s) {
    constexpr int AHEAD = 16;
    int perHead = s.state * s.headDim;
    int element = (blockIdx.x * blockDim.x + threadIdx.x) * RUN;
    if (element >= perHead) return;
    int batch = blockIdx.z;
    long long head = static_cast<long long>(batch) * s.heads + blockIdx.y;
    long long outside = head * perHead + static_cast<long long>(element % s.headDim) * s.state + element / s.headDim;
    float carried[RUN];
#pragma unroll
    for (int e = 0; e < RUN; e++) carried[e] = initial != nullptr ? initial[outside + e * s.state] : 0.0f;
    int carriedId = enteringId(ids, batch, s);
    const float2* last = sum + head * s.chunks * CHUNK + CHUNK - 1;
    float* at = states + head * s.chunks * perHead + element;
    for (int chunk = 0; chunk < s.chunks; chunk += AHEAD) {
        Run<float, RUN> own[AHEAD];
        float decay[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            bool inside = chunk + i < s.chunks;
            if (inside) own[i] = *reinterpret_cast<const Run<float, RUN>*>(at + static_cast<long long>(i) * perHead);
            decay[i] = inside ? decayTo(last[static_cast<long long>(chunk + i) * CHUNK]) : 0.0f;
            if (ids != nullptr && inside) {
                int end = min((chunk + i + 1) * CHUNK, s.length) - 1;
                int id = ids[static_cast<long long>(batch) * s.tokenStride + end];
                if (id != carriedId) decay[i] = 0.0f;
                carriedId = id;
            }
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (chunk + i < s.chunks) {
                writeRun<true>(carried, at + static_cast<long long>(i) * perHead, 0, RUN);
#pragma unroll
                for (int e = 0; e < RUN; e++) carried[e] = fmaf(decay[i], carried[e], own[i].v[e]);
            }
        }
        at += static_cast<long long>(AHEAD) * perHead;
    }
    if (final != nullptr) {
#pragma unroll
        for (int e = 0; e < RUN; e++) final[outside + e * s.state] = carried[e];
    }
}

/** 2^v for the low part v of a running sum, which is small beside 1. */
__device__ __forceinline__ float exp2Low(float v) {
    float t = v * static_cast<float>(LN2);
    return fmaf(t, fmaf(t, fmaf(t, 1.0f / 6.0f, 0.5f), 1.0f), 1.0f);
}

/**
 * M[i, j] = CB[i, j] 2^(high_i - high_j) w_j below the diagonal and on it, 0 above it and between sequences; w_j is the step
 * with the low part of the sum, or 1 where x carries it. The low part of row i is left to the end of all sums. A thread
 * always asks for the same four rows, so it keeps what it needs of them.
 */
template <bool WEIGHTED>
struct MaskedScores {
    static constexpr bool K_CONTIGUOUS = false;
    const float* scores;
    const float* high;
    const float* weight;
    const int* ids;   // null when nothing is packed
    int valid;
    float own[4];
    int ownId[4];

    __device__ __forceinline__ MaskedScores(const float* scores, const float* high, const float* weight, const int* ids,
                                            int valid)
        : scores(scores), high(high), weight(weight), ids(ids), valid(valid) {
        int m = threadIdx.x % (TILE_M / 4) * 4;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            own[i] = high[m + i];
            ownId[i] = ids != nullptr ? ids[m + i] : 0;
        }
    }

    __device__ __forceinline__ float4 fetch(int k, int m) const {
        return raw4<true>(scores + k * CHUNK, m, k < valid && k < m + 4 ? CHUNK : 0);
    }
    __device__ __forceinline__ void finish(float (&v)[4], float4 raw, int k, int m) const {
        widen4<true, float>(v, raw);
        float from = high[k];
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = k <= m + i ? v[i] * exp2Fast(own[i] - from) : 0.0f;
        if constexpr (WEIGHTED) {
            float w = weight[k];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] *= w;
        }
        if (ids != nullptr) {
            int id = ids[k];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = ownId[i] == id ? v[i] : 0.0f;
        }
    }
};

/** The second operand of M x: x with the weights of its tokens, or x as it is. */
template <bool WEIGHTED, bool VECTORS, class T>
struct Tokens {
    static constexpr bool K_CONTIGUOUS = false;
    RowsAcrossK<VECTORS, T> x;
    const float* weight;

    __device__ __forceinline__ float4 fetch(int k, int m) const { return x.fetch(k, m); }
    __device__ __forceinline__ void finish(float (&v)[4], float4 raw, int k, int m) const {
        x.finish(v, raw, k, m);
        if constexpr (WEIGHTED) {
            float w = weight[k];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] *= w;
        }
    }
};

template <bool VECTORS, class E, class T>
__device__ __forceinline__ void scanOutput(const T* x, const T* c, const float* scores, const float* step,
                                           const float2* sum, const int* ids, const float* states, bool hasStates,
                                           const float* skip, const T* z, T* y, const ScanShape& s) {
    __shared__ typename E::Shared shared;
    __shared__ float high[CHUNK];
    __shared__ float low[CHUNK];     // 2^ the low parts
    __shared__ float weight[CHUNK];
    __shared__ int owner[CHUNK];
    int chunk = blockIdx.y / s.heads;
    int head = blockIdx.y % s.heads;
    int group = head / (s.heads / s.groups);
    int p = blockIdx.x * TILE_N;
    int first = chunk * CHUNK;
    int valid = min(CHUNK, s.length - first);
    long long token = static_cast<long long>(blockIdx.z) * s.tokenStride + first;
    long long scalars = ((static_cast<long long>(blockIdx.z) * s.heads + head) * s.chunks + chunk) * CHUNK;
    for (int j = threadIdx.x; j < CHUNK; j += E::THREADS) {
        float2 own = sum[scalars + j];
        high[j] = own.x;
        low[j] = exp2Low(own.y);
        weight[j] = step[scalars + j] * exp2Low(-own.y);
        owner[j] = ids != nullptr && j < valid ? ids[token + j] : 0;
    }
    int carriedId = chunk == 0 || ids == nullptr ? enteringId(ids, blockIdx.z, s) : ids[token - 1];
    __syncthreads();

    // Two products, one after the other, through one loop: first C H over the state, then M x over the tokens.
    RowsAlongK<VECTORS, T> rowsC{c + token * s.strideC + group * s.state, s.strideC, s.state, valid};
    RowsAcrossK<VECTORS, float> columnsH{states
                                             + ((static_cast<long long>(blockIdx.z) * s.heads + head) * s.chunks + chunk)
                                                   * (static_cast<long long>(s.state) * s.headDim)
                                             + p,
                                         s.headDim, s.state, s.headDim - p};
    MaskedScores<!E::EXACT> rowsM(scores
                           + ((static_cast<long long>(blockIdx.z) * s.chunks + chunk) * s.groups + group)
                                 * (CHUNK * CHUNK),
                       high, weight, ids != nullptr ? owner : nullptr, valid);
    Tokens<E::EXACT, VECTORS, T> columnsX{
        {x + token * s.strideX + head * s.headDim + p, s.strideX, valid, s.headDim - p}, weight};
    int slabsH = chunk > 0 || hasStates ? (s.state + E::SLAB - 1) / E::SLAB : 0;
    int slabs = slabsH + (valid + E::SLAB - 1) / E::SLAB;
    E engine;
    Stage<E, TILE_M, true> nextA;
    Stage<E, TILE_N, false> nextB;
    auto fetch = [&](int slab) {
        if (slab < slabsH) {
            nextA.fetch(rowsC, slab * E::SLAB);
            nextB.fetch(columnsH, slab * E::SLAB);
        } else {
            nextA.fetch(rowsM, (slab - slabsH) * E::SLAB);
            nextB.fetch(columnsX, (slab - slabsH) * E::SLAB);
        }
    };
    auto store = [&](int slab, int buffer) {
        if (slab < slabsH) {
            nextA.store(rowsC, slab * E::SLAB, shared, buffer);
            nextB.store(columnsH, slab * E::SLAB, shared, buffer);
        } else {
            nextA.store(rowsM, (slab - slabsH) * E::SLAB, shared, buffer);
            nextB.store(columnsX, (slab - slabsH) * E::SLAB, shared, buffer);
        }
    };
    fetch(0);
    store(0, 0);
    __syncthreads();
#pragma unroll 1
    for (int slab = 0; slab < slabs; slab++) {
        bool more = slab + 1 < slabs;
        if (more) fetch(slab + 1);
        // Columns past a row lie above the diagonal; products over the state have none of those.
        multiplyFrom(engine, shared, slab & 1, (slab - slabsH) * E::SLAB);
        if (slab + 1 == slabsH) {
#pragma unroll
            for (int r = 0; r < E::ROWS; r++) {
                int i = engine.row(r);
                float decay = owner[i] == carriedId || ids == nullptr ? exp2f(high[i]) : 0.0f;
#pragma unroll
                for (int k = 0; k < E::COLUMNS; k++) engine.acc[r][k] *= decay;
            }
        }
        if (more) store(slab + 1, (slab + 1) & 1);
        __syncthreads();
    }
    float skipHead = s.skipMode == SKIP_PER_HEAD ? skip[head] : 0.0f;
    const T* xHead = x + token * s.strideX + head * s.headDim;
    const T* zHead = z + token * s.strideZ + head * s.headDim;
    T* yHead = y + token * s.strideY + head * s.headDim;
#pragma unroll
    for (int r = 0; r < E::ROWS; r++) {
        int i = engine.row(r);
        if (i >= valid) continue;
        float correction = low[i];
#pragma unroll
        for (int k = 0; k < E::COLUMNS; k += E::RUN) {
            int column = p + engine.column(k);
            float v[E::RUN];
            float d[E::RUN];
            float own[E::RUN] = {};
#pragma unroll
            for (int e = 0; e < E::RUN; e++) d[e] = skipHead;
            if (s.skipMode == SKIP_PER_CHANNEL) readRun<VECTORS>(d, skip + head * s.headDim, column, s.headDim);
            readRun<VECTORS>(own, xHead + static_cast<long long>(i) * s.strideX, column, s.headDim);
#pragma unroll
            for (int e = 0; e < E::RUN; e++) v[e] = fmaf(d[e], own[e], engine.acc[r][k + e] * correction);
            if (z != nullptr) {
                readRun<VECTORS>(own, zHead + static_cast<long long>(i) * s.strideZ, column, s.headDim);
#pragma unroll
                for (int e = 0; e < E::RUN; e++) v[e] *= own[e] / (1.0f + expf(-own[e]));
            }
            writeRun<VECTORS>(v, yHead + static_cast<long long>(i) * s.strideY, column, s.headDim);
        }
    }
}

}  // namespace shardsmith

#define SHARDSMITH_SCAN_DECAY(SUFFIX, TYPE)                                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                                                 \
        scan_decay_##SUFFIX(const TYPE* dt, const float* aLog, const float* bias, float* step, float2* sum,           \
                            const shardsmith::ScanShape s) {                                                          \
        shardsmith::scanDecay(dt, aLog, bias, step, sum, s);                                                          \
    }

#define SHARDSMITH_SCAN_KERNELS(SUFFIX, VECTORS, ENGINE, OUTPUT_ENGINE, TYPE, BLOCKS, STATES_BLOCKS)                  \
    extern "C" __global__ void __launch_bounds__(shardsmith::ENGINE::THREADS, BLOCKS)                                 \
        scan_scores_##SUFFIX(const TYPE* b, const TYPE* c, float* scores, const shardsmith::ScanShape s) {            \
        shardsmith::scanScores<VECTORS, shardsmith::ENGINE>(b, c, scores, s);                                         \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(shardsmith::ENGINE::THREADS, STATES_BLOCKS)                          \
        scan_states_##SUFFIX(const TYPE* x, const TYPE* b, const float* step, const float2* sum, const int* ids,      \
                             float* states, const shardsmith::ScanShape s) {                                          \
        shardsmith::scanStates<VECTORS, shardsmith::ENGINE>(x, b, step, sum, ids, states, s);                         \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(shardsmith::OUTPUT_ENGINE::THREADS, BLOCKS)                          \
        scan_output_##SUFFIX(const TYPE* x, const TYPE* c, const float* scores, const float* step, const float2* sum, \
                             const int* ids, const float* states, int hasStates, const float* skip, const TYPE* z,    \
                             TYPE* y, const shardsmith::ScanShape s) {                                                \
        shardsmith::scanOutput<VECTORS, shardsmith::OUTPUT_ENGINE>(x, c, scores, step, sum, ids, states, hasStates != 0,     \
                                                            skip, z, y, s);                                           \
    }

SHARDSMITH_SCAN_DECAY(f32, float)
SHARDSMITH_SCAN_DECAY(bf16, __nv_bfloat16)
SHARDSMITH_SCAN_KERNELS(f32, true, FmaEngine<16>, FmaEngine<8>, float, 3, 4)
SHARDSMITH_SCAN_KERNELS(f32_any, false, FmaEngine<16>, FmaEngine<8>, float, 2, 2)
SHARDSMITH_SCAN_KERNELS(bf16, true, MmaEngine, MmaEngine, __nv_bfloat16, 2, 2)
SHARDSMITH_SCAN_KERNELS(bf16_any, false, MmaEngine, MmaEngine, __nv_bfloat16, 2, 2)

#define SHARDSMITH_SCAN_CARRY(NAME, RUN)                                                                              \
    extern "C" __global__ void __launch_bounds__(256) NAME(float* states, const float2* sum, const int* ids,          \
                                                           const float* initial, float* final,                        \
                                                           const shardsmith::ScanShape s) {                           \
        shardsmith::scanCarry<RUN>(states, sum, ids, initial, final, s);                                              \
    }

SHARDSMITH_SCAN_CARRY(scan_carry, 4)
SHARDSMITH_SCAN_CARRY(scan_carry_any, 1)
