// Block-wide tile products: 128 threads make one 128 x 64 tile of A (m x k) times B (k x n).
//
// An engine owns the arithmetic. FmaEngine multiplies in float32 with fused multiply-adds and never rounds an operand;
// MmaEngine rounds both operands to bfloat16 and accumulates in float32 on the tensor cores. An operand is a small
// struct that hands out four neighbouring elements at a time, so that scaling, masking and conversion happen on the way
// into shared memory and never as a pass of their own. Every sum is taken in one fixed order: the same input gives the
// same bits on every run.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace shardsmith {

constexpr int THREADS = 128;
constexpr int TILE_M = 128;
constexpr int TILE_N = 64;

__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float widen(__half v) { return __half2float(v); }
__device__ __forceinline__ void narrow(float v, float& out) { out = v; }
__device__ __forceinline__ void narrow(float v, __nv_bfloat16& out) { out = __float2bfloat16_rn(v); }

/**
 * Four neighbouring elements from memory; those at or past {@code limit} read as 0. With VECTORS the row is aligned and
 * {@code limit} a multiple of four or past the end, so that one access serves all four.
 */
template <bool VECTORS, class T>
__device__ __forceinline__ void load4(float (&v)[4], const T* row, int first, int limit) {
    if constexpr (VECTORS) {
        if constexpr (sizeof(T) == 4) {
            float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (first < limit) q = *reinterpret_cast<const float4*>(row + first);
            v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
        } else {
            uint2 q = make_uint2(0u, 0u);
            if (first < limit) q = *reinterpret_cast<const uint2*>(row + first);
            T e[4];
            *reinterpret_cast<uint2*>(e) = q;
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = widen(e[i]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = first + i < limit ? widen(row[first + i]) : 0.0f;
    }
}

/** RUN neighbouring elements as one aligned access. */
template <class T, int RUN>
struct alignas(sizeof(T) * RUN) Run {
    T v[RUN];
};

/** Reads RUN neighbouring elements of a row from {@code first}; those at or past {@code limit} are left alone. */
template <bool VECTORS, int RUN, class T>
__device__ __forceinline__ void readRun(float (&v)[RUN], const T* row, int first, int limit) {
    if constexpr (VECTORS) {
        if (first < limit) {
            Run<T, RUN> q = *reinterpret_cast<const Run<T, RUN>*>(row + first);
#pragma unroll
            for (int i = 0; i < RUN; i++) v[i] = widen(q.v[i]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            if (first + i < limit) v[i] = widen(row[first + i]);
        }
    }
}

/** Writes RUN neighbouring elements of a row, but none at or past {@code limit}. */
template <bool VECTORS, int RUN, class T>
__device__ __forceinline__ void writeRun(const float (&v)[RUN], T* row, int first, int limit) {
    if constexpr (VECTORS) {
        if (first < limit) {
            Run<T, RUN> q;
#pragma unroll
            for (int i = 0; i < RUN; i++) narrow(v[i], q.v[i]);
            *reinterpret_cast<Run<T, RUN>*>(row + first) = q;
        }
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            if (first + i < limit) narrow(v[i], row[first + i]);
        }
    }
}

/** A matrix in memory whose rows run along k: element (k, m) is {@code base[m * stride + k]}. */
template <bool VECTORS, class T>
struct RowsAlongK {
    static constexpr bool K_CONTIGUOUS = true;
    const T* base;
    int stride;
    int limitK;
    int limitM;

    __device__ __forceinline__ void load(float (&v)[4], int k, int m) const {
        load4<VECTORS>(v, base + static_cast<long long>(m) * stride, k, m < limitM ? limitK : 0);
    }
};

/** A matrix in memory whose rows run along m: element (k, m) is {@code base[k * stride + m]}. */
template <bool VECTORS, class T>
struct RowsAcrossK {
    static constexpr bool K_CONTIGUOUS = false;
    const T* base;
    int stride;
    int limitK;
    int limitM;

    __device__ __forceinline__ void load(float (&v)[4], int k, int m) const {
        load4<VECTORS>(v, base + static_cast<long long>(k) * stride, m, k < limitK ? limitM : 0);
    }
};

/**
 * Float32 on the ordinary arithmetic units. A thread owns 8 x 8 elements; a warp owns 16 rows of the upper half of the
 * tile and the same 16 of the lower half, so that the warps of a causal product have nearly the same work.
 */
struct FmaEngine {
    static constexpr int SLAB = 16;
    static constexpr int ROWS = 8;
    static constexpr int COLUMNS = 8;
    static constexpr int RUN = 4;      // neighbouring columns of one thread
    static constexpr int ROW_RUN = 4;  // neighbouring rows of one thread
    static constexpr int LD_A = TILE_M + 4;
    static constexpr int LD_B = TILE_N + 4;
    using Quad = float4;

    struct Shared {
        float a[2][SLAB * LD_A];
        float b[2][SLAB * LD_B];
    };

    float acc[ROWS][COLUMNS];
    int warpRow;
    int laneRow;
    int laneColumn;

    __device__ __forceinline__ FmaEngine() {
        // Which warp owns which rows turns with the block: causal rows differ in work, and equal warp numbers of all
        // blocks of a multiprocessor share one scheduler.
        int warp = ((threadIdx.x >> 5) + blockIdx.x + blockIdx.y) & 3;
        int lane = threadIdx.x & 31;
        warpRow = warp * 16;
        laneRow = (lane >> 3) * 4;
        laneColumn = (lane & 7) * 4;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) acc[r][c] = 0.0f;
    }

    __device__ __forceinline__ int row(int r) const { return warpRow + laneRow + (r >> 2) * 64 + (r & 3); }
    __device__ __forceinline__ int column(int c) const { return laneColumn + (c >> 2) * 32 + (c & 3); }

    __device__ __forceinline__ static Quad pack(const float (&v)[4]) { return make_float4(v[0], v[1], v[2], v[3]); }

    template <bool K_CONTIGUOUS, int LD>
    __device__ __forceinline__ static void store(float* slab, Quad q, int k, int m) {
        if constexpr (K_CONTIGUOUS) {
            slab[k * LD + m] = q.x;
            slab[(k + 1) * LD + m] = q.y;
            slab[(k + 2) * LD + m] = q.z;
            slab[(k + 3) * LD + m] = q.w;
        } else {
            *reinterpret_cast<float4*>(slab + k * LD + m) = q;
        }
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static void storeA(Shared& s, int buffer, Quad q, int k, int m) {
        store<K_CONTIGUOUS, LD_A>(s.a[buffer], q, k, m);
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static void storeB(Shared& s, int buffer, Quad q, int k, int n) {
        store<K_CONTIGUOUS, LD_B>(s.b[buffer], q, k, n);
    }

    /** Without UPPER the warp's rows of the upper half are left out. */
    template <bool UPPER>
    __device__ __forceinline__ void multiply(const Shared& s, int buffer) {
        const float* a = s.a[buffer] + warpRow + laneRow;
        const float* b = s.b[buffer] + laneColumn;
#pragma unroll
        for (int k = 0; k < SLAB; k++) {
            float x[ROWS];
            float y[COLUMNS];
            if (UPPER) *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(a + k * LD_A);
            *reinterpret_cast<float4*>(x + 4) = *reinterpret_cast<const float4*>(a + k * LD_A + 64);
            *reinterpret_cast<float4*>(y) = *reinterpret_cast<const float4*>(b + k * LD_B);
            *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<const float4*>(b + k * LD_B + 32);
#pragma unroll
            for (int r = UPPER ? 0 : ROWS / 2; r < ROWS; r++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) acc[r][c] = fmaf(x[r], y[c], acc[r][c]);
        }
    }
};

/** Bfloat16 operands, float32 sums, on the tensor cores. Warps own rows as in FmaEngine. */
struct MmaEngine {
    static constexpr int SLAB = 32;
    static constexpr int ROWS = 4;
    static constexpr int COLUMNS = 16;
    static constexpr int RUN = 2;
    static constexpr int ROW_RUN = 1;
    static constexpr int LD = SLAB + 8;
    using Quad = uint2;

    struct Shared {
        __nv_bfloat16 a[2][TILE_M * LD];
        __nv_bfloat16 b[2][TILE_N * LD];
    };

    float acc[ROWS][COLUMNS];
    int warpRow;
    int lane;

    __device__ __forceinline__ MmaEngine() {
        warpRow = (((threadIdx.x >> 5) + blockIdx.x + blockIdx.y) & 3) * 16;
        lane = threadIdx.x & 31;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) acc[r][c] = 0.0f;
    }

    __device__ __forceinline__ int row(int r) const { return warpRow + (r >> 1) * 64 + (r & 1) * 8 + (lane >> 2); }
    __device__ __forceinline__ int column(int c) const { return (c >> 1) * 8 + (lane & 3) * 2 + (c & 1); }

    __device__ __forceinline__ static Quad pack(const float (&v)[4]) {
        __nv_bfloat162 lo = __floats2bfloat162_rn(v[0], v[1]);
        __nv_bfloat162 hi = __floats2bfloat162_rn(v[2], v[3]);
        return make_uint2(*reinterpret_cast<uint32_t*>(&lo), *reinterpret_cast<uint32_t*>(&hi));
    }

    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static void store(__nv_bfloat16* slab, Quad q, int k, int m) {
        if constexpr (K_CONTIGUOUS) {
            *reinterpret_cast<uint2*>(slab + m * LD + k) = q;
        } else {
            __nv_bfloat16 e[4];
            *reinterpret_cast<uint2*>(e) = q;
#pragma unroll
            for (int i = 0; i < 4; i++) slab[(m + i) * LD + k] = e[i];
        }
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static void storeA(Shared& s, int buffer, Quad q, int k, int m) {
        store<K_CONTIGUOUS>(s.a[buffer], q, k, m);
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static void storeB(Shared& s, int buffer, Quad q, int k, int n) {
        store<K_CONTIGUOUS>(s.b[buffer], q, k, n);
    }

    __device__ __forceinline__ static void loadMatrix(uint32_t (&d)[4], const __nv_bfloat16* from) {
        uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(from));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(address));
    }

    template <bool UPPER>
    __device__ __forceinline__ void multiply(const Shared& s, int buffer) {
#pragma unroll
        for (int k = 0; k < SLAB; k += 16) {
            uint32_t a[2][4];
#pragma unroll
            for (int i = UPPER ? 0 : 1; i < 2; i++) {
                loadMatrix(a[i], s.a[buffer] + (warpRow + i * 64 + (lane & 15)) * LD + k + (lane >> 4) * 8);
            }
#pragma unroll
            for (int n = 0; n < TILE_N; n += 16) {
                uint32_t b[4];
                loadMatrix(b, s.b[buffer] + (n + (lane >> 4) * 8 + (lane & 7)) * LD + k + ((lane >> 3) & 1) * 8);
#pragma unroll
                for (int i = UPPER ? 0 : 1; i < 2; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        int c = (n / 8 + j) * 2;
                        asm volatile(
                            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                            "{%8,%9}, {%0,%1,%2,%3};"
                            : "+f"(acc[2 * i][c]), "+f"(acc[2 * i][c + 1]), "+f"(acc[2 * i + 1][c]),
                              "+f"(acc[2 * i + 1][c + 1])
                            : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[2 * j]), "r"(b[2 * j + 1]));
                    }
            }
        }
    }
};

/** One slab of an operand on its way: a thread's share as registers, read from memory first and stored later. */
template <class E, int EXTENT, bool IS_A>
struct Stage {
    static constexpr int QUADS = E::SLAB * EXTENT / 4 / THREADS;
    typename E::Quad held[QUADS];

    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static int kOf(int q) {
        return K_CONTIGUOUS ? q % (E::SLAB / 4) * 4 : q / (EXTENT / 4);
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ static int mOf(int q) {
        return K_CONTIGUOUS ? q / (E::SLAB / 4) : q % (EXTENT / 4) * 4;
    }
    template <class Operand>
    __device__ __forceinline__ void fetch(const Operand& o, int k) {
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            int q = i * THREADS + threadIdx.x;
            float v[4];
            o.load(v, k + kOf<Operand::K_CONTIGUOUS>(q), mOf<Operand::K_CONTIGUOUS>(q));
            held[i] = E::pack(v);
        }
    }
    template <bool K_CONTIGUOUS>
    __device__ __forceinline__ void store(typename E::Shared& s, int buffer) const {
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            int q = i * THREADS + threadIdx.x;
            int k = kOf<K_CONTIGUOUS>(q);
            int m = mOf<K_CONTIGUOUS>(q);
            if constexpr (IS_A) {
                E::template storeA<K_CONTIGUOUS>(s, buffer, held[i], k, m);
            } else {
                E::template storeB<K_CONTIGUOUS>(s, buffer, held[i], k, m);
            }
        }
    }
};

/** Adds A times B over k in [0, depth) to the engine's tile. Operands read 0 past their own limits. */
template <class E, class A, class B>
__device__ __forceinline__ void accumulate(E& engine, typename E::Shared& shared, const A& a, const B& b, int depth) {
    Stage<E, TILE_M, true> nextA;
    Stage<E, TILE_N, false> nextB;
    nextA.fetch(a, 0);
    nextB.fetch(b, 0);
    nextA.template store<A::K_CONTIGUOUS>(shared, 0);
    nextB.template store<B::K_CONTIGUOUS>(shared, 0);
    __syncthreads();
    int buffer = 0;
#pragma unroll 1
    for (int k = 0; k < depth; k += E::SLAB) {
        bool more = k + E::SLAB < depth;
        if (more) {
            nextA.fetch(a, k + E::SLAB);
            nextB.fetch(b, k + E::SLAB);
        }
        engine.template multiply<true>(shared, buffer);
        if (more) {
            nextA.template store<A::K_CONTIGUOUS>(shared, buffer ^ 1);
            nextB.template store<B::K_CONTIGUOUS>(shared, buffer ^ 1);
        }
        __syncthreads();
        buffer ^= 1;
    }
}

}  // namespace shardsmith
