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

}  // namespace shardsmith

namespace shardsmith {

template <bool VECTORS>
__device__ __forceinline__ void linearTile(const float* x, const float* weight, const float* bias, float* y, int rows,
                                           int in, int out) {
    __shared__ FmaEngine::Shared shared;
    int row = blockIdx.x * TILE_M;
    int column = blockIdx.y * TILE_N;
    RowsAlongK<VECTORS, float> a{x + static_cast<long long>(row) * in, in, in, rows - row};
    RowsAlongK<VECTORS, float> b{weight + static_cast<long long>(column) * in, in, in, out - column};
    FmaEngine engine;
    accumulate(engine, shared, a, b, in);
#pragma unroll
    for (int r = 0; r < FmaEngine::ROWS; r++) {
        int i = row + engine.row(r);
#pragma unroll
        for (int c = 0; c < FmaEngine::COLUMNS; c++) {
            int o = column + engine.column(c);
            if (i < rows && o < out) {
                y[static_cast<long long>(i) * out + o] = engine.acc[r][c] + (bias != nullptr ? bias[o] : 0.0f);
            }
        }
    }
}

}  // namespace shardsmith

/** y[r, o] = sum_i x[r, i] weight[o, i] + bias[o]; blockIdx.x tiles the rows, blockIdx.y the outputs; in % 4 == 0. */
extern "C" __global__ void __launch_bounds__(128, 3)
    linear(const float* x, const float* weight, const float* bias, float* y, int rows, int in, int out) {
    shardsmith::linearTile<true>(x, weight, bias, y, rows, in, out);
}

/** The same for any number of inputs. */
extern "C" __global__ void __launch_bounds__(128, 2)
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
    for (long long i = shardsmith::firstElement(); i < length; i += shardsmith::elementStride()) {
        y[i] = fmaf(factor, b[i], a[i]);
    }
}

extern "C" __global__ void activate(const float* x, float* y, int kind, long long length) {
    for (long long i = shardsmith::firstElement(); i < length; i += shardsmith::elementStride()) {
        y[i] = shardsmith::activation(x[i], kind);
    }
}

extern "C" __global__ void gate_values(const float* gate, const float* value, float* y, int kind, long long length) {
    for (long long i = shardsmith::firstElement(); i < length; i += shardsmith::elementStride()) {
        y[i] = shardsmith::activation(gate[i], kind) * value[i];
    }
}

extern "C" __global__ void to_bfloat16(const float* x, __nv_bfloat16* y, long long length) {
    for (long long i = shardsmith::firstElement(); i < length; i += shardsmith::elementStride()) {
        y[i] = __float2bfloat16_rn(x[i]);
    }
}

extern "C" __global__ void to_float32(const __nv_bfloat16* x, float* y, long long length) {
    for (long long i = shardsmith::firstElement(); i < length; i += shardsmith::elementStride()) {
        y[i] = __bfloat162float(x[i]);
    }
}

