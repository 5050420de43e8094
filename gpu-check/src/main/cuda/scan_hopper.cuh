// The bfloat16 scan for Hopper's warpgroup matrix units: head dimension 64, state size 128, chunks of 64 tokens.
//
// One warpgroup walks the chunks of one head with the head's state in registers; two warpgroups, two heads of one
// group, share the tiles of B and C. The sequence is cut into segments that run at the same time: hopper_states first
// sums up what each part of the sequence adds to the state (one product per chunk), hopper_scan starts each segment from
// those sums. Per chunk a warpgroup issues
//
//   CB = C B^T                 both from shared memory
//   Y  = C H^T                 H, the entering state rounded to bfloat16, from shared memory
//   S  = decay S + (w x)^T B   w x from registers, scaled by w_j = exp(s_last - s_j) dt_j in float32
//   Y  = exp(s) Y + M x        M = CB exp(s_i - s_j) dt_j from registers
//
// and works out M while the tensor cores are busy with Y and S. Every tile is 64 rows of 128 bytes in the 128-byte
// swizzle (16-byte unit u of row r lies at u ^ (r % 8)), so the same B tile serves as rows along k and across k.
//
// The two warpgroups of hopper_scan never meet at a common barrier inside the loop: each tells the other when its share
// of the next tiles has arrived, so that one can use the tensor cores while the other computes.
#pragma once

#include "scan.cuh"

