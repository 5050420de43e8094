// The operations of a layer beside the scan, in float32, on row-major arrays.
//
// All but the matrix product are bound by memory; they take one pass and no scratch. Sums that decide a whole row (norms,
// mean, variance) are taken in double precision; every sum has one fixed order.
#pragma once

#include "tile.cuh"

namespace shardsmith {

enum ActivationKind { IDENTITY = 0, SILU = 1, SQUARED_RELU = 2, GELU = 3, GELU_TANH = 4 };

__device__ __forceinline__ float activation(float x, int kind) {
    switch (kind) {
        case SILU:
            return x / (1.0f + expf(-x));
        case SQUARED_RELU:
            return x > 0.0f ? x * x : 0.0f;
        case GELU:
            return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
        case GELU_TANH:
            return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
        default:
            return x;
    }
}

__device__ __forceinline__ long long firstElement() {
    return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ long long elementStride() { return static_cast<long long>(gridDim.x) * blockDim.x; }

/** Sum over a block of up to 1024 threads, the same on every thread, in a fixed order. */
__device__ __forceinline__ double blockSum(double v, double* scratch) {
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) v += __shfl_xor_sync(0xffffffffu, v, reach);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    double total = 0.0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) total += scratch[w];
    return total;
}

/** NaN wins, so that a broken row never looks small. */
__device__ __forceinline__ float larger(float a, float b) { return a != a || a > b ? a : b; }

__device__ __forceinline__ float blockMax(float v, float* scratch) {
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) v = larger(v, __shfl_xor_sync(0xffffffffu, v, reach));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    float most = scratch[0];
    for (unsigned w = 1; w < blockDim.x / 32; w++) most = larger(most, scratch[w]);
    return most;
}

/** Every element: four are read before the first is used, since nothing but the bytes in flight limits such a kernel. */
template <class Load, class Store>
__device__ __forceinline__ void eachElement(long long length, Load load, Store store) {
    long long stride = elementStride();
    long long i = firstElement();
    for (; i + 3 * stride < length; i += 4 * stride) {
        decltype(load(i)) v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = load(i + u * stride);
#pragma unroll
        for (int u = 0; u < 4; u++) store(i + u * stride, v[u]);
    }
    for (; i < length; i += stride) store(i, load(i));
}

/** The elements of a row that belong to this thread of its block, likewise. */
template <class Each>
__device__ __forceinline__ void eachOfRow(const float* row, int width, Each each) {
    int stride = blockDim.x;
    int i = threadIdx.x;
    for (; i + 3 * stride < width; i += 4 * stride) {
        float v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = row[i + u * stride];
#pragma unroll
        for (int u = 0; u < 4; u++) each(v[u]);
    }
    for (; i < width; i += stride) each(row[i]);
}

}  // namespace shardsmith

namespace shardsmith {

using LinearEngine = FmaEngine<16>;

template <bool VECTORS>
__device__ __forceinline__ void linearTile(const float* x, const float* weight, const float* bias, float* y, int rows,
                                           int in, int out) {
    using E = LinearEngine;
    __shared__ E::Shared shared;
    int row = blockIdx.x * TILE_M;
    int column = blockIdx.y * TILE_N;
    RowsAlongK<VECTORS, float> a{x + static_cast<long long>(row) * in, in, in, rows - row};
    RowsAlongK<VECTORS, float> b{weight + static_cast<long long>(column) * in, in, in, out - column};
    E engine;
    accumulate(engine, shared, a, b, in);
#pragma unroll
    for (int r = 0; r < E::ROWS; r++) {
        int i = row + engine.row(r);
#pragma unroll
        for (int c = 0; c < E::COLUMNS; c++) {
            int o = column + engine.column(c);
            if (i < rows && o < out) {
                y[static_cast<long long>(i) * out + o] = engine.acc[r][c] + (bias != nullptr ? bias[o] : 0.0f);
            }
        }
    }
}

}  // namespace shardsmith

/** y[r, o] = sum_i x[r, i] weight[o, i] + bias[o]; blockIdx.x tiles the rows, blockIdx.y the outputs; in % 4 == 0. */
extern "C" __global__ void __launch_bounds__(shardsmith::LinearEngine::THREADS, 3)
    linear(const float* x, const float* weight, const float* bias, float* y, int rows, int in, int out) {
    shardsmith::linearTile<true>(x, weight, bias, y, rows, in, out);
}

/** The same for any number of inputs. */
extern "C" __global__ void __launch_bounds__(shardsmith::LinearEngine::THREADS, 2)
    linear_any(const float* x, const float* weight, const float* bias, float* y, int rows, int in, int out) {
    shardsmith::linearTile<false>(x, weight, bias, y, rows, in, out);
}

