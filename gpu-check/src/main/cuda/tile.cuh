// Block-wide tile products: the threads of a block make one 128 x 64 tile of A (m x k) times B (k x n).
//
// An engine owns the arithmetic. FmaEngine multiplies in float32 with fused multiply-adds and never rounds an operand;
// MmaEngine rounds both operands to bfloat16 and accumulates in float32 on the tensor cores. A warp of either owns groups of
// 16 rows that lie GROUP_STEP apart, so that the warps of a causal product have nearly the same work. An operand is a small
// struct that hands out four neighbouring elements at a time, so that scaling, masking and conversion happen on the way
// into shared memory and never as a pass of their own. Every sum is taken in one fixed order: the same input gives the
// same bits on every run.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace shardsmith {

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

/**
 * The same four elements, not looked at yet: whoever waits for them is not held up before {@link #widen4}. With VECTORS
 * elements of two bytes stay as they are stored, in the first two components.
 */
template <bool VECTORS, class T>
__device__ __forceinline__ float4 raw4(const T* row, int first, int limit) {
    if constexpr (VECTORS && sizeof(T) == 2) {
        uint2 q = make_uint2(0u, 0u);
        if (first < limit) q = *reinterpret_cast<const uint2*>(row + first);
        return make_float4(__uint_as_float(q.x), __uint_as_float(q.y), 0.0f, 0.0f);
    } else {
        float v[4];
        load4<VECTORS>(v, row, first, limit);
        return make_float4(v[0], v[1], v[2], v[3]);
    }
}

template <bool VECTORS, class T>
__device__ __forceinline__ void widen4(float (&v)[4], float4 raw) {
    if constexpr (VECTORS && sizeof(T) == 2) {
        T e[4];
        *reinterpret_cast<uint2*>(e) = make_uint2(__float_as_uint(raw.x), __float_as_uint(raw.y));
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = widen(e[i]);
    } else {
        v[0] = raw.x, v[1] = raw.y, v[2] = raw.z, v[3] = raw.w;
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

    __device__ __forceinline__ float4 fetch(int k, int m) const {
        return raw4<VECTORS>(base + static_cast<long long>(m) * stride, k, m < limitM ? limitK : 0);
    }
    __device__ __forceinline__ void finish(float (&v)[4], float4 raw, int, int) const { widen4<VECTORS, T>(v, raw); }
};

/** A matrix in memory whose rows run along m: element (k, m) is {@code base[k * stride + m]}. */
template <bool VECTORS, class T>
struct RowsAcrossK {
    static constexpr bool K_CONTIGUOUS = false;
    const T* base;
    int stride;
    int limitK;
    int limitM;

    __device__ __forceinline__ float4 fetch(int k, int m) const {
        return raw4<VECTORS>(base + static_cast<long long>(k) * stride, m, k < limitK ? limitM : 0);
    }
    __device__ __forceinline__ void finish(float (&v)[4], float4 raw, int, int) const { widen4<VECTORS, T>(v, raw); }
};

/**
 * Float32 on the ordinary arithmetic units. A thread owns 8 x 8 elements.
 *
 * @tparam DEPTH k of one slab: 8 where the code around the product is long and the instruction cache decides, else 16
 */
template <int DEPTH>
struct FmaEngine {
    static constexpr int THREADS = 128;
    static constexpr int SLAB = DEPTH;
    static constexpr int ROWS = 8;
    static constexpr int COLUMNS = 8;
    static constexpr int RUN = 4;      // neighbouring columns of one thread
    static constexpr int ROW_RUN = 4;  // neighbouring rows of one thread
    static constexpr int GROUPS = 2;
    static constexpr int GROUP_STEP = 64;
    /** Whether factors of a token may go to either operand: nothing is rounded on the way. */
    static constexpr bool EXACT = true;
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
        warpRow = (((threadIdx.x >> 5) + blockIdx.x + blockIdx.y) & 3) * 16;
        int lane = threadIdx.x & 31;
        laneRow = (lane >> 3) * 4;
        laneColumn = (lane & 7) * 4;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) acc[r][c] = 0.0f;
    }

    __device__ __forceinline__ int row(int r) const { return warpRow + laneRow + (r >> 2) * GROUP_STEP + (r & 3); }
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

    /** The warp's groups of rows before FIRST are left out. */
    template <int FIRST>
    __device__ __forceinline__ void multiply(const Shared& s, int buffer) {
        const float* a = s.a[buffer] + warpRow + laneRow;
        const float* b = s.b[buffer] + laneColumn;
#pragma unroll
        for (int k = 0; k < SLAB; k++) {
            float x[ROWS];
            float y[COLUMNS];
#pragma unroll
            for (int g = FIRST; g < GROUPS; g++) {
                *reinterpret_cast<float4*>(x + 4 * g) = *reinterpret_cast<const float4*>(a + k * LD_A + g * GROUP_STEP);
            }
            *reinterpret_cast<float4*>(y) = *reinterpret_cast<const float4*>(b + k * LD_B);
            *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<const float4*>(b + k * LD_B + 32);
#pragma unroll
            for (int r = 4 * FIRST; r < ROWS; r++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) acc[r][c] = fmaf(x[r], y[c], acc[r][c]);
        }
    }
};