namespace shardsmith {
namespace hopper {

constexpr int TOKENS = 64;
constexpr int HEAD_DIM = 64;
constexpr int STATE = 128;
constexpr int HEADS_PER_BLOCK = 2;
constexpr int BLOCK = 128 * HEADS_PER_BLOCK;
constexpr int ROW_BYTES = 128;
constexpr int TILE_BYTES = TOKENS * ROW_BYTES;  // 64 x 64 bfloat16

/** What the host passes; all 32 bits. Token strides are in elements and multiples of 8. */
struct Shape {
    int batch;
    int length;
    int heads;
    int groups;
    int chunks;         // ceil(length / 64)
    int parts;          // parts whose sums hopper_states makes
    int partChunks;     // chunks of one part
    int partsPerSegment;
    int segments;
    int strideX;
    int strideB;
    int strideC;
    int strideDt;
    int strideZ;
    int strideY;
    int skipMode;
    int softplus;
    float dtMin;
    float dtMax;
};

/** What the products of one chunk of one head need to know of its time steps, as powers of two. */
struct Scalars {
    float sum[TOKENS];     // log2 of the decay from the start of the chunk
    float source[TOKENS];  // sum - log2(dt): 2^(sum_i - source_j) = exp(s_i - s_j) dt_j
    float weight[TOKENS];  // exp(s_last - s_j) dt_j
};

/** Fills the scalars of every chunk and head: [batch, head, chunk]. dt must not be negative. */
__device__ __forceinline__ void decayKernel(const __nv_bfloat16* dt, const float* aLog, const float* bias,
                                            Scalars* scalars, const Shape& s) {
    constexpr int HEADS = 16;
    __shared__ float steps[HEADS][TOKENS + 1];
    int firstHead = blockIdx.y * HEADS;
    int firstToken = blockIdx.x * TOKENS;
    for (int i = threadIdx.x; i < HEADS * TOKENS; i += BLOCK) {
        int head = firstHead + i % HEADS;
        int token = firstToken + i / HEADS;
        float d = 0.0f;
        if (head < s.heads && token < s.length) {
            d = widen(dt[(static_cast<long long>(blockIdx.z) * s.length + token) * s.strideDt + head]);
            if (bias != nullptr) d += bias[head];
            if (s.softplus && d <= 20.0f) d = log1pf(expf(d));
            d = fminf(fmaxf(d, s.dtMin), s.dtMax);
        }
        steps[i % HEADS][i / HEADS] = d;
    }
    __syncthreads();
    int lane = threadIdx.x & 31;
    for (int h = threadIdx.x >> 5; h < HEADS && firstHead + h < s.heads; h += BLOCK / 32) {
        float scale = -expf(aLog[firstHead + h]) * static_cast<float>(LOG2E);
        float low = steps[h][2 * lane];
        float high = steps[h][2 * lane + 1];
        float total = low + high;
#pragma unroll
        for (int reach = 1; reach < 32; reach *= 2) {
            float before = __shfl_up_sync(0xffffffffu, total, reach);
            if (lane >= reach) total += before;
        }
        float sumLow = (total - high) * scale;
        float sumHigh = total * scale;
        float last = __shfl_sync(0xffffffffu, sumHigh, 31);
        Scalars& out = scalars[(static_cast<long long>(blockIdx.z) * s.heads + firstHead + h) * s.chunks + blockIdx.x];
        *reinterpret_cast<float2*>(out.sum + 2 * lane) = make_float2(sumLow, sumHigh);
        *reinterpret_cast<float2*>(out.source + 2 * lane) = make_float2(sumLow - log2f(low), sumHigh - log2f(high));
        *reinterpret_cast<float2*>(out.weight + 2 * lane)
            = make_float2(exp2f(last - sumLow) * low, exp2f(last - sumHigh) * high);
    }
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ uint32_t packed(float low, float high) {
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
__device__ __forceinline__ float lowOf(uint32_t v) { return __uint_as_float(v << 16); }
__device__ __forceinline__ float highOf(uint32_t v) { return __uint_as_float(v & 0xffff0000u); }

__device__ __forceinline__ void copy16(uint32_t to, const void* from, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void awaitCopies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
__device__ __forceinline__ void publishShared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void syncWarpgroup(int warpgroup) {
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 1) : "memory");
}
__device__ __forceinline__ void openProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void awaitProducts() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
/** Keeps the compiler from moving uses of an accumulator across a wait. */
template <int COUNT>
__device__ __forceinline__ void pin(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}

/** Descriptor of a tile in the 128-byte swizzle: 1024 bytes from 8 rows to the next 8, TILE_BYTES from column block to block. */
__device__ __forceinline__ uint64_t describe(uint32_t address) {
    return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(TILE_BYTES >> 4) << 16
           | static_cast<uint64_t>(1024 >> 4) << 32 | 1ull << 62;
}

#define D4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(d, i) D4(d, i), D4(d, i + 4), D4(d, i + 8), D4(d, i + 12)
#define D32_REGISTERS                                                                                            \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
    "%29,%30,%31}"
#define D64_REGISTERS                                                                                            \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
    "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,"    \
    "%55,%56,%57,%58,%59,%60,%61,%62,%63}"

/** d (64 x 64) = or += a (64 x 16, rows along k) * b (64 x 16, rows along k). */
template <bool ADD>
__device__ __forceinline__ void product64(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " D32_REGISTERS
                 ", %32, %33, p, 1, 1, 0, 0;\n}\n"
                 : D16(d, 0), D16(d, 16)
                 : "l"(a), "l"(b), "n"(ADD ? 1 : 0));
}

/** d (64 x 64) += a (registers) * b (16 x 64, rows across k). */
__device__ __forceinline__ void product64(float (&d)[32], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                          uint64_t b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " D32_REGISTERS
                 ", {%32,%33,%34,%35}, %36, p, 1, 1, 1;\n}\n"
                 : D16(d, 0), D16(d, 16)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "n"(1));
}

/** d (64 x 128) += a (registers) * b (16 x 128, rows across k). */
__device__ __forceinline__ void product128(float (&d)[64], const uint32_t (&a)[4], uint64_t b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " D64_REGISTERS
                 ", {%64,%65,%66,%67}, %68, p, 1, 1, 1;\n}\n"
                 : D16(d, 0), D16(d, 16), D16(d, 32), D16(d, 48)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(1));
}

