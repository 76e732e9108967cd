// The gradients of one step of a line, from the gradients of the state after the step. The gates are computed again.
#pragma once

#include "cells.hpp"
#include "prepared.hpp"

// Sums of the gradients of parameters, laid out, over steps and examples. They are sums over few steps at a time, which
// are then added to a total: one long sum over all steps would round small terms away.
struct Sums {
    Array input, recurrent;            // gradients of the two terms, after their norms
    Array input_gain, recurrent_gain;  // the same, times the normalized values
    Array inside;                      // gradients of the input's term before its norm
    Array cell, cell_gain;

    Sums(const Layout& gates, const Layout& units)
        : input(gates.width), recurrent(gates.width), input_gain(gates.width), recurrent_gain(gates.width),
          inside(gates.width), cell(units.width), cell_gain(units.width) {}

    // Add the sums of `other`, and set `other` to zero.
    void take(Sums& other, const Layout& gates, const Layout& units) {
        take(input, other.input, gates.width);
        take(recurrent, other.recurrent, gates.width);
        take(input_gain, other.input_gain, gates.width);
        take(recurrent_gain, other.recurrent_gain, gates.width);
        take(inside, other.inside, gates.width);
        take(cell, other.cell, units.width);
        take(cell_gain, other.cell_gain, units.width);
    }

   private:
    static void take(Array& to, Array& from, int n) {
        add_to(to, from, n);
        std::memset(from, 0, sizeof(real) * n);
    }
};

// Gradients that lines read and write: of W_h h and W_x x, and of the state that a step begins with. Products that
// were not saved are recomputed into the buffer of their gradient.
struct Gradients {
    Steps recurrents, inputs, h, c;
};

// Working memory of a line: normalized cells, the gradients of cells before their norms, and gates. The gradients after
// the norm of W_h h overwrite the gates.
struct GradientScratch {
    Array c, read, gates;
    GradientScratch(int count, int of_gates)
        : c(size_t(count) * W), read(size_t(count) * W), gates(size_t(count) * of_gates * W) {}
};

template <class Cell, Method method>
class BackwardLine {
    static constexpr int G = Cell::gates;
    static constexpr bool features = over_features(method);
    static constexpr bool normalizes = method != Method::none;

    const Prepared<Cell, method>& p;
    const Recurrence& r;
    const Line line;
    const int t, row;
    const ptrdiff_t of_gates, of_units, first;
    const real *a, *x, *dy, *h_from;
    real *to_h, *after_h, *to_x, *dh_at, *dc_at;
    const uint8_t* mask;
    GradientScratch& scratch;
    Sums& sums;
    Measured<G> of_h, of_x;
    const Measured<1> of_c;
    Centred<method, Cell> centred_h, centred_x;

   public:
    INLINE BackwardLine(const Prepared<Cell, method>& p, const Gradients& grads, int t, int index, GradientScratch& scratch,
                        Sums& sums)
        : p(p),
          r(p.r),
          line(p.line(index)),
          t(t),
          row(features ? index : 0),
          of_gates(features ? 0 : p.gates.at(index, 0)),
          of_units(features ? 0 : index * W),
          first(ptrdiff_t(t) * p.B + row),
          a(r.kept_recurrent ? r.kept_recurrent + first * p.gates.stride + of_gates
                             : grads.recurrents.at(t, row) + of_gates),
          x(p.together      ? a
            : r.kept_input  ? r.kept_input + first * p.gates.stride + of_gates
                            : grads.inputs.at(t, row) + of_gates),
          dy(r.grad_y ? r.grad_y + first * p.H + of_units : nullptr),
          h_from((t ? r.y + (first - p.B) * p.H : r.h0 + ptrdiff_t(row) * p.H) + of_units),
          to_h(grads.recurrents.at(t, row) + of_gates),
          after_h(normalizes ? scratch.gates : to_h),
          to_x(grads.inputs.at(t, row) + of_gates),
          dh_at(grads.h.at(0, row) + of_units),
          dc_at(Cell::has_cell ? grads.c.at(0, row) + of_units : nullptr),
          mask(r.mask ? r.mask + first : nullptr),
          scratch(scratch),
          sums(sums),
          of_c(Cell::has_cell ? kept<1>(r.cell, index) : Measured<1>::nothing()) {
        measure(index);
    }