/** to[r, toFirst + i] = from[r, fromFirst + i] for i in [0, count). */
extern "C" __global__ void copy_columns(const float* from, int fromWidth, int fromFirst, float* to, int toWidth,
                                        int toFirst, int rows, int count) {
    long long total = static_cast<long long>(rows) * count;
    for (long long i = shardsmith::firstElement(); i < total; i += shardsmith::elementStride()) {
        long long row = i / count;
        int column = static_cast<int>(i % count);
        to[row * toWidth + toFirst + column] = from[row * fromWidth + fromFirst + column];
    }
}

extern "C" __global__ void add_scaled(const float* a, const float* b, float factor, float* y, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return make_float2(a[i], b[i]); },
        [=](long long i, float2 v) { y[i] = fmaf(factor, v.y, v.x); });
}

extern "C" __global__ void activate(const float* x, float* y, int kind, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return x[i]; }, [=](long long i, float v) { y[i] = shardsmith::activation(v, kind); });
}

extern "C" __global__ void gate_values(const float* gate, const float* value, float* y, int kind, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return make_float2(gate[i], value[i]); },
        [=](long long i, float2 v) { y[i] = shardsmith::activation(v.x, kind) * v.y; });
}

extern "C" __global__ void to_bfloat16(const float* x, __nv_bfloat16* y, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return x[i]; }, [=](long long i, float v) { y[i] = __float2bfloat16_rn(v); });
}

extern "C" __global__ void to_float32(const __nv_bfloat16* x, float* y, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return x[i]; }, [=](long long i, __nv_bfloat16 v) { y[i] = __bfloat162float(v); });
}

extern "C" __global__ void half_to_float32(const __half* x, float* y, long long length) {
    shardsmith::eachElement(
        length, [=](long long i) { return x[i]; }, [=](long long i, __half v) { y[i] = __half2float(v); });
}

namespace shardsmith {

/**
 * Normalises the {@code group} elements from {@code base} on; {@code channel} is the first one's in weight and bias. A thread
 * keeps its HELD elements in registers, or reads them again with HELD = 0.
 */
template <int HELD>
__device__ __forceinline__ void normalizeGroup(const float* x, const float* weight, const float* bias, float* y,
                                               long long base, int channel, int group, int kind, float epsilon,
                                               float weightOffset) {
    __shared__ double scratch[8];
    float held[HELD > 0 ? HELD : 1];
    if constexpr (HELD > 0) {
#pragma unroll
        for (int u = 0; u < HELD; u++) {
            int i = threadIdx.x + u * blockDim.x;
            held[u] = i < group ? x[base + i] : 0.0f;
        }
    }
    auto each = [&](auto use) {
        if constexpr (HELD > 0) {
#pragma unroll
            for (int u = 0; u < HELD; u++) {
                int i = threadIdx.x + u * blockDim.x;
                if (i < group) use(i, held[u]);
            }
        } else {
            for (int i = threadIdx.x; i < group; i += blockDim.x) use(i, x[base + i]);
        }
    };
    double mean = 0.0;
    if (kind == 1) {
        double sum = 0.0;
        each([&](int, float v) { sum += v; });
        mean = blockSum(sum, scratch) / group;
    }
    double squares = 0.0;
    each([&](int, float v) {
        double d = v - mean;
        squares += d * d;
    });
    double scale = 1.0 / sqrt(blockSum(squares, scratch) / group + epsilon);
    each([&](int i, float v) {
        float n = static_cast<float>((v - mean) * scale);
        if (weight != nullptr) n *= weight[channel + i] + weightOffset;
        if (bias != nullptr) n += bias[channel + i];
        y[base + i] = n;
    });
}

}  // namespace shardsmith

/** One block per row and group of channels; kind 0 divides by the root mean square, 1 by the standard deviation. */
extern "C" __global__ void __launch_bounds__(256, 6)
    normalize(const float* x, const float* weight, const float* bias, float* y, int width, int group, int kind,
              float epsilon, float weightOffset) {
    using namespace shardsmith;
    int channel = blockIdx.y * group;
    long long base = static_cast<long long>(blockIdx.x) * width + channel;
    if (group <= 4 * 256) {
        normalizeGroup<4>(x, weight, bias, y, base, channel, group, kind, epsilon, weightOffset);
    } else {
        normalizeGroup<0>(x, weight, bias, y, base, channel, group, kind, epsilon, weightOffset);
    }
}

/** Causal depthwise convolution over time, then the activation; one thread per token and channel. */
extern "C" __global__ void convolve(const float* x, const float* weight, const float* bias, float* y, int batch,
                                    int length, int channels, int kernel, int kind) {
    long long total = static_cast<long long>(batch) * length * channels;
    for (long long i = shardsmith::firstElement(); i < total; i += shardsmith::elementStride()) {
        int channel = static_cast<int>(i % channels);
        int token = static_cast<int>(i / channels % length);
        float sum = bias != nullptr ? bias[channel] : 0.0f;
        for (int k = max(0, kernel - 1 - token); k < kernel; k++) {
            sum = fmaf(weight[channel * kernel + k], x[i + static_cast<long long>(k - kernel + 1) * channels], sum);
        }
        y[i] = shardsmith::activation(sum, kind);
    }
}