/** What a block knows of its place: heads, group and batch entry. */
struct Place {
    int warpgroup;
    int thread;   // in the warpgroup
    int warp;     // in the warpgroup
    int lane;
    int row;      // of an accumulator: this and 8 more
    int quad;     // of an accumulator: columns 2 * quad and one more of every 8
    int batch;
    int group;
    int head;
    bool active;  // false in the second warpgroup where a group has no head left for it: it repeats the first's work

    __device__ __forceinline__ explicit Place(const Shape& s) {
        warpgroup = threadIdx.x >> 7;
        thread = threadIdx.x & 127;
        warp = thread >> 5;
        lane = thread & 31;
        row = warp * 16 + (lane >> 2);
        quad = lane & 3;
        batch = blockIdx.z;
        int perGroup = s.heads / s.groups;
        int pairs = (perGroup + HEADS_PER_BLOCK - 1) / HEADS_PER_BLOCK;
        group = blockIdx.x / pairs;
        int own = blockIdx.x % pairs * HEADS_PER_BLOCK;
        active = own + warpgroup < perGroup;
        head = group * perGroup + own + (active ? warpgroup : 0);
    }
};

__device__ __forceinline__ uint32_t sharedAddress(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/**
 * One thread's share of copying 64 rows of TILES * 64 columns into swizzled tiles. With 16 rows from one of its pieces to
 * the next, the swizzle and the unit stay the same, and only two additions are left per piece.
 */
template <int TILES, int COPIERS>
struct TileCopy {
    static constexpr int UNITS = TILES * 8;
    static constexpr int ROWS = COPIERS / UNITS;
    const __nv_bfloat16* from;
    int stride;
    int row;
    uint32_t to;

    __device__ __forceinline__ TileCopy(const __nv_bfloat16* base, int stride, int copier) : stride(stride) {
        int unit = copier % UNITS;
        row = copier / UNITS;
        from = base + static_cast<long long>(row) * stride + unit * 8;
        to = (unit >> 3) * TILE_BYTES + row * ROW_BYTES + (((unit & 7) ^ (row & 7)) << 4);
    }
    __device__ __forceinline__ void copy(uint32_t tile, int chunk, int length) const {
        const __nv_bfloat16* p = from + static_cast<long long>(chunk) * TOKENS * stride;
        int left = length - chunk * TOKENS - row;
#pragma unroll
        for (int i = 0; i < TOKENS / ROWS; i++) {
            bool inside = i * ROWS < left;
            copy16(tile + to + i * ROWS * ROW_BYTES, inside ? p : from, inside);
            p += ROWS * stride;
        }
    }
};

__device__ __forceinline__ void copyScalars(const Scalars* to, const Scalars* from, const Place& at) {
    if (at.thread < static_cast<int>(sizeof(Scalars) / 16)) {
        copy16(sharedAddress(to) + at.thread * 16, reinterpret_cast<const uint8_t*>(from) + at.thread * 16, true);
    }
}

/** A 64 x 16 operand (factor w x)^T in registers: rows are channels, k are tokens [16 step, 16 step + 16). */
__device__ __forceinline__ void weighted(uint32_t (&a)[4], uint32_t address, const float* weight, float factor) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address)
                 : "memory");
    float2 w = *reinterpret_cast<const float2*>(weight);
    float2 v = *reinterpret_cast<const float2*>(weight + 8);
    w.x *= factor, w.y *= factor, v.x *= factor, v.y *= factor;
    a[0] = packed(lowOf(a[0]) * w.x, highOf(a[0]) * w.y);
    a[1] = packed(lowOf(a[1]) * w.x, highOf(a[1]) * w.y);
    a[2] = packed(lowOf(a[2]) * v.x, highOf(a[2]) * v.y);
    a[3] = packed(lowOf(a[3]) * v.x, highOf(a[3]) * v.y);
}

