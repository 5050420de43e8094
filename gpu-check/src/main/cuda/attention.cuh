// Softmax attention in float32, a tile of queries at a time.
//
// A block of 128 threads owns 64 queries of one head and up to 128 of its output channels. It goes over the keys 64 at a
// time: scores (64 x 64), the running maximum and sum of each query, weights into shared memory, weights times values into
// the output, which stays in registers. A thread owns four queries: 4 x 8 scores and 4 x 16 outputs; the eight threads of
// a query sit side by side in a warp. Nothing is written but the result, and every sum has one fixed order.
#pragma once

#include "layer.cuh"

namespace shardsmith {

struct AttentionTile {
    static constexpr int THREADS = 128;
    static constexpr int QUERIES = 64;
    static constexpr int KEYS = 64;
    static constexpr int CHANNELS = 128;  // of the output, per block
    static constexpr int SLAB = 16;       // of the head dimension for scores, of keys for the output
    static constexpr int LD = QUERIES + 4;
    static constexpr int LD_V = CHANNELS + 4;

    struct Shared {
        union {
            struct {
                float q[2][SLAB * LD];
                float k[2][SLAB * LD];
            };
            float v[2][SLAB * LD_V];
        };
        float weight[KEYS * LD];  // [key][query]
    };
};

/** Where one sequence and head of q, k or v lies. */
struct HeadRows {
    const float* base;
    long long stride;  // between tokens
    int length;
    int headDim;

    /** Four channels of a token; 0 outside. */
    template <bool VECTORS>
    __device__ __forceinline__ float4 load(int token, int channel) const {
        float v[4];
        load4<VECTORS>(v, base + token * stride, channel, token < length ? headDim : 0);
        return make_float4(v[0], v[1], v[2], v[3]);
    }
};

/** 64 tokens x 16 channels on their way into shared memory: two groups of four per thread, channels become rows. */
template <bool VECTORS>
struct TokenSlab {
    float4 held[2];

    __device__ __forceinline__ void fetch(const HeadRows& rows, int token, int channel) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int at = i * AttentionTile::THREADS + threadIdx.x;
            held[i] = rows.load<VECTORS>(token + at / 4, channel + at % 4 * 4);
        }
    }
    __device__ __forceinline__ void store(float* slab) const {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int at = i * AttentionTile::THREADS + threadIdx.x;
            float* to = slab + at % 4 * 4 * AttentionTile::LD + at / 4;
            to[0] = held[i].x;
            to[AttentionTile::LD] = held[i].y;
            to[2 * AttentionTile::LD] = held[i].z;
            to[3 * AttentionTile::LD] = held[i].w;
        }
    }
};

/** 16 tokens x 128 channels: four groups of four per thread. */
template <bool VECTORS>
struct ValueSlab {
    float4 held[4];

    __device__ __forceinline__ void fetch(const HeadRows& rows, int token, int channel) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[i] = rows.load<VECTORS>(token + i * 4 + (threadIdx.x >> 5), channel + (threadIdx.x & 31) * 4);
        }
    }
    __device__ __forceinline__ void store(float* slab) const {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float* to = slab + (i * 4 + (threadIdx.x >> 5)) * AttentionTile::LD_V + (threadIdx.x & 31) * 4;
            *reinterpret_cast<float4*>(to) = held[i];
        }
    }
};

__device__ __forceinline__ void read4(float (&v)[4], const float* from) {
    *reinterpret_cast<float4*>(v) = *reinterpret_cast<const float4*>(from);
}

template <bool VECTORS>
__device__ __forceinline__ void attendTile(const float* q, const float* k, const float* v, float* y, int length,
                                           int heads, int keyHeads, int headDim, int channelTiles, float scale,
                                           bool causal) {
    using Tile = AttentionTile;
    __shared__ Tile::Shared shared;
    int head = blockIdx.y / channelTiles;
    int channel = blockIdx.y % channelTiles * Tile::CHANNELS;
    int keyHead = head / (heads / keyHeads);
    // The last queries have the most keys: they go first.
    int first = (gridDim.x - 1 - blockIdx.x) * Tile::QUERIES;
    long long token = static_cast<long long>(blockIdx.z) * length;
    long long strideQ = static_cast<long long>(heads) * headDim;
    long long strideK = static_cast<long long>(keyHeads) * headDim;
    HeadRows rowsQ{q + (token + first) * strideQ + head * headDim, strideQ, length - first, headDim};
    HeadRows rowsK{k + token * strideK + keyHead * headDim, strideK, length, headDim};
    HeadRows rowsV{v + token * strideK + keyHead * headDim, strideK, length, headDim};
    int row = (threadIdx.x >> 3) * 4;
    int column = (threadIdx.x & 7) * 4;
    float most[4];
    float sum[4];
    float out[4][16];
#pragma unroll
    for (int r = 0; r < 4; r++) {
        most[r] = -INFINITY;
        sum[r] = 0.0f;
#pragma unroll
        for (int c = 0; c < 16; c++) out[r][c] = 0.0f;
    }
    int keys = causal ? min(length, first + Tile::QUERIES) : length;
#pragma unroll 1
    for (int key = 0; key < keys; key += Tile::KEYS) {
        float score[4][8];
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int c = 0; c < 8; c++) score[r][c] = 0.0f;
        TokenSlab<VECTORS> nextQ;
        TokenSlab<VECTORS> nextK;
        nextQ.fetch(rowsQ, 0, 0);
        nextK.fetch(rowsK, key, 0);
        __syncthreads();
        nextQ.store(shared.q[0]);
        nextK.store(shared.k[0]);
        __syncthreads();
        int buffer = 0;
#pragma unroll 1
        for (int d = 0; d < headDim; d += Tile::SLAB, buffer ^= 1) {
            bool more = d + Tile::SLAB < headDim;
            if (more) {
                nextQ.fetch(rowsQ, 0, d + Tile::SLAB);
                nextK.fetch(rowsK, key, d + Tile::SLAB);
            }
#pragma unroll
            for (int i = 0; i < Tile::SLAB; i++) {
                float a[4];
                float b[8];
                read4(a, shared.q[buffer] + i * Tile::LD + row);
                read4(reinterpret_cast<float(&)[4]>(b[0]), shared.k[buffer] + i * Tile::LD + column);
                read4(reinterpret_cast<float(&)[4]>(b[4]), shared.k[buffer] + i * Tile::LD + column + 32);
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int c = 0; c < 8; c++) score[r][c] = fmaf(a[r], b[c], score[r][c]);
            }
            if (more) {
                nextQ.store(shared.q[buffer ^ 1]);
                nextK.store(shared.k[buffer ^ 1]);
            }
            __syncthreads();
        }
        ValueSlab<VECTORS> nextV;
        nextV.fetch(rowsV, key, channel);