    INLINE void run() {
        if (features && mask && !*mask) return stay();
        if constexpr (keeps_gates<Cell, method>) {
            without_norm();
        } else if constexpr (Cell::has_cell) {
            outputs();
            cell();
        } else {
            state();
        }
        if (normalizes || !p.together) norms();
    }

   private:
    // Pass the gradient of the state through a step of padding, which did not change the state.
    INLINE void stay() {
        for (int j = 0; j < line.count; ++j) {
            store(dh_at + j * W, dh(j));
            for (int g = 0; g < G; ++g) {
                store(to_h + (j * G + g) * W, vec{});
                store(to_x + (j * G + g) * W, vec{});
            }
        }
    }

    // Go back through h' = o tanh(c' + shift), c' and the gates, all at once.
    INLINE void without_norm() {
        for (int j = 0; j < line.count; ++j) {
            const real* gates = a + j * G * W;
            const vec i = load(gates), f = load(gates + W), g = load(gates + 2 * W), o = load(gates + 3 * W);
            const vec before = c_before(j), dh_after = dh(j);
            const vec shown = tanh(f * before + i * g + load(p.shift_cell + j * W));
            real* carried = dc_at + j * W;
            vec read = dh_after * o * (1 - shown * shown);
            if (r.carries_normalized) read += load(carried);
            accumulate(sums.cell + j * W, read);
            const vec dc = r.carries_normalized ? read : read + load(carried);
            vec d[G];
            Cell::backward(dc, i, f, g, before, d);
            d[3] = dh_after * shown * (o * (1 - o));
            collect(j, d, d);
            store(carried, dc * f);
            store(dh_at + j * W, vec{});
        }
    }

    // Go back through h' = o tanh(gain n + shift), with n the normalized c' (LN Eq. 22, RBN Eq. 16).
    INLINE void outputs() {
        for (int j = 0; j < line.count; ++j) {
            vec term_x[G], term_h[G];
            terms(j, term_x, term_h);
            const Cell cell(term_x, term_h);
            const vec gates[G] = {cell.i, cell.f, cell.g, cell.o};
            for (int g = 0; g < G; ++g) store(scratch.gates + (j * G + g) * W, gates[g]);
            store(scratch.c + j * W, (cell.cell(c_before(j)) - of_c.mean[0]) * of_c.rstd[0]);
        }
        Centred<method, OfCell> centred_c;
        for (int j = 0; j < line.count; ++j) {
            const ptrdiff_t at = of_units + j * line.of_units;
            const vec n = load(scratch.c + j * W), gain = load(p.cell.gain + at);
            const vec shown = tanh(n * gain + load(p.shift_cell + at));
            const vec dh_there = is_there(j) ? dh(j) : vec{};
            real* o_at = scratch.gates + (j * G + 3) * W;
            const vec o = load(o_at);
            vec read = dh_there * o * (1 - shown * shown);
            if (r.carries_normalized && is_there(j)) read += load(dc_at + j * line.units);
            store(o_at, dh_there * shown * (o * (1 - o)));
            store(scratch.read + j * W, read * gain);
            if constexpr (features) {
                accumulate(sums.cell + at, read);
                accumulate(sums.cell_gain + at, read * n);
            }
            centred_c.add(0, features ? read * gain : read, n);
        }
        if constexpr (!features) {
            accumulate(sums.cell + of_units, centred_c.of_d[0]);
            accumulate(sums.cell_gain + of_units, centred_c.of_dn[0]);
            centred_c.scale(0, load(p.cell.gain + of_units));
        }
        if (!p.cell.normalized) return;
        centred_c.finish(line, Blocks<OfCell>{true}, p.H);
        for (int j = 0; j < line.count; ++j) {
            real* read = scratch.read + j * W;
            store(read, centred_c.before(0, load(read), load(scratch.c + j * W), of_c.rstd[0]));
        }
    }

