// The matrix product in double precision: what the close look of a layer needs of the card.
#pragma once

#include "layer.cuh"

namespace shardsmith {

constexpr int WIDE_ROWS = 16;
constexpr int WIDE_COLUMNS = 32;
constexpr int WIDE_INNER = 32;
constexpr int WIDE_THREADS = 128;
constexpr int WIDE_ROWS_EACH = WIDE_ROWS * WIDE_COLUMNS / WIDE_THREADS;
/** Keeps two doubles together in one access, and the rows of a column of inputs in different banks. */
constexpr int WIDE_ROW_STRIDE = WIDE_ROWS + 2;

/** A slab of inputs of both factors. Elements beyond the matrices are zero. */
struct WideSlab {
    double x[WIDE_INNER][WIDE_ROW_STRIDE];
    float weight[WIDE_INNER][WIDE_COLUMNS + 1];
};

/** What one thread fetches of a slab while the one before is multiplied: neighbouring threads read neighbouring inputs. */
struct WideFetch {
    static constexpr int WEIGHTS = WIDE_COLUMNS * WIDE_INNER / WIDE_THREADS;
    static constexpr int ROWS = WIDE_ROWS * WIDE_INNER / WIDE_THREADS;
    float weight[WEIGHTS];
    double x[ROWS];

    __device__ __forceinline__ void load(const double* from, const float* weights, int row, int column, int k, int rows,
                                         int in, int out) {
        int i = k + static_cast<int>(threadIdx.x) % WIDE_INNER;
        int first = static_cast<int>(threadIdx.x) / WIDE_INNER;
#pragma unroll
        for (int u = 0; u < WEIGHTS; u++) {
            int o = column + first + u * (WIDE_THREADS / WIDE_INNER);
            weight[u] = i < in && o < out ? weights[static_cast<long long>(o) * in + i] : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < ROWS; u++) {
            int r = row + first + u * (WIDE_THREADS / WIDE_INNER);
            x[u] = i < in && r < rows ? from[static_cast<long long>(r) * in + i] : 0.0;
        }
    }

    __device__ __forceinline__ void store(WideSlab& slab) const {
        int i = static_cast<int>(threadIdx.x) % WIDE_INNER;
        int first = static_cast<int>(threadIdx.x) / WIDE_INNER;
#pragma unroll
        for (int u = 0; u < WEIGHTS; u++) slab.weight[i][first + u * (WIDE_THREADS / WIDE_INNER)] = weight[u];
#pragma unroll
        for (int u = 0; u < ROWS; u++) slab.x[i][first + u * (WIDE_THREADS / WIDE_INNER)] = x[u];
    }
};

}  // namespace shardsmith

/**
 * y[r, o] = bias[o] + sum_i x[r, i] weight[o, i], x and y in double precision; bias may be null.
 *
 * Each result is one chain of fused multiply-adds that starts from the bias and takes the inputs in their order, as on the
 * processor: the same bits. blockIdx.x tiles the outputs, blockIdx.y the rows; a thread has one output of four rows.
 */
extern "C" __global__ void __launch_bounds__(shardsmith::WIDE_THREADS)
    linear_wide(const double* x, const float* weight, const float* bias, double* y, int rows, int in, int out) {
    using namespace shardsmith;
    __shared__ WideSlab slab;
    int row = blockIdx.y * WIDE_ROWS;
    int column = blockIdx.x * WIDE_COLUMNS;
    int c = threadIdx.x % WIDE_COLUMNS;
    int r = static_cast<int>(threadIdx.x) / WIDE_COLUMNS * WIDE_ROWS_EACH;
    int o = column + c;
    double start = bias != nullptr && o < out ? bias[o] : 0.0;
    double sum[WIDE_ROWS_EACH];
#pragma unroll
    for (int u = 0; u < WIDE_ROWS_EACH; u++) sum[u] = start;
    WideFetch next;
    next.load(x, weight, row, column, 0, rows, in, out);
    for (int k = 0; k < in; k += WIDE_INNER) {
        __syncthreads();
        next.store(slab);
        __syncthreads();
        if (k + WIDE_INNER < in) next.load(x, weight, row, column, k + WIDE_INNER, rows, in, out);
        int some = min(WIDE_INNER, in - k);
#pragma unroll 8
        for (int i = 0; i < some; i++) {
            double w = slab.weight[i][c];
#pragma unroll
            for (int u = 0; u < WIDE_ROWS_EACH; u++) sum[u] = fma(w, slab.x[i][r + u], sum[u]);
        }
    }
#pragma unroll
    for (int u = 0; u < WIDE_ROWS_EACH; u++) {
        if (row + r + u < rows && o < out) y[static_cast<long long>(row + r + u) * out + o] = sum[u];
    }
}