/** Where in a tile of x a thread points ldmatrix.trans for {@link weighted}: 16 tokens further is 16 rows further. */
__device__ __forceinline__ uint32_t weightedOffset(const Place& at) {
    int row = ((at.lane >> 4) << 3) + (at.lane & 7);
    int unit = at.warp * 2 + ((at.lane >> 3) & 1);
    return row * ROW_BYTES + ((unit ^ (at.lane & 7)) << 4);
}

/** Where a thread points ldmatrix or stmatrix for rows [16 warp, 16 warp + 16): XOR with (n % 8) << 4 for column block n. */
__device__ __forceinline__ uint32_t rowsOffset(const Place& at) {
    int row = at.warp * 16 + (((at.lane >> 3) & 1) << 3) + (at.lane & 7);
    return row * ROW_BYTES + (((at.lane >> 4) ^ (at.lane & 7)) << 4);
}

__device__ __forceinline__ void storeMatrix(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}

/** Loads (ADD false) or writes a 64 x 128 accumulator from or to float32 memory. */
template <class Visit>
__device__ __forceinline__ void visitState(const Place& at, Visit visit) {
#pragma unroll
    for (int n = 0; n < 16; n++) {
        int offset = at.row * STATE + n * 8 + at.quad * 2;
        visit(offset, 4 * n);
        visit(offset + 8 * STATE, 4 * n + 2);
    }
}

constexpr int STATES_STAGES = 3;

struct StatesShared {
    uint8_t b[STATES_STAGES][2 * TILE_BYTES];
    uint8_t x[STATES_STAGES][HEADS_PER_BLOCK][TILE_BYTES];
    Scalars scalars[STATES_STAGES][HEADS_PER_BLOCK];
};

/**
 * What part blockIdx.y adds to the state: [batch, head, part, 64, 128], and log2 of its decay. It walks backwards, so
 * that the decay to the end of the part is a factor of each chunk's weights and the sums are never rescaled; once that
 * factor is zero in float32, earlier chunks add nothing.
 */
__device__ __forceinline__ void statesKernel(uint8_t* memory, const __nv_bfloat16* x, const __nv_bfloat16* b,
                                             const Scalars* scalars, float* states, float* totals, const Shape& s) {
    StatesShared& shared = *reinterpret_cast<StatesShared*>(memory);
    Place at(s);
    int first = blockIdx.y * s.partChunks;
    int last = min(first + s.partChunks, s.chunks) - 1;
    long long token = static_cast<long long>(at.batch) * s.length;
    TileCopy<2, BLOCK> copyB(b + token * s.strideB + at.group * STATE, s.strideB, threadIdx.x);
    TileCopy<1, 128> copyX(x + token * s.strideX + at.head * HEAD_DIM, s.strideX, at.thread);
    const Scalars* own = scalars + (static_cast<long long>(at.batch) * s.heads + at.head) * s.chunks;
    auto fetch = [&](int back) {
        int chunk = last - back;
        if (chunk >= first) {
            int slot = back % STATES_STAGES;
            copyB.copy(sharedAddress(shared.b[slot]), chunk, s.length);
            copyX.copy(sharedAddress(shared.x[slot][at.warpgroup]), chunk, s.length);
            copyScalars(&shared.scalars[slot][at.warpgroup], own + chunk, at);
        }
        commitCopies();
    };
    float state[64];
#pragma unroll
    for (int i = 0; i < 64; i++) state[i] = 0.0f;
    float factor = 1.0f;
#pragma unroll
    for (int i = 0; i < STATES_STAGES - 1; i++) fetch(i);
#pragma unroll 1
    for (int back = 0; back <= last - first; back++) {
        int slot = back % STATES_STAGES;
        awaitCopies<STATES_STAGES - 2>();
        publishShared();
        if (!__syncthreads_or(factor > 0.0f)) break;
        fetch(back + STATES_STAGES - 1);
        const Scalars& now = shared.scalars[slot][at.warpgroup];
        uint32_t tileX = sharedAddress(shared.x[slot][at.warpgroup]) + weightedOffset(at);
        uint64_t tileB = describe(sharedAddress(shared.b[slot]));
        uint32_t a[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            weighted(a[k], tileX + k * 16 * ROW_BYTES, now.weight + k * 16 + at.quad * 2, factor);
        }
        factor *= exp2Fast(now.sum[TOKENS - 1]);
        pin(state);
        openProducts();
#pragma unroll
        for (int k = 0; k < 4; k++) product128(state, a[k], tileB + k * (16 * ROW_BYTES >> 4));
        commitProducts();
        awaitProducts<0>();
        pin(state);
    }
    awaitCopies<0>();
    float total = 0.0f;
    for (int chunk = first + at.lane; chunk <= last; chunk += 32) total += own[chunk].sum[TOKENS - 1];
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) total += __shfl_xor_sync(0xffffffffu, total, reach);
    if (at.active) {
        long long index = (static_cast<long long>(at.batch) * s.heads + at.head) * s.parts + blockIdx.y;
        float* out = states + index * (HEAD_DIM * STATE);
        visitState(at, [&](int offset, int i) {
            *reinterpret_cast<float2*>(out + offset) = make_float2(state[i], state[i + 1]);
        });
        if (at.thread == 0) totals[index] = total;
    }
}