/** One block per row and group of channels; kind 0 divides by the root mean square, 1 by the standard deviation. */
extern "C" __global__ void __launch_bounds__(256)
    normalize(const float* x, const float* weight, const float* bias, float* y, int width, int group, int kind,
              float epsilon, float weightOffset) {
    using namespace shardsmith;
    __shared__ double scratch[8];
    long long base = static_cast<long long>(blockIdx.x) * width + static_cast<long long>(blockIdx.y) * group;
    int channel = blockIdx.y * group;
    double mean = 0.0;
    if (kind == 1) {
        double sum = 0.0;
        for (int i = threadIdx.x; i < group; i += blockDim.x) sum += x[base + i];
        mean = blockSum(sum, scratch) / group;
    }
    double squares = 0.0;
    for (int i = threadIdx.x; i < group; i += blockDim.x) {
        double d = x[base + i] - mean;
        squares += d * d;
    }
    double scale = 1.0 / sqrt(blockSum(squares, scratch) / group + epsilon);
    for (int i = threadIdx.x; i < group; i += blockDim.x) {
        float v = static_cast<float>((x[base + i] - mean) * scale);
        if (weight != nullptr) v *= weight[channel + i] + weightOffset;
        if (bias != nullptr) v += bias[channel + i];
        y[base + i] = v;
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

/**
 * Softmax attention, one block per query (x), head (y) and sequence (z). Keys are taken 128 at a time, the running
 * maximum and sum rescaled in between. Shared memory: headDim floats of the query and headDim of the output.
 */
extern "C" __global__ void __launch_bounds__(128)
    attend(const float* q, const float* k, const float* v, float* y, int length, int heads, int keyHeads, int headDim,
           float scale, int causal) {
    using namespace shardsmith;
    constexpr int KEYS = 128;
    extern __shared__ float queryAndOutput[];
    __shared__ float score[KEYS];
    __shared__ double scratch[KEYS / 32];
    __shared__ float scratchMax[KEYS / 32];
    float* query = queryAndOutput;
    float* output = queryAndOutput + headDim;
    int head = blockIdx.y;
    int keyHead = head / (heads / keyHeads);
    long long rowQ = ((static_cast<long long>(blockIdx.z) * length + blockIdx.x) * heads + head) * headDim;
    long long strideK = static_cast<long long>(keyHeads) * headDim;
    long long firstK = static_cast<long long>(blockIdx.z) * length * strideK + static_cast<long long>(keyHead) * headDim;
    for (int d = threadIdx.x; d < headDim; d += blockDim.x) {
        query[d] = q[rowQ + d];
        output[d] = 0.0f;
    }
    int keys = causal ? blockIdx.x + 1 : length;
    float most = -INFINITY;
    double sum = 0.0;
    for (int first = 0; first < keys; first += KEYS) {
        __syncthreads();
        int key = first + threadIdx.x;
        float s = -INFINITY;
        if (key < keys) {
            const float* row = k + firstK + key * strideK;
            s = 0.0f;
            for (int d = 0; d < headDim; d++) s = fmaf(query[d], row[d], s);
            s *= scale;
        }
        float next = larger(blockMax(s, scratchMax), most);
        float weight = key < keys ? expf(s - next) : 0.0f;
        float shrink = expf(most - next);
        score[threadIdx.x] = weight;
        sum = sum * shrink + blockSum(weight, scratch);
        most = next;
        int count = min(KEYS, keys - first);
        for (int d = threadIdx.x; d < headDim; d += blockDim.x) {
            float o = output[d] * shrink;
            const float* column = v + firstK + first * strideK + d;
            for (int j = 0; j < count; j++) o = fmaf(score[j], column[j * strideK], o);
            output[d] = o;
        }
    }
    for (int d = threadIdx.x; d < headDim; d += blockDim.x) {
        y[rowQ + d] = static_cast<float>(output[d] / sum);
    }
}

/** The largest absolute value of each row; one block per row. */
extern "C" __global__ void __launch_bounds__(256) row_maxima(const float* x, float* y, int width) {
    __shared__ float scratch[8];
    const float* row = x + static_cast<long long>(blockIdx.x) * width;
    float most = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) most = shardsmith::larger(fabsf(row[i]), most);
    most = shardsmith::blockMax(most, scratch);
    if (threadIdx.x == 0) y[blockIdx.x] = most;
}

/** The Euclidean norm of each row; one block per row. */
extern "C" __global__ void __launch_bounds__(256) row_norms(const float* x, float* y, int width) {
    __shared__ double scratch[8];
    const float* row = x + static_cast<long long>(blockIdx.x) * width;
    double sum = 0.0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += static_cast<double>(row[i]) * row[i];
    sum = shardsmith::blockSum(sum, scratch);
    if (threadIdx.x == 0) y[blockIdx.x] = static_cast<float>(sqrt(sum));
}
