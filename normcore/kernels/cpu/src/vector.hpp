// Vectors as wide as the machine's registers, and the functions of the gates on them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef NORMBENCH_FLOAT64
using real = double;
using whole = int64_t;
#else
using real = float;
using whole = int32_t;
#endif

// Mark of functions in loops over vectors, where a call would cost as much as the work.
#define INLINE inline __attribute__((always_inline))
// Mark of functions that are seldom called, and must not be inlined into others.
#define RARE __attribute__((noinline, cold))

// Wider vectors than the registers run 7 to 13 times slower.
#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif
constexpr int W = VECTOR_BYTES / sizeof(real);  // lanes

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef whole lanes __attribute__((vector_size(VECTOR_BYTES)));

typedef real anywhere __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real))));

INLINE vec load(const real* from) { return *reinterpret_cast<const anywhere*>(from); }
INLINE void store(real* to, vec v) { *reinterpret_cast<anywhere*>(to) = v; }

// Load the first n lanes; the other lanes are 0.
INLINE vec load(const real* from, int n) {
    if (n >= W) return load(from);
    vec v = {};
    std::memcpy(&v, from, n * sizeof(real));
    return v;
}

INLINE void store(real* to, vec v, int n) {
    if (n >= W) return store(to, v);
    std::memcpy(to, &v, n * sizeof(real));
}

// Store past the caches, for numbers that are read much later: the cache line that is overwritten need not be fetched.
// `to` is a multiple of VECTOR_BYTES. Other threads may read the numbers after a call of `streamed`.
INLINE void stream(real* to, vec v) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#elif defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(v));
#else
    store(to, v);
#endif
}

INLINE void streamed() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

INLINE vec all(real value) { return value - vec{}; }

// 1 in the first n lanes, 0 in the others.
INLINE vec first(int n) {
    vec v = {};
    for (int lane = 0; lane < W; ++lane) v[lane] = lane < n ? 1 : 0;
    return v;
}

// Maximum and minimum; b if a or b is NaN. Compilers do not turn a comparison and a choice into one instruction.
#if defined(__AVX512F__) && !defined(NORMBENCH_FLOAT64)
INLINE vec max(vec a, vec b) { return _mm512_max_ps(a, b); }
INLINE vec min(vec a, vec b) { return _mm512_min_ps(a, b); }
#elif defined(__AVX__) && !defined(NORMBENCH_FLOAT64)
INLINE vec max(vec a, vec b) { return _mm256_max_ps(a, b); }
INLINE vec min(vec a, vec b) { return _mm256_min_ps(a, b); }
#else
INLINE vec max(vec a, vec b) { return a > b ? a : b; }
INLINE vec min(vec a, vec b) { return a < b ? a : b; }
#endif

constexpr whole SIGN = std::numeric_limits<whole>::min();
INLINE lanes bits(vec v) { return reinterpret_cast<lanes>(v); }
INLINE vec abs(vec v) { return reinterpret_cast<vec>(bits(v) & ~SIGN); }
INLINE vec with_sign(vec v, vec of) { return reinterpret_cast<vec>((bits(v) & ~SIGN) | (bits(of) & SIGN)); }

INLINE vec sqrt(vec v) {
    real of_lane[W];
    std::memcpy(of_lane, &v, sizeof v);
    for (real& lane : of_lane) lane = std::sqrt(lane);
    return load(of_lane);
}

INLINE double sum(double v) { return v; }

// The sum of all lanes, in each of them.
template <int half = W / 2>
INLINE vec sum(vec v) {
    if constexpr (half == 0) {
        return v;
    } else {
        lanes other;
        for (int lane = 0; lane < W; ++lane) other[lane] = lane ^ half;
        return sum<half / 2>(v + __builtin_shuffle(v, other));
    }
}

// Transpose W by W numbers, in blocks of half the size at a time.
template <int half = W / 2>
INLINE void transpose(vec (&rows)[W]) {
    if constexpr (half > 0) {
        lanes upper, lower;
        for (int lane = 0; lane < W; ++lane) {
            upper[lane] = lane & half ? W + lane - half : lane;
            lower[lane] = lane & half ? W + lane : lane + half;
        }
        for (int row = 0; row < W; ++row) {
            if (row & half) continue;
            const vec above = rows[row], below = rows[row + half];
            rows[row] = __builtin_shuffle(above, below, upper);
            rows[row + half] = __builtin_shuffle(above, below, lower);
        }
        transpose<half / 2>(rows);
    }
}

// e^x = 2^n (1 + p), where n is x / ln 2 rounded, and p = e^r - 1 for the remainder r, |r| <= ln(2) / 2.
struct Exponential {
    vec power;  // 2^n
    vec p;
};

// Between these exponents e^x is normal; at the largest, and little below it, e^x is infinite.
constexpr real SMALLEST_EXPONENT = sizeof(real) == 4 ? real(-87) : real(-708);
constexpr real LARGEST_EXPONENT = sizeof(real) == 4 ? real(88.73) : real(709.8);

// Compute e^x by the Taylor series of e^r - 1; the first term left out is below the last place. x must be from
// SMALLEST_EXPONENT to LARGEST_EXPONENT.
INLINE Exponential exponential(vec x) {
    constexpr bool is_float = sizeof(real) == 4;
    constexpr int mantissa = is_float ? 23 : 52;
    constexpr int terms = is_float ? 7 : 13;
    constexpr real rounds = is_float ? real(0x1.8p23) : real(0x1.8p52);  // adding it rounds to a whole number
    constexpr real ln2_high = is_float ? real(0x1.62e4p-1) : real(0x1.62e42fefa38p-1);  // n times ln2_high is exact
    constexpr real ln2_low = is_float ? real(0x1.7f7d1cf79abcap-20) : real(0x1.ef35793c76730p-45);
    const vec shifted = x * real(1.4426950408889634) + rounds;
    const vec n = shifted - rounds;
    const vec r = (x - n * ln2_high) - n * ln2_low;
    constexpr double one_over[] = {1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                   1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    vec p = all(real(one_over[terms - 1]));
    for (int k = terms - 2; k >= 0; --k) p = p * r + real(one_over[k]);
    lanes bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    constexpr whole one = is_float ? whole(127) : whole(1023);
    bits = (bits + one) << mantissa;  // the low bits of `shifted` hold n
    vec power;
    std::memcpy(&power, &bits, sizeof power);
    return {power, p * r};
}

// 1 / (1 + e^-x): zero below -LARGEST_EXPONENT, as gradients of tiny values would grow by large weights at every step
INLINE vec sigmoid(vec x) {
    const Exponential e = exponential(max(all(SMALLEST_EXPONENT), min(all(LARGEST_EXPONENT), -x)));  // NaN stays NaN
    return 1 / (1 + e.power * (1 + e.p));
}

// (1 - e^-2|x|) / (1 + e^-2|x|), with the sign of x. e^-2|x| - 1 is computed as 2^n p + (2^n - 1), so that no digits
// cancel for small x.
INLINE vec tanh(vec x) {
    const Exponential e = exponential(max(all(-40), -2 * abs(x)));
    const vec less_one = e.power * e.p + (e.power - 1);  // e^-2|x| - 1
    return with_sign(less_one / (2 + less_one), x);
}