constexpr int SHARED_SLOTS = 4;  // of B and C: the other warpgroup may be a chunk behind
constexpr int OWN_SLOTS = 3;

struct ScanShared {
    uint8_t c[SHARED_SLOTS][2 * TILE_BYTES];
    uint8_t b[SHARED_SLOTS][2 * TILE_BYTES];
    uint8_t x[OWN_SLOTS][HEADS_PER_BLOCK][TILE_BYTES];
    uint8_t state[HEADS_PER_BLOCK][2 * TILE_BYTES];
    Scalars scalars[OWN_SLOTS][HEADS_PER_BLOCK];
    float skip[HEADS_PER_BLOCK][HEAD_DIM];
};

/** Barriers 3 .. 6: warpgroup w has the tiles of even (3 + 2 w) or odd (4 + 2 w) chunks. */
__device__ __forceinline__ void announceTiles(int warpgroup, int chunk) {
    asm volatile("bar.arrive %0, 256;" ::"r"(3 + 2 * warpgroup + (chunk & 1)) : "memory");
}
__device__ __forceinline__ void awaitTiles(int otherWarpgroup, int chunk) {
    asm volatile("bar.sync %0, 256;" ::"r"(3 + 2 * otherWarpgroup + (chunk & 1)) : "memory");
}

/** Rounds the state to bfloat16 into its two tiles: rows are channels, columns along the state dimension. */
__device__ __forceinline__ void publishState(uint32_t to, const float (&state)[64]) {
#pragma unroll
    for (int n = 0; n < 16; n += 2) {
        storeMatrix((to ^ ((n & 7) << 4)) + (n >> 3) * TILE_BYTES, packed(state[4 * n], state[4 * n + 1]),
                    packed(state[4 * n + 2], state[4 * n + 3]), packed(state[4 * n + 4], state[4 * n + 5]),
                    packed(state[4 * n + 6], state[4 * n + 7]));
    }
}

/** The state that enters segment blockIdx.y: the initial state and the parts before, each decayed by those after it. */
__device__ __forceinline__ void enterSegment(float (&state)[64], const float* initial, const float* states,
                                             const float* totals, const Shape& s, const Place& at) {
    long long head = static_cast<long long>(at.batch) * s.heads + at.head;
#pragma unroll
    for (int i = 0; i < 64; i++) state[i] = 0.0f;
    int before = blockIdx.y * s.partsPerSegment;
#pragma unroll 1
    for (int part = initial != nullptr ? -1 : 0; part < before; part++) {
        long long index = head * s.parts + part;
        const float* from = part < 0 ? initial + head * (HEAD_DIM * STATE) : states + index * (HEAD_DIM * STATE);
        float decay = part < 0 ? 1.0f : exp2Fast(totals[index]);
        visitState(at, [&](int offset, int i) {
            float2 v = *reinterpret_cast<const float2*>(from + offset);
            state[i] = fmaf(state[i], decay, v.x);
            state[i + 1] = fmaf(state[i + 1], decay, v.y);
        });
    }
}

