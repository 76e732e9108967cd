// The gradients of a cell over a sequence, from what its forward pass kept; gates are computed anew.
#pragma once

#include "cells.hpp"
#include "prepared.hpp"

// Steps whose gradients of summed inputs are collected, so that the weights' gradients are large products.
inline int steps_collected(int steps, int batch, int width) {
    const int rows = width < 1024 ? 320 : 768;
    return std::min(steps, std::max(1, rows / batch));
}

template <class Cell, Method method>
class Backward {
    using Base = Prepared<Cell, method>;
    static constexpr int G = Cell::gates;
    static constexpr bool features = over_features(method);

    const Recurrence& r;
    const Base p;
    const int chunk;
    const bool projects_anew;
    const Panels back_hh, back_ih;
    Panels grad_hh, grad_ih;
    Array own_recurrent, own_input, own_h, own_c;
    Steps grad_recurrent, grad_input;  // of W_h h and W_x x, of the steps of a chunk
    Steps grad_h, grad_c;              // of the state that a step begins with

   public:
    explicit Backward(const Recurrence& r)
        : r(r),
          p(r),
          chunk(steps_collected(r.steps, r.batch, p.gates.width)),
          projects_anew(!p.together && !r.kept_input),
          back_hh(backwards(r.weight_hh, r.hidden, p.gates)),
          back_ih(r.grad_x ? backwards(r.weight_ih, r.inputs, p.gates) : Panels(0, 0, 1)),
          grad_hh(r.hidden, p.gates.width / W, vectors_of_panel(G)),
          grad_ih(r.inputs, p.gates.width / W, vectors_of_panel(G)),
          own_recurrent(size_t(chunk) * p.B * p.gates.stride),
          own_input(p.together ? 0 : size_t(chunk) * p.B * p.gates.stride),
          own_h(size_t(p.B) * p.units.width),
          own_c(Cell::has_cell ? size_t(p.B) * p.units.width : 0),
          grad_recurrent{own_recurrent, p.gates.stride, p.B, chunk},
          grad_input{p.together ? own_recurrent : own_input, p.gates.stride, p.B, chunk},
          grad_h{own_h, p.units.width, p.B, 1},
          grad_c{own_c, p.units.width, p.B, 1} {}

    void run() {
        if (r.grad_h) p.padded(r.grad_h, grad_h.data);
        if (Cell::has_cell && r.grad_c) p.padded(r.grad_c, grad_c.data);
        const int threads = std::min<int>(r.threads, features ? p.B : (p.gates.groups + 3) / 4);
        std::vector<Sums> sums;
        for (int thread = 0; thread < (features ? threads : 1); ++thread) sums.emplace_back(p);
        in_threads(threads, [&](int thread, Barrier& barrier) {
            work(thread, threads, barrier, sums[features ? thread : 0]);
        });
        for (size_t thread = 1; thread < sums.size(); ++thread) sums[0].add(sums[thread], p);
        finish(sums[0]);
    }

   private:
    // The gradients of parameters, laid out, over steps and examples.
    struct Sums {
        Array input, recurrent;            // of the two terms, after their norms
        Array input_gain, recurrent_gain;  // times the normalized values
        Array inside;                      // of the input's term before its norm
        Array cell, cell_gain;

        explicit Sums(const Base& p)
            : input(p.gates.width), recurrent(p.gates.width), input_gain(p.gates.width), recurrent_gain(p.gates.width),
              inside(p.gates.width), cell(p.units.width), cell_gain(p.units.width) {}

        void add(const Sums& other, const Base& p) {
            add_to(input, other.input, p.gates.width);
            add_to(recurrent, other.recurrent, p.gates.width);
            add_to(input_gain, other.input_gain, p.gates.width);
            add_to(recurrent_gain, other.recurrent_gain, p.gates.width);
            add_to(inside, other.inside, p.gates.width);
            add_to(cell, other.cell, p.units.width);
            add_to(cell_gain, other.cell_gain, p.units.width);
        }
    };

    static void accumulate(real* sum, vec v) { store(sum, load(sum) + v); }