/**
 * The same with four taps and channels % 4 == 0: a thread slides over 16 tokens of four channels and reads each token once.
 * blockIdx.x: channels; blockIdx.y: runs of 16 tokens; blockIdx.z: the sequence.
 */
extern "C" __global__ void __launch_bounds__(128)
    convolve_4(const float* x, const float* weight, const float* bias, float* y, int length, int channels, int kind) {
    constexpr int RUN = 16;
    int channel = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (channel >= channels) return;
    int first = blockIdx.y * RUN;
    long long base = (static_cast<long long>(blockIdx.z) * length + first) * channels + channel;
    float taps[4][4];
    float shift[4] = {};
#pragma unroll
    for (int c = 0; c < 4; c++) {
        *reinterpret_cast<float4*>(taps[c]) = *reinterpret_cast<const float4*>(weight + (channel + c) * 4);
    }
    if (bias != nullptr) *reinterpret_cast<float4*>(shift) = *reinterpret_cast<const float4*>(bias + channel);
    float seen[7][4];  // three tokens before, then four of the run
    auto read = [&](float(&v)[4], int token) {
        float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (first + token >= 0 && first + token < length) {
            q = *reinterpret_cast<const float4*>(x + base + static_cast<long long>(token) * channels);
        }
        *reinterpret_cast<float4*>(v) = q;
    };
#pragma unroll
    for (int t = 0; t < 3; t++) read(seen[t], t - 3);
    for (int token = 0; token < RUN && first + token < length; token += 4) {
#pragma unroll
        for (int t = 0; t < 4; t++) read(seen[3 + t], token + t);
#pragma unroll
        for (int t = 0; t < 4; t++) {
            float sum[4];
#pragma unroll
            for (int c = 0; c < 4; c++) {
                sum[c] = shift[c];
#pragma unroll
                for (int k = 0; k < 4; k++) sum[c] = fmaf(taps[c][k], seen[t + k][c], sum[c]);
                sum[c] = shardsmith::activation(sum[c], kind);
            }
            if (first + token + t < length) {
                *reinterpret_cast<float4*>(y + base + static_cast<long long>(token + t) * channels) =
                    make_float4(sum[0], sum[1], sum[2], sum[3]);
            }
        }
#pragma unroll
        for (int t = 0; t < 3; t++)
#pragma unroll
            for (int c = 0; c < 4; c++) seen[t][c] = seen[4 + t][c];
    }
}

/** Rotary embedding of the first {@code rotated} channels; angles in double precision, they grow with the position. */
extern "C" __global__ void rotate(const float* x, float* y, int batch, int length, int heads, int headDim, int rotated,
                                  double base, int interleaved) {
    long long total = static_cast<long long>(batch) * length * heads * headDim;
    for (long long i = shardsmith::firstElement(); i < total; i += shardsmith::elementStride()) {
        int channel = static_cast<int>(i % headDim);
        if (channel >= rotated) {
            y[i] = x[i];
            continue;
        }
        int token = static_cast<int>(i / headDim / heads % length);
        int half = rotated / 2;
        int pair = interleaved ? channel / 2 : channel % half;
        bool second = interleaved ? channel % 2 != 0 : channel >= half;
        int reach = interleaved ? 1 : half;
        double sine;
        double cosine;
        sincos(token * pow(base, -2.0 * pair / rotated), &sine, &cosine);
        double own = x[i];
        double other = x[second ? i - reach : i + reach];
        y[i] = static_cast<float>(second ? other * sine + own * cosine : own * cosine - other * sine);
    }
}

/** The largest absolute value of each row; one block per row. */
extern "C" __global__ void __launch_bounds__(256) row_maxima(const float* x, float* y, int width) {
    __shared__ float scratch[8];
    const float* row = x + static_cast<long long>(blockIdx.x) * width;
    float most = 0.0f;
    shardsmith::eachOfRow(row, width, [&](float v) { most = shardsmith::larger(fabsf(v), most); });
    most = shardsmith::blockMax(most, scratch);
    if (threadIdx.x == 0) y[blockIdx.x] = most;
}

/** The Euclidean norm of each row; one block per row. */
extern "C" __global__ void __launch_bounds__(256) row_norms(const float* x, float* y, int width) {
    __shared__ double scratch[8];
    const float* row = x + static_cast<long long>(blockIdx.x) * width;
    double sum = 0.0;
    shardsmith::eachOfRow(row, width, [&](float v) { sum = fma(static_cast<double>(v), static_cast<double>(v), sum); });
    sum = shardsmith::blockSum(sum, scratch);
    if (threadIdx.x == 0) y[blockIdx.x] = static_cast<float>(sqrt(sum));
}