__device__ __forceinline__ float gated(float v, float gate) {
    return v * gate / (1.0f + exp2Fast(-static_cast<float>(LOG2E) * gate));
}

template <bool GATED>
__device__ __forceinline__ void scanKernel(uint8_t* memory, const __nv_bfloat16* x, const __nv_bfloat16* b,
                                           const __nv_bfloat16* c, const Scalars* scalars, const float* initial,
                                           const float* states, const float* totals, const float* skip,
                                           const __nv_bfloat16* z, __nv_bfloat16* y, float* final, const Shape& s) {
    ScanShared& shared = *reinterpret_cast<ScanShared*>(memory);
    Place at(s);
    int segmentChunks = s.partsPerSegment * s.partChunks;
    int first = blockIdx.y * segmentChunks;
    int last = min(first + segmentChunks, s.chunks);
    long long token = static_cast<long long>(at.batch) * s.length;
    TileCopy<2, BLOCK> copyC(c + token * s.strideC + at.group * STATE, s.strideC, threadIdx.x);
    TileCopy<2, BLOCK> copyB(b + token * s.strideB + at.group * STATE, s.strideB, threadIdx.x);
    TileCopy<1, 128> copyX(x + token * s.strideX + at.head * HEAD_DIM, s.strideX, at.thread);
    const Scalars* own = scalars + (static_cast<long long>(at.batch) * s.heads + at.head) * s.chunks;
    auto fetch = [&](int chunk, int ownSlot) {
        if (chunk < last) {
            copyC.copy(sharedAddress(shared.c[chunk % SHARED_SLOTS]), chunk, s.length);
            copyB.copy(sharedAddress(shared.b[chunk % SHARED_SLOTS]), chunk, s.length);
            copyX.copy(sharedAddress(shared.x[ownSlot][at.warpgroup]), chunk, s.length);
            copyScalars(&shared.scalars[ownSlot][at.warpgroup], own + chunk, at);
        }
        commitCopies();
    };
    fetch(first, 0);
    fetch(first + 1, 1);
    if (at.thread < HEAD_DIM) {
        float d = 0.0f;
        if (s.skipMode == SKIP_PER_HEAD) d = skip[at.head];
        if (s.skipMode == SKIP_PER_CHANNEL) d = skip[at.head * HEAD_DIM + at.thread];
        shared.skip[at.warpgroup][at.thread] = d;
    }
    float state[64];
    enterSegment(state, initial, states, totals, s, at);
    uint32_t tileH = sharedAddress(shared.state[at.warpgroup]);
    publishState(tileH + rowsOffset(at), state);
    uint64_t stateTile = describe(tileH);
    awaitCopies<1>();
    publishShared();
    announceTiles(at.warpgroup, first);
    // y leaves in the order of x's copy: whole rows of 128 bytes.
    int copyRow = at.thread >> 3;
    uint32_t copyOffset = copyRow * ROW_BYTES + (((at.thread & 7) ^ (copyRow & 7)) << 4);
    __nv_bfloat16* to = y + (token + copyRow) * s.strideY + at.head * HEAD_DIM + (at.thread & 7) * 8;

    int ownSlot = 0;
#pragma unroll 1
    for (int chunk = first; chunk < last; chunk++) {
        // The other warpgroup's share of this chunk is there, and it is done with the chunk before the last one.
        publishShared();
        awaitTiles(at.warpgroup ^ 1, chunk);
        fetch(chunk + 2, ownSlot >= 1 ? ownSlot - 1 : OWN_SLOTS - 1);
        const Scalars& now = shared.scalars[ownSlot][at.warpgroup];
        uint64_t tileC = describe(sharedAddress(shared.c[chunk % SHARED_SLOTS]));
        uint64_t tileB = describe(sharedAddress(shared.b[chunk % SHARED_SLOTS]));
        uint32_t addressX = sharedAddress(shared.x[ownSlot][at.warpgroup]);

        float decay = exp2Fast(now.sum[TOKENS - 1]);
#pragma unroll
        for (int i = 0; i < 64; i++) state[i] *= decay;
        pin(state);
        float scores[32];
        float out[32];
        openProducts();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            uint64_t along = (k >> 2) * (TILE_BYTES >> 4) + (k & 3) * (32 >> 4);
            if (k == 0) {
                product64<false>(scores, tileC, tileB);
            } else {
                product64<true>(scores, tileC + along, tileB + along);
            }
        }
        commitProducts();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            uint64_t along = (k >> 2) * (TILE_BYTES >> 4) + (k & 3) * (32 >> 4);
            if (k == 0) {
                product64<false>(out, tileC, stateTile);
            } else {
                product64<true>(out, tileC + along, stateTile + along);
            }
        }
        commitProducts();
        uint32_t a[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            weighted(a[k], addressX + weightedOffset(at) + k * 16 * ROW_BYTES, now.weight + k * 16 + at.quad * 2, 1.0f);
        }
        openProducts();