    void work(int thread, int threads, Barrier& barrier, Sums& sums) {
        const Range rows = features ? share(p.B, thread, threads) : Range{0, p.B};
        const Range panels = p.own_panels(thread, threads), groups = p.own_groups(thread, threads);
        const int chunks = (p.T + chunk - 1) / chunk;
        Scratch scratch(features ? p.gates.groups : p.B);
        for (int k = chunks - 1; k >= 0; --k) {
            const int begin = k * chunk, end = std::min(begin + chunk, p.T);
            if (projects_anew) p.project(begin, end, rows, features ? p.all_panels() : panels, grad_input);
            for (int t = end - 1; t >= begin; --t) {
                if constexpr (features) {
                    for (int b = rows.from; b < rows.to; ++b) step(t, b, scratch, sums);
                    back(t, rows, {0, back_hh.count()});
                } else {
                    for (int group = groups.from; group < groups.to; ++group) step(t, group, scratch, sums);
                    barrier.arrive_and_wait();
                    back(t, rows, {groups.from / TILE_VECTORS, (groups.to + TILE_VECTORS - 1) / TILE_VECTORS});
                }
            }
            barrier.arrive_and_wait();
            weights(begin, end, panels);
            if (r.grad_x) inputs(begin, share((end - begin) * p.B, thread, threads));
            barrier.arrive_and_wait();
        }
    }

    struct Scratch {
        Array c, read, gates;
        explicit Scratch(int count) : c(size_t(count) * W), read(size_t(count) * W), gates(size_t(count) * G * W) {}
    };

