// The caller's description of what to compute. `recurrence.py` has the same fields in the same order.
//
// Shapes: T steps, B examples, F inputs, H hidden units, G gates (LSTM 4: i, f, g, o; GRU 3: r, z, n; RNN 1).
#pragma once

#include "vector.hpp"

enum class Method : int64_t { none, layer_norm, rms_norm, batch_norm, population };

// A place of a cell where a norm may stand. For the cell c, G is 1.
struct Site {
    int64_t normalized;  // whether the site normalizes; if not, only the shift is added
    const real* gain;    // (G H), null: 1
    const real* shift;   // (G H), null: 0
    double eps;
    const real *mean, *var;  // population statistics of the `known` first steps, (known, G H); later steps use the last
    int64_t known, first;    // first: which of the known steps step 0 is
    real* statistics;  // saved for backward: (T, lines, `kept_of_line`), or null
    real* moments;     // (2, T, G H): means and variances that a batch norm measured; null if not needed
    real* grad_gain;   // (G H), null if there is no gain
    real* grad_shift;  // (G H), null if there is no shift
};

struct Recurrence {
    int64_t steps, batch, inputs, hidden, threads;
    Method method;
    int64_t together;            // whether the input's term is added to the recurrent term before the norm
    int64_t per_gate;            // whether each gate is normalized by itself, in methods over features
    int64_t carries_normalized;  // whether an LSTM carries the normalized cell to the next step
    int64_t bias_inside, bias_outside;
    const real *x, *h0, *c0, *weight_ih, *weight_hh;  // (T, B, F) (B, H) (B, H) (G H, F) (G H, H)
    const real *bias, *bias_hh;  // (G H); the second, or null, is added to the first, in a GRU to the recurrent term
    const uint8_t* mask;         // (T, B), or null
    Site input, recurrent, cell;
    real *y, *end_h, *end_c;               // (T, B, H), (B, H), (B, H)
    real *kept_recurrent, *kept_input;     // (T, B, stride) W_h h and W_x x, saved for backward, or null: an RNN
                                           // without norm needs neither; both begin with a cache line
    real* kept_c;                          // (T, B, padded H) the cells c that are carried to the next step, or null
    real* longest_h;                       // (T) if a batch norm saves no statistics: the length of the longest h
                                           // that each step begins with
    const real *grad_y, *grad_h, *grad_c;  // (T, B, H), (B, H), (B, H), null: 0; grad_h, grad_c of the last state
    real *grad_x, *grad_h0, *grad_c0, *grad_weight_ih, *grad_weight_hh;  // grad_x null: not needed
    real *grad_bias, *grad_bias_hh;
};