#pragma unroll
        for (int r = 0; r < 4; r++) {
            int seen = causal ? min(length, first + row + r + 1) : length;
            float next = most[r];
#pragma unroll
            for (int c = 0; c < 8; c++) {
                bool inside = key + column + (c & 3) + (c >> 2) * 32 < seen;
                score[r][c] = inside ? score[r][c] * scale : -INFINITY;
                next = larger(next, score[r][c]);
            }
#pragma unroll
            for (int reach = 1; reach < 8; reach *= 2) next = larger(next, __shfl_xor_sync(0xffffffffu, next, reach));
            float own = 0.0f;
#pragma unroll
            for (int c = 0; c < 8; c++) {
                // Queries past the end see no key at all: nothing minus nothing would be no number.
                score[r][c] = score[r][c] == -INFINITY ? 0.0f : expf(score[r][c] - next);
                own += score[r][c];
            }
#pragma unroll
            for (int reach = 1; reach < 8; reach *= 2) own += __shfl_xor_sync(0xffffffffu, own, reach);
            float shrink = most[r] == -INFINITY ? 0.0f : expf(most[r] - next);
            sum[r] = fmaf(sum[r], shrink, own);
            most[r] = next;
#pragma unroll
            for (int c = 0; c < 16; c++) out[r][c] *= shrink;
        }
#pragma unroll
        for (int c = 0; c < 8; c++) {
            float* to = shared.weight + (column + (c & 3) + (c >> 2) * 32) * Tile::LD + row;
            *reinterpret_cast<float4*>(to) = make_float4(score[0][c], score[1][c], score[2][c], score[3][c]);
        }
        nextV.store(shared.v[0]);
        __syncthreads();
        int count = min(Tile::KEYS, keys - key);
        buffer = 0;
#pragma unroll 1
        for (int j = 0; j < count; j += Tile::SLAB, buffer ^= 1) {
            bool more = j + Tile::SLAB < count;
            if (more) nextV.fetch(rowsV, key + j + Tile::SLAB, channel);
#pragma unroll
            for (int i = 0; i < Tile::SLAB; i++) {
                float a[4];
                read4(a, shared.weight + (j + i) * Tile::LD + row);
#pragma unroll
                for (int c = 0; c < 16; c += 4) {
                    float b[4];
                    read4(b, shared.v[buffer] + i * Tile::LD_V + column + c * 8);
#pragma unroll
                    for (int r = 0; r < 4; r++)
#pragma unroll
                        for (int e = 0; e < 4; e++) out[r][c + e] = fmaf(a[r], b[e], out[r][c + e]);
                }
            }
            if (more) nextV.store(shared.v[buffer ^ 1]);
            __syncthreads();
        }
    }
    float* rowsY = y + (token + first) * strideQ + head * headDim;
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (first + row + r >= length) continue;
#pragma unroll
        for (int c = 0; c < 16; c += 4) {
            float values[4];
#pragma unroll
            for (int e = 0; e < 4; e++) values[e] = out[r][c + e] / sum[r];
            writeRun<VECTORS>(values, rowsY + (row + r) * strideQ, channel + column + c * 8, headDim);
        }
    }
}

}  // namespace shardsmith

/**
 * blockIdx.x: 64 queries, from the last to the first; blockIdx.y: the head times the tiles of 128 output channels;
 * blockIdx.z: the sequence. headDim % 4 == 0.
 */
extern "C" __global__ void __launch_bounds__(shardsmith::AttentionTile::THREADS, 3)
    attend(const float* q, const float* k, const float* v, float* y, int length, int heads, int keyHeads, int headDim,
           int channelTiles, float scale, int causal) {
    shardsmith::attendTile<true>(q, k, v, y, length, heads, keyHeads, headDim, channelTiles, scale, causal != 0);
}

/** The same for any head dimension. */
extern "C" __global__ void __launch_bounds__(shardsmith::AttentionTile::THREADS, 2)
    attend_any(const float* q, const float* k, const float* v, float* y, int length, int heads, int keyHeads,
               int headDim, int channelTiles, float scale, int causal) {
    shardsmith::attendTile<false>(q, k, v, y, length, heads, keyHeads, headDim, channelTiles, scale, causal != 0);
}