    // From the gradients of a line's state after step t to those of its summed inputs and of the state before.
    void step(int t, int index, Scratch& scratch, Sums& sums) {
        const Line line = p.line(index);
        const int row = features ? index : 0, of_gates = features ? 0 : p.gates.at(index, 0), of_units = features ? 0 : index * W;
        const ptrdiff_t first = ptrdiff_t(t) * p.B + row;
        const real* a = r.kept_recurrent + first * p.gates.stride + of_gates;
        const real* x = (p.together        ? a
                         : r.kept_input    ? r.kept_input + first * p.gates.stride + of_gates
                                           : grad_input.at(t, row) + of_gates);
        real* to_h = grad_recurrent.at(t, row) + of_gates;
        real* to_x = grad_input.at(t, row) + of_gates;
        real* dh_at = grad_h.at(0, row) + of_units;
        real* dc_at = Cell::has_cell ? grad_c.at(0, row) + of_units : nullptr;
        const real* dy = r.grad_y ? r.grad_y + first * p.H + of_units : nullptr;
        const uint8_t* mask = r.mask ? r.mask + first : nullptr;
        const auto dh_of = [&](int j) {
            const vec carried = load(dh_at + j * line.units);
            return dy ? carried + load(dy + j * line.usual, line.in(j)) : carried;
        };
        if (features && mask && !*mask) {
            for (int j = 0; j < line.count; ++j) {
                store(dh_at + j * W, dh_of(j));
                for (int g = 0; g < G; ++g) {
                    store(to_h + (j * G + g) * W, vec{});
                    store(to_x + (j * G + g) * W, vec{});
                }
            }
            return;
        }
        const auto is_there = [&](int j) { return features || !mask || mask[j]; };
        const real* h_from = t ? r.y + (first - p.B) * p.H + of_units : r.h0 + ptrdiff_t(row) * p.H + of_units;
        const auto h_before = [&](int j) { return load(h_from + j * line.usual, line.in(j)); };
        const auto c_before = [&](int j) {
            return t ? load(r.kept_c + (first - p.B) * p.units.width + of_units + j * line.units)
                     : load(r.c0 + ptrdiff_t(row) * p.H + of_units + j * line.usual, line.in(j));
        };
        const auto of_h = measured<G>(r.recurrent, t, index);
        const auto of_x = p.together ? Measured<G>::nothing() : measured<G>(r.input, t, index);
        const auto n_h = [&](int j, int g) { return (load(a + j * line.gates + g * W) - of_h.mean[g]) * of_h.rstd[g]; };
        const auto n_x = [&](int j, int g) { return (load(x + j * line.gates + g * W) - of_x.mean[g]) * of_x.rstd[g]; };
        const auto gain_h = [&](int j, int g) { return load(p.recurrent.gain + of_gates + j * line.of_gates + g * W); };
        const auto gain_x = [&](int j, int g) { return load(p.input.gain + of_gates + j * line.of_gates + g * W); };
        const auto terms = [&](int j, vec (&term_x)[G], vec (&term_h)[G]) {
            for (int g = 0; g < G; ++g) {
                const ptrdiff_t at = of_gates + j * line.of_gates + g * W;
                term_x[g] = load(p.shift + at);
                if constexpr (method == Method::none) {
                    term_h[g] = load(a + j * line.gates + g * W);
                    if (!p.together) term_x[g] += load(x + j * line.gates + g * W);
                } else {
                    term_h[g] = n_h(j, g) * gain_h(j, g);
                    if (!p.together) term_x[g] += n_x(j, g) * gain_x(j, g);
                }
                if constexpr (!Cell::adds_terms) term_h[g] += load(p.shift_recurrent + at);
            }
        };
        Centred<method, Cell> centred_h, centred_x;
        // Gradients after the norms are left where those before them will be.
        const auto collect = [&](int j, const vec (&dx)[G], const vec (&dr)[G]) {
            for (int g = 0; g < G; ++g) {
                const ptrdiff_t at = of_gates + j * line.of_gates + g * W;
                accumulate(sums.input + at, dx[g]);
                if constexpr (!Cell::adds_terms) accumulate(sums.recurrent + at, dr[g]);
                if constexpr (method != Method::none) {
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
        };
        if constexpr (Cell::has_cell) {
            const auto of_c = measured<1>(r.cell, t, index);
            Centred<method, OfCell> centred_c;
            for (int j = 0; j < line.count; ++j) {
                const ptrdiff_t at = of_units + j * line.of_units;
                vec term_x[G], term_h[G];
                terms(j, term_x, term_h);
                const Cell cell(term_x, term_h);
                const vec c = cell.cell(c_before(j));
                const vec n = (c - of_c.mean[0]) * of_c.rstd[0], gain = load(p.cell.gain + at);
                const vec shown = tanh(n * gain + load(p.shift_cell + at));
                const vec dh = is_there(j) ? dh_of(j) : vec{};
                vec read = dh * cell.o * (1 - shown * shown);
                if (r.carries_normalized && is_there(j)) read += load(dc_at + j * line.units);
                const vec gates[G] = {cell.i, cell.f, cell.g, dh * shown * (cell.o * (1 - cell.o))};
                for (int g = 0; g < G; ++g) store(scratch.gates + (j * G + g) * W, gates[g]);
                store(scratch.c + j * W, n);
                store(scratch.read + j * W, read * gain);
                accumulate(sums.cell + at, read);
                if constexpr (method != Method::none) {
                    accumulate(sums.cell_gain + at, read * n);
                    centred_c.add(0, read * gain, n);
                }
            }
            if (method != Method::none && p.cell.normalized) centred_c.finish(line, Blocks<OfCell>{true}, p.H);
            for (int j = 0; j < line.count; ++j) {
                vec dc = load(scratch.read + j * W);
                if (method != Method::none && p.cell.normalized)
                    dc = centred_c.before(0, dc, load(scratch.c + j * W), of_c.rstd[0]);
                real* carried = dc_at + j * line.units;
                if (!r.carries_normalized && is_there(j)) dc += load(carried);
                const real* gates = scratch.gates + j * G * W;
                const vec f = load(gates + W);
                vec d[G];
                Cell::backward(dc, load(gates), f, load(gates + 2 * W), c_before(j), d);
                d[3] = load(gates + 3 * W);
                collect(j, d, d);
                for (int g = 0; g < G; ++g) store(to_h + j * line.gates + g * W, d[g]);
                const vec back = dc * f;
                store(carried, is_there(j) ? back : back + load(carried));
                store(dh_at + j * line.units, is_there(j) ? vec{} : dh_of(j));
            }
        } else {
            for (int j = 0; j < line.count; ++j) {
                vec term_x[G], term_h[G], dx[G], dr[G], direct;
                terms(j, term_x, term_h);
                const Cell cell(term_x, term_h);
                const vec dh = dh_of(j);
                cell.backward(is_there(j) ? dh : vec{}, h_before(j), term_h, dx, dr, direct);
                collect(j, dx, dr);
                for (int g = 0; g < G; ++g) store(to_h + j * line.gates + g * W, dr[g]);
                // Only the candidate's two gradients differ.
                if constexpr (!Cell::adds_terms) store(scratch.c + j * W, dx[G - 1]);
                store(dh_at + j * line.units, is_there(j) ? direct : dh);
            }
        }
        const bool before_h = method != Method::none && p.recurrent.normalized;
        const bool before_x = method != Method::none && p.input.normalized && !p.together;
        if (before_h) centred_h.finish(line, p.blocks, p.H);
        if (before_x) centred_x.finish(line, p.blocks, p.H);
        for (int j = 0; j < line.count; ++j)
            for (int g = 0; g < G; ++g) {
                const ptrdiff_t at = j * line.gates + g * W;
                const vec dr = load(to_h + at);
                if (!p.together) {
                    vec dx = !Cell::adds_terms && g == G - 1 ? load(scratch.c + j * W) : dr;
                    if (before_x) dx = centred_x.before(g, gain_x(j, g) * dx, n_x(j, g), of_x.rstd[g]);
                    if (r.bias_inside) accumulate(sums.inside + of_gates + j * line.of_gates + g * W, dx);
                    store(to_x + at, dx);
                }
                if (before_h) {
                    const vec before = centred_h.before(g, gain_h(j, g) * dr, n_h(j, g), of_h.rstd[g]);
                    if (p.together && r.bias_inside) accumulate(sums.inside + of_gates + j * line.of_gates + g * W, before);
                    store(to_h + at, before);
                } else if (p.together && r.bias_inside) {
                    accumulate(sums.inside + of_gates + j * line.of_gates + g * W, dr);
                }
            }
    }

    template <int N>
    Measured<N> measured(const Site& site, int t, int index) const {
        if (method == Method::none || !site.normalized) return Measured<N>::nothing();
        return Measured<N>::template kept<method>(p.statistics(site, N, t, index));
    }

    // What reaches the state before step t through W_h.
    void back(int t, Range rows, Range panels) {
        const Left d{grad_recurrent.at(t, rows.from), p.gates.stride, 1};
        for (int panel = panels.from; panel < panels.to; ++panel) {
            const int column = panel * back_hh.wide * W, vectors = back_hh.vectors_of(panel);
            real* to = grad_h.at(0, rows.from) + column;
            product(d, rows.size(), p.gates.width, back_hh.of(panel), vectors * W, vectors, {to, grad_h.row}, to, grad_h.row);
        }
    }

    // Add the gradients of both weights from the steps of a chunk.
    void weights(int begin, int end, Range panels) {
        const int rows = (end - begin) * p.B;
        for (int panel = panels.from; panel < panels.to; ++panel) {
            const int column = panel * grad_hh.wide * W;
            add_product(r.x + ptrdiff_t(begin) * p.B * p.F, p.F, rows, grad_input.data + column, grad_ih, panel);
            if (begin == 0) add_product(r.h0, p.H, p.B, grad_recurrent.data + column, grad_hh, panel);
            const int skipped = begin == 0 ? p.B : 0;
            const ptrdiff_t before = ptrdiff_t(begin) * p.B + skipped - p.B;
            add_product(r.y + before * p.H, p.H, rows - skipped,
                        grad_recurrent.data + ptrdiff_t(skipped) * p.gates.stride + column, grad_hh, panel);
        }
    }

    // Add left' d to a panel: left (rows, n), d (rows, columns of the panel).
    void add_product(const real* left, int n, int rows, const real* d, Panels& to, int panel) {
        const int vectors = to.vectors_of(panel);
        product({left, 1, n}, n, rows, d, p.gates.stride, vectors, {to.of(panel), vectors * W}, to.of(panel), vectors * W);
    }

    void inputs(int begin, Range rows) {
        Array room(size_t(64) * TILE_VECTORS * W);
        for (int from = rows.from; from < rows.to; from += 64) {
            const int n = std::min(64, rows.to - from);
            for (int panel = 0; panel < back_ih.count(); ++panel) {
                const int column = panel * back_ih.wide * W, vectors = back_ih.vectors_of(panel);
                product({grad_input.data + ptrdiff_t(from) * p.gates.stride, p.gates.stride, 1}, n, p.gates.width,
                        back_ih.of(panel), vectors * W, vectors, {p.zeros, 0}, room, vectors * W);
                const int columns = std::min(vectors * W, p.F - column);
                for (int m = 0; m < n; ++m)
                    std::memcpy(r.grad_x + (ptrdiff_t(begin) * p.B + from + m) * p.F + column, room + m * vectors * W,
                                columns * sizeof(real));
            }
        }
    }

    void finish(const Sums& sums) const {
        from_forwards(grad_hh, p.gates, r.grad_weight_hh);
        from_forwards(grad_ih, p.gates, r.grad_weight_ih);
        Array bias(p.gates.width);
        if (r.bias_inside) add_to(bias, sums.inside, p.gates.width);
        if (r.bias_outside) add_to(bias, sums.input, p.gates.width);
        p.gates.in_usual_order(bias, r.grad_bias);
        const Array& shift_h = Cell::adds_terms ? sums.input : sums.recurrent;
        write(p.gates, sums.input_gain, r.input.grad_gain);
        write(p.gates, sums.input, r.input.grad_shift);
        write(p.gates, sums.recurrent_gain, r.recurrent.grad_gain);
        write(p.gates, shift_h, r.recurrent.grad_shift);
        write(p.units, sums.cell_gain, r.cell.grad_gain);
        write(p.units, sums.cell, r.cell.grad_shift);
        p.usual(grad_h.data, r.grad_h0);
        if (Cell::has_cell) p.usual(grad_c.data, r.grad_c0);
    }

    static void write(const Layout& layout, const real* laid, real* usual) {
        if (usual) layout.in_usual_order(laid, usual);
    }
};
