// One step of each cell, for one vector of units, from the two terms of the summed inputs.
//
// x[] and h[] are the input's term and the recurrent term of each gate, already normalized and with biases.
#pragma once

#include "vector.hpp"

struct LSTM {
    static constexpr int gates = 4;  // i, f, g, o
    static constexpr int block_of[] = {0, 0, 0, 0};  // gates of the same block are normalized together
    static constexpr bool has_cell = true, adds_terms = true;

    vec i, f, g, o;

    // LN Eq. 20, RBN Eq. 14
    INLINE LSTM(const vec (&x)[gates], const vec (&h)[gates])
        : i(sigmoid(x[0] + h[0])), f(sigmoid(x[1] + h[1])), g(tanh(x[2] + h[2])), o(sigmoid(x[3] + h[3])) {}

    // c' = f c + i g: LN Eq. 21, RBN Eq. 15
    INLINE vec cell(vec c) const { return f * c + i * g; }

    // Gradients of the summed inputs of i, f and g, from the gradient of c' = f c + i g: the other factor times
    // sigmoid' = sigmoid (1 - sigmoid), or tanh' = 1 - tanh^2.
    INLINE static void backward(vec dc, vec i, vec f, vec g, vec c, vec (&d)[gates]) {
        d[0] = dc * g * (i * (1 - i));
        d[1] = dc * c * (f * (1 - f));
        d[2] = dc * i * (1 - g * g);
    }
};

struct GRU {
    static constexpr int gates = 3;  // r, z, n
    static constexpr int block_of[] = {0, 0, 1};
    static constexpr bool has_cell = false, adds_terms = false, is_its_output = false;

    vec r, z, n;

    // LN Eq. 26, 27
    INLINE GRU(const vec (&x)[gates], const vec (&h)[gates])
        : r(sigmoid(x[0] + h[0])), z(sigmoid(x[1] + h[1])), n(tanh(x[2] + r * h[2])) {}

    // h' = z h + (1 - z) n: LN Eq. 28
    INLINE vec state(vec h) const { return n + z * (h - n); }

    // Gradients of both terms, from the gradient dh of h' = z h + (1 - z) n. `direct` is the part of the gradient of h
    // that does not go through W_h: z dh.
    INLINE void backward(vec dh, vec h_before, const vec (&h)[gates], vec (&dx)[gates], vec (&dr)[gates], vec& direct) const {
        const vec dn = dh * (1 - z) * (1 - n * n);
        dx[0] = dr[0] = dn * h[2] * (r * (1 - r));
        dx[1] = dr[1] = dh * (h_before - n) * (z * (1 - z));
        dx[2] = dn;
        dr[2] = dn * r;
        direct = dh * z;
    }
};

struct RNN {
    static constexpr int gates = 1;
    static constexpr int block_of[] = {0};
    static constexpr bool has_cell = false, adds_terms = true, is_its_output = true;

    vec y;

    INLINE explicit RNN(vec y) : y(y) {}

    // LN Eq. 4
    INLINE RNN(const vec (&x)[gates], const vec (&h)[gates]) : y(tanh(x[0] + h[0])) {}

    INLINE vec state(vec) const { return y; }

    INLINE void backward(vec dh, vec, const vec (&)[gates], vec (&dx)[gates], vec (&dr)[gates], vec& direct) const {
        dx[0] = dr[0] = dh * (1 - y * y);
        direct = vec{};
    }
};