    // Go back through c' = f c + i g and the gates (LN Eq. 20, 21; RBN Eq. 14, 15).
    INLINE void cell() {
        for (int j = 0; j < line.count; ++j) {
            vec dc = load(scratch.read + j * W);
            real* carried = dc_at + j * line.units;
            if (!r.carries_normalized && is_there(j)) dc += load(carried);
            const real* gates = scratch.gates + j * G * W;
            const vec f = load(gates + W);
            vec d[G];
            Cell::backward(dc, load(gates), f, load(gates + 2 * W), c_before(j), d);
            d[3] = load(gates + 3 * W);
            collect(j, d, d);
            const vec back = dc * f;
            store(carried, is_there(j) ? back : back + load(carried));
            store(dh_at + j * line.units, is_there(j) ? vec{} : dh(j));
        }
    }

    // Go back through the state and the gates of a cell without c (LN Eq. 4; 26 to 28).
    INLINE void state() {
        for (int j = 0; j < line.count; ++j) {
            vec term_x[G], term_h[G], dx[G], dr[G], direct;
            if constexpr (!Cell::is_its_output) terms(j, term_x, term_h);
            const Cell cell = gates(j, term_x, term_h);
            const vec dh_after = dh(j);
            cell.backward(is_there(j) ? dh_after : vec{}, load(h_from + j * line.usual, line.in(j)), term_h, dx, dr, direct);
            collect(j, dx, dr);
            // The gradients of the two terms differ only for the candidate.
            if constexpr (!Cell::adds_terms) store(scratch.c + j * W, dx[G - 1]);
            store(dh_at + j * line.units, is_there(j) ? direct : dh_after);
        }
    }

    INLINE Cell gates(int j, const vec (&term_x)[G], const vec (&term_h)[G]) const {
        if constexpr (Cell::is_its_output) {
            return Cell(load(r.y + first * p.H + of_units + j * line.usual, line.in(j)));
        } else {
            return Cell(term_x, term_h);
        }
    }

    // Go back through the norms of the summed inputs (LN Eq. 3, RBN Eq. 9), to the gradients of the products.
    INLINE void norms() {
        const bool before_h = normalizes && p.recurrent.normalized;
        const bool before_x = normalizes && p.input.normalized && !p.together;
        if constexpr (!features) take_sums();
        if (before_h) centred_h.finish(line, p.blocks, p.H);
        if (before_x) centred_x.finish(line, p.blocks, p.H);
        for (int j = 0; j < line.count; ++j)
            for (int g = 0; g < G; ++g) {
                const ptrdiff_t at = j * line.gates + g * W;
                real* inside = sums.inside + of_gates + j * line.of_gates + g * W;
                const vec dr = load(after_h + (j * G + g) * W);
                if (!p.together) {
                    vec dx = !Cell::adds_terms && g == G - 1 ? load(scratch.c + j * W) : dr;
                    if (before_x) dx = centred_x.before(g, gain_x(j, g) * dx, n_x(j, g), of_x.rstd[g]);
                    if (r.bias_inside) accumulate(inside, dx);
                    store(to_x + at, dx);
                }
                const vec before = before_h ? centred_h.before(g, gain_h(j, g) * dr, n_h(j, g), of_h.rstd[g]) : dr;
                if (p.together && r.bias_inside) accumulate(inside, before);
                if (normalizes) store(to_h + at, before);
            }
    }

    INLINE void collect(int j, const vec (&dx)[G], const vec (&dr)[G]) {
        for (int g = 0; g < G; ++g) {
            const ptrdiff_t at = of_gates + j * line.of_gates + g * W;
            store(after_h + (j * G + g) * W, dr[g]);
            if constexpr (!features) {
                centred_h.add(g, dr[g], n_h(j, g));
                if (!p.together) centred_x.add(g, dx[g], n_x(j, g));
                continue;
            }
            accumulate(sums.input + at, dx[g]);
            if constexpr (!Cell::adds_terms) accumulate(sums.recurrent + at, dr[g]);
            if constexpr (normalizes) {
                const vec n = n_h(j, g);
                accumulate(sums.recurrent_gain + at, dr[g] * n);
                centred_h.add(g, gain_h(j, g) * dr[g], n);
                if (!p.together) {
                    const vec n = n_x(j, g);
                    accumulate(sums.input_gain + at, dx[g] * n);
                    centred_x.add(g, gain_x(j, g) * dx[g], n);
                }
            }
        }
    }