#pragma unroll
        for (int k = 0; k < 4; k++) product128(state, a[k], tileB + k * (16 * ROW_BYTES >> 4));
        commitProducts();
        // This warpgroup's share of the next chunk was asked for a whole chunk ago.
        awaitCopies<1>();
        publishShared();
        if (chunk + 1 < last) announceTiles(at.warpgroup, chunk + 1);

        awaitProducts<2>();
        pin(scores);
        float sumLow = now.sum[at.row];
        float sumHigh = now.sum[at.row + 8];
        uint32_t m[16];
#pragma unroll
        for (int n = 0; n < 8; n++) {
            int j = n * 8 + at.quad * 2;
            float2 from = *reinterpret_cast<const float2*>(now.source + j);
            float v0 = scores[4 * n] * exp2Fast(sumLow - from.x);
            float v1 = scores[4 * n + 1] * exp2Fast(sumLow - from.y);
            float v2 = scores[4 * n + 2] * exp2Fast(sumHigh - from.x);
            float v3 = scores[4 * n + 3] * exp2Fast(sumHigh - from.y);
            m[2 * n] = packed(j <= at.row ? v0 : 0.0f, j + 1 <= at.row ? v1 : 0.0f);
            m[2 * n + 1] = packed(j <= at.row + 8 ? v2 : 0.0f, j + 1 <= at.row + 8 ? v3 : 0.0f);
        }
        float decayLow = exp2Fast(sumLow);
        float decayHigh = exp2Fast(sumHigh);
        awaitProducts<1>();
        pin(out);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            out[4 * n] *= decayLow;
            out[4 * n + 1] *= decayLow;
            out[4 * n + 2] *= decayHigh;
            out[4 * n + 3] *= decayHigh;
        }
        pin(out);
        openProducts();
        uint64_t tileX = describe(addressX);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            product64(out, m[4 * k], m[4 * k + 1], m[4 * k + 2], m[4 * k + 3], tileX + k * (16 * ROW_BYTES >> 4));
        }
        commitProducts();
        awaitProducts<0>();
        pin(state);
        pin(out);
        // All warps are past C H^T and M x: the tile of H is free, and y can take the place of x.
        syncWarpgroup(at.warpgroup);
        publishState(tileH + rowsOffset(at), state);
        int left = s.length - chunk * TOKENS;
