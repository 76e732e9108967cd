// One forward step of a line, from summed inputs that are already computed.
#pragma once

#include "cells.hpp"
#include "prepared.hpp"

// Buffers that lines read and write, besides the parameters.
struct Buffers {
    Steps inputs, recurrents, cells, states;  // W_x x, W_h h, c, and h: h after step t is at t, h before it at t + 1
};

// Working memory for the cells c and the output gates of a line.
struct Scratch {
    Array c, o;
    explicit Scratch(int count) : c(size_t(count) * W), o(size_t(count) * W) {}
};

// One step of a line. Its four parts are called one after the other. Over features, several lines take turns at each
// part: the processor has to wait for the sums over a line, and can wait for several lines at once.
template <class Cell, Method method>
class ForwardLine {
    static constexpr int G = Cell::gates;
    static constexpr bool features = over_features(method);

    const Prepared<Cell, method>& p;
    const Recurrence& r;
    const Line line;
    const int t, index, row;
    const ptrdiff_t of_gates, of_units;
    const real *x, *h_before, *c_before;
    real *a, *h_after, *c_after;
    const uint8_t* mask;
    Scratch& scratch;
    const Affine affine;
    Measured<G> of_x, of_h;
    Measured<1> of_c;

   public:
    ForwardLine(const Prepared<Cell, method>& p, const Buffers& buffers, int t, int index, const Affine& affine, Scratch& scratch)
        : p(p),
          r(p.r),
          line(p.line(index)),
          t(t),
          index(index),
          row(features ? index : 0),
          of_gates(features ? 0 : p.gates.at(index, 0)),
          of_units(features ? 0 : index * W),
          x(buffers.inputs.at(t, row) + of_gates),
          h_before(buffers.states.at(t + 1, row) + of_units),
          c_before(Cell::has_cell && t ? buffers.cells.at(t - 1, row) + of_units : nullptr),
          a(buffers.recurrents.at(t, row) + of_gates),
          h_after(buffers.states.at(t, row) + of_units),
          c_after(Cell::has_cell ? buffers.cells.at(t, row) + of_units : nullptr),
          mask(r.mask ? r.mask + ptrdiff_t(t) * p.B + row : nullptr),
          scratch(scratch),
          affine(affine) {}

    // Tell if the line's example does not have this step; only for lines over features.
    bool is_padding() const { return features && mask && !*mask; }

    // Copy the state of a step of padding from the step before.
    void stay() {
        for (int j = 0; j < line.count; ++j) {
            store(h_after + j * line.units, load(h_before + j * line.units));
            if constexpr (Cell::has_cell) store(c_after + j * line.units, c_at(j));
        }
    }

    // Measure the statistics of the sums. `longest_h`: largest |h| of all examples, if statistics are over examples.
    INLINE void measure(real longest_h) {
        vec size_h[G] = {}, size_x[G] = {};
        p.sizes_of(index, t, longest_h, size_h, size_x);
        of_h = measured(r.recurrent, p.recurrent, p.blocks, a, line, size_h);
        of_x = p.together ? Measured<G>::nothing() : measured(r.input, p.input, p.blocks, x, line, size_x);
    }

    // Compute the gates and, for an LSTM, c' (Eq. 21, 15); for other cells, the new state.
    INLINE void gates(real* squares) {
        for (int j = 0; j < line.count; ++j) {
            vec term_x[G], term_h[G];
            terms(j, term_x, term_h);
            const Cell cell(term_x, term_h);
            if constexpr (Cell::has_cell) {
                if (keeps_gates<Cell, method> && r.kept_recurrent) keep(j, cell);
                store(scratch.c + j * W, cell.cell(c_at(j)));
                store(scratch.o + j * W, cell.o);
            } else {
                goes_on(j, cell.state(load(h_before + j * line.units)), vec{}, squares);
            }
        }
    }

    INLINE void measure_cell() {
        Line fresh = line;
        fresh.gates = W;
        of_c = measured(r.cell, p.cell, Blocks<OfCell>{true}, scratch.c, fresh, {vec{}});
    }

    // Compute h' = o tanh(norm(c')): Eq. 22, 16. `squares`: where h^2 is added up, if statistics are over examples.
    INLINE void outputs(real* squares) {
        for (int j = 0; j < line.count; ++j) {
            const ptrdiff_t at = of_units + j * line.of_units;
            const vec c = load(scratch.c + j * W);
            const vec read = normalized<1>(c, of_c, 0, affine.gain_c + at) + load(affine.shift_c + at);
            goes_on(j, load(scratch.o + j * W) * tanh(read), r.carries_normalized ? read : c, squares);
        }
    }

   private:
    INLINE vec c_at(int j) const {
        return t ? load(c_before + j * line.units)
                 : load(r.c0 + ptrdiff_t(row) * p.H + of_units + j * line.usual, line.in(j));
    }

    INLINE void terms(int j, vec (&term_x)[G], vec (&term_h)[G]) const {
        for (int g = 0; g < G; ++g) {
            const ptrdiff_t at = of_gates + j * line.of_gates + g * W;
            term_h[g] = normalized<G>(load(a + j * line.gates + g * W), of_h, g, affine.gain_h + at);
            term_x[g] = load(affine.shift + at);
            if (!p.together) term_x[g] += normalized<G>(load(x + j * line.gates + g * W), of_x, g, affine.gain_x + at);
            if constexpr (!Cell::adds_terms) term_h[g] += load(affine.shift_h + at);
        }
    }

    INLINE void keep(int j, const Cell& cell) const {
        const vec gates[G] = {cell.i, cell.f, cell.g, cell.o};
        real* to = r.kept_recurrent + (ptrdiff_t(t) * p.B + row) * p.gates.stride + j * line.gates;
        for (int g = 0; g < G; ++g) stream(to + g * W, gates[g]);
    }

    INLINE void goes_on(int j, vec h, vec c, real* squares) {
        if (!features && mask && !mask[j]) {
            h = load(h_before + j * line.units);
            if constexpr (Cell::has_cell) c = c_at(j);
        }
        store(h_after + j * line.units, h);
        if constexpr (Cell::has_cell) store(c_after + j * line.units, c);
        if constexpr (!features) store(squares + j * W, load(squares + j * W) + h * h);
    }

    template <class Of, int N = Of::gates>
    INLINE Measured<N> measured(const Site& site, const Parameters& own, const Blocks<Of>& blocks, const real* a,
                                const Line& line, const vec (&size)[N]) const {
        if constexpr (method == Method::none || method == Method::population) {
            return Measured<N>::nothing();
        } else {
            if (!own.normalized) return Measured<N>::nothing();
            Measured<N> m;
            if constexpr (method == Method::batch_norm) {
                vec var[N];
                m = over_the_examples<N>(a, line, size, own.eps, var);
                if (site.moments)
                    for (int g = 0; g < N; ++g) {
                        real* mean = site.moments + (ptrdiff_t(t) * N + g) * p.H + index * W;
                        store(mean, m.mean[g], line.lanes);
                        store(mean + ptrdiff_t(p.T) * N * p.H, var[g], line.lanes);
                    }
            } else {
                m = over_the_features<method>(a, line, blocks, p.H, own.eps);
            }
            if (site.statistics) m.template keep<method>(p.statistics(site, N, t, index));
            return m;
        }
    }

    template <int N>
    INLINE static vec normalized(vec v, const Measured<N>& m, int g, const real* gain) {
        if constexpr (method == Method::none) return v;
        if constexpr (method == Method::population) return v * load(gain);
        return (v - m.mean[g]) * m.rstd[g] * load(gain);
    }
};