/** Bfloat16 operands, float32 sums, on the tensor cores. */
struct MmaEngine {
    static constexpr int THREADS = 128;
    static constexpr int SLAB = 32;
    static constexpr int ROWS = 4;
    static constexpr int COLUMNS = 16;
    static constexpr int RUN = 2;
    static constexpr int ROW_RUN = 1;
    static constexpr int GROUPS = 2;
    static constexpr int GROUP_STEP = 64;
    static constexpr bool EXACT = false;
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

    template <int FIRST>
    __device__ __forceinline__ void multiply(const Shared& s, int buffer) {
#pragma unroll
        for (int k = 0; k < SLAB; k += 16) {
            uint32_t a[2][4];
#pragma unroll
            for (int i = FIRST; i < 2; i++) {
                loadMatrix(a[i], s.a[buffer] + (warpRow + i * 64 + (lane & 15)) * LD + k + (lane >> 4) * 8);
            }
#pragma unroll
            for (int n = 0; n < TILE_N; n += 16) {
                uint32_t b[4];
                loadMatrix(b, s.b[buffer] + (n + (lane >> 4) * 8 + (lane & 7)) * LD + k + ((lane >> 3) & 1) * 8);
#pragma unroll
                for (int i = FIRST; i < 2; i++)
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

/** Multiplies, but leaves out the groups of the warp's rows that end before a row. */
template <class E>
__device__ __forceinline__ void multiplyFrom(E& engine, const typename E::Shared& shared, int buffer, int row) {
    if (row <= engine.warpRow + 15) {
        engine.template multiply<0>(shared, buffer);
    } else if (row <= engine.warpRow + E::GROUP_STEP + 15) {
        engine.template multiply<1>(shared, buffer);
    }
}

/**
 * One slab of an operand on its way: a thread's share as registers. It is read from memory before the product of the slab
 * before and looked at, scaled and stored only after it, so that the product hides the way from memory.
 */
template <class E, int EXTENT, bool IS_A>
struct Stage {
    static constexpr int QUADS = E::SLAB * EXTENT / 4 / E::THREADS;
    float4 held[QUADS];

    template <class Operand>
    __device__ __forceinline__ static int kOf(int q) {
        return Operand::K_CONTIGUOUS ? q % (E::SLAB / 4) * 4 : q / (EXTENT / 4);
    }
    template <class Operand>
    __device__ __forceinline__ static int mOf(int q) {
        return Operand::K_CONTIGUOUS ? q / (E::SLAB / 4) : q % (EXTENT / 4) * 4;
    }
    template <class Operand>
    __device__ __forceinline__ void fetch(const Operand& o, int k) {
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            int q = i * E::THREADS + threadIdx.x;
            held[i] = o.fetch(k + kOf<Operand>(q), mOf<Operand>(q));
        }
    }
    template <class Operand>
    __device__ __forceinline__ void store(const Operand& o, int slab, typename E::Shared& s, int buffer) const {
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            int q = i * E::THREADS + threadIdx.x;
            int k = kOf<Operand>(q);
            int m = mOf<Operand>(q);
            float v[4];
            o.finish(v, held[i], slab + k, m);
            if constexpr (IS_A) {
                E::template storeA<Operand::K_CONTIGUOUS>(s, buffer, E::pack(v), k, m);
            } else {
                E::template storeB<Operand::K_CONTIGUOUS>(s, buffer, E::pack(v), k, m);
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
    nextA.store(a, 0, shared, 0);
    nextB.store(b, 0, shared, 0);
    __syncthreads();
    int buffer = 0;
#pragma unroll 1
    for (int k = 0; k < depth; k += E::SLAB) {
        bool more = k + E::SLAB < depth;
        if (more) {
            nextA.fetch(a, k + E::SLAB);
            nextB.fetch(b, k + E::SLAB);
        }
        engine.template multiply<0>(shared, buffer);
        if (more) {
            nextA.store(a, k + E::SLAB, shared, buffer ^ 1);
            nextB.store(b, k + E::SLAB, shared, buffer ^ 1);
        }
        __syncthreads();
        buffer ^= 1;
    }
}

}  // namespace shardsmith