#pragma unroll
        for (int n = 0; n < 8; n += 2) {
            uint32_t address = (addressX + rowsOffset(at)) ^ (n << 4);
            uint32_t v[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                         : "r"(address)
                         : "memory");
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int column = (n + (i >> 1)) * 8 + at.quad * 2;
                float2 d = *reinterpret_cast<const float2*>(shared.skip[at.warpgroup] + column);
                int at4 = 4 * (n + (i >> 1)) + 2 * (i & 1);
                float v0 = fmaf(d.x, lowOf(v[i]), out[at4]);
                float v1 = fmaf(d.y, highOf(v[i]), out[at4 + 1]);
                if constexpr (GATED) {
                    int row = min(at.row + (i & 1) * 8, left - 1);
                    uint32_t gate = *reinterpret_cast<const uint32_t*>(
                        z + (token + static_cast<long long>(chunk) * TOKENS + row) * s.strideZ + at.head * HEAD_DIM
                        + column);
                    v0 = gated(v0, lowOf(gate));
                    v1 = gated(v1, highOf(gate));
                }
                v[i] = packed(v0, v1);
            }
            storeMatrix(address, v[0], v[1], v[2], v[3]);
        }
        syncWarpgroup(at.warpgroup);
        if (at.active) {
            __nv_bfloat16* row = to + static_cast<long long>(chunk) * TOKENS * s.strideY;
#pragma unroll
            for (int i = 0; i < TOKENS; i += 16) {
                uint4 v;
                asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                             : "r"(addressX + copyOffset + i * ROW_BYTES)
                             : "memory");
                if (copyRow + i < left) *reinterpret_cast<uint4*>(row) = v;
                row += 16 * s.strideY;
            }
        }
        ownSlot = ownSlot + 1 < OWN_SLOTS ? ownSlot + 1 : 0;
    }
    if (final != nullptr && last == s.chunks && at.active) {
        float* out = final + (static_cast<long long>(at.batch) * s.heads + at.head) * (HEAD_DIM * STATE);
        visitState(at, [&](int offset, int i) {
            *reinterpret_cast<float2*>(out + offset) = make_float2(state[i], state[i + 1]);
        });
    }
}

#endif

}  // namespace hopper
}  // namespace shardsmith

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
extern "C" __global__ void __launch_bounds__(256)
    hopper_decay(const __nv_bfloat16* dt, const float* aLog, const float* bias, shardsmith::hopper::Scalars* scalars,
                 const shardsmith::hopper::Shape s) {
    shardsmith::hopper::decayKernel(dt, aLog, bias, scalars, s);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    hopper_states(const __nv_bfloat16* x, const __nv_bfloat16* b, const shardsmith::hopper::Scalars* scalars,
                  float* states, float* totals, const shardsmith::hopper::Shape s) {
    extern __shared__ __align__(1024) uint8_t memory[];
    shardsmith::hopper::statesKernel(memory, x, b, scalars, states, totals, s);
}

#define SHARDSMITH_HOPPER_SCAN(NAME, GATED)                                                                           \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                              \
        NAME(const __nv_bfloat16* x, const __nv_bfloat16* b, const __nv_bfloat16* c,                                  \
             const shardsmith::hopper::Scalars* scalars, const float* initial, const float* states,                   \
             const float* totals, const float* skip, const __nv_bfloat16* z, __nv_bfloat16* y, float* final,          \
             const shardsmith::hopper::Shape s) {                                                                     \
        extern __shared__ __align__(1024) uint8_t memory[];                                                           \
        shardsmith::hopper::scanKernel<GATED>(memory, x, b, c, scalars, initial, states, totals, skip, z, y, final,   \
                                              s);                                                                     \
    }

SHARDSMITH_HOPPER_SCAN(hopper_scan, false)
SHARDSMITH_HOPPER_SCAN(hopper_scan_gated, true)
#endif