    // Add the sums over the examples of this step to the gradients of parameters.
    INLINE void take_sums() {
        for (int g = 0; g < G; ++g) {
            const ptrdiff_t at = of_gates + g * W;
            accumulate(sums.input + at, p.together ? centred_h.of_d[g] : centred_x.of_d[g]);
            if constexpr (!Cell::adds_terms) accumulate(sums.recurrent + at, centred_h.of_d[g]);
            accumulate(sums.recurrent_gain + at, centred_h.of_dn[g]);
            if (!p.together) accumulate(sums.input_gain + at, centred_x.of_dn[g]);
            centred_h.scale(g, gain_h(0, g));
            centred_x.scale(g, gain_x(0, g));
        }
    }

    INLINE void terms(int j, vec (&term_x)[G], vec (&term_h)[G]) const {
        for (int g = 0; g < G; ++g) {
            const ptrdiff_t at = of_gates + j * line.of_gates + g * W;
            term_x[g] = load(p.shift + at);
            if constexpr (normalizes) {
                term_h[g] = n_h(j, g) * gain_h(j, g);
                if (!p.together) term_x[g] += n_x(j, g) * gain_x(j, g);
            } else {
                term_h[g] = load(a + j * line.gates + g * W);
                if (!p.together) term_x[g] += load(x + j * line.gates + g * W);
            }
            if constexpr (!Cell::adds_terms) term_h[g] += load(p.shift_recurrent + at);
        }
    }

    INLINE vec n_h(int j, int g) const { return (load(a + j * line.gates + g * W) - of_h.mean[g]) * of_h.rstd[g]; }
    INLINE vec n_x(int j, int g) const { return (load(x + j * line.gates + g * W) - of_x.mean[g]) * of_x.rstd[g]; }
    INLINE vec gain_h(int j, int g) const { return load(p.recurrent.gain + of_gates + j * line.of_gates + g * W); }
    INLINE vec gain_x(int j, int g) const { return load(p.input.gain + of_gates + j * line.of_gates + g * W); }

    // Tell if example j has this step. For lines over features this is always so here: `run` handles the padding.
    INLINE bool is_there(int j) const { return features || !mask || mask[j]; }

    INLINE vec dh(int j) const {
        const vec carried = load(dh_at + j * line.units);
        return dy ? carried + load(dy + j * line.usual, line.in(j)) : carried;
    }

    INLINE vec c_before(int j) const {
        return t ? load(r.kept_c + (first - p.B) * p.units.width + of_units + j * line.units)
                 : load(r.c0 + ptrdiff_t(row) * p.H + of_units + j * line.usual, line.in(j));
    }

    // Get the statistics of the sums that the forward pass measured. For few examples, the statistics are more numbers
    // than the sums: they were not saved and are measured again.
    INLINE void measure(int index) {
        if constexpr (method == Method::batch_norm && !Cell::has_cell) {
            if (r.longest_h) {
                vec size_h[G], size_x[G];
                p.sizes_of(index, t, r.longest_h[t], size_h, size_x);
                of_h = anew(p.recurrent, a, size_h);
                of_x = p.together ? Measured<G>::nothing() : anew(p.input, x, size_x);
                return;
            }
        }
        of_h = kept<G>(r.recurrent, index);
        of_x = p.together ? Measured<G>::nothing() : kept<G>(r.input, index);
    }

    INLINE Measured<G> anew(const Parameters& own, const real* a, const vec (&size)[G]) const {
        vec var[G];
        return own.normalized ? over_the_examples<G>(a, line, size, own.eps, var) : Measured<G>::nothing();
    }

    template <int N>
    INLINE Measured<N> kept(const Site& site, int index) const {
        if (!normalizes || !site.normalized) return Measured<N>::nothing();
        return Measured<N>::template kept<method>(p.statistics(site, N, t, index));
    }

    INLINE static void accumulate(real* sum, vec v) { store(sum, load(sum) + v); }
};
