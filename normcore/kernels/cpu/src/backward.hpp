// The gradients of a cell over a sequence, from what the forward pass saved.
#pragma once

#include <vector>

#include "backward_line.hpp"
#include "transposed.hpp"

// Number of steps whose gradients of summed inputs are collected, to make the gradients of weights large products.
inline int steps_collected(int steps, int batch, int width) {
    const int rows = width < 1024 ? 320 : 768;
    return std::min(steps, std::max(1, rows / batch));
}

template <class Cell, Method method>
class Backward {
    using Step = BackwardLine<Cell, method>;
    static constexpr int G = Cell::gates;
    static constexpr bool features = over_features(method);

    const Recurrence& r;
    const Prepared<Cell, method> p;
    const int chunk;
    const bool recurs_anew, projects_anew;
    const Panels back_hh, back_ih;
    Panels grad_hh, grad_ih;
    Transposed h, x;
    Array own_recurrent, own_input, own_h, own_c;
    const Gradients grads;  // gradients of the products W_h h and W_x x, for the steps of a chunk, and of the state
    Meeting meeting;

   public:
    explicit Backward(const Recurrence& r)
        : r(r),
          p(r, r.longest_h),
          chunk(steps_collected(r.steps, r.batch, p.gates.width)),
          recurs_anew(method != Method::none && !r.kept_recurrent),
          projects_anew(p.together ? recurs_anew : !r.kept_input),
          back_hh(backwards(r.weight_hh, r.hidden, p.gates)),
          back_ih(r.grad_x ? backwards(r.weight_ih, r.inputs, p.gates) : Panels(0, 0, 1)),
          grad_hh(r.hidden, p.gates.columns / W, vectors_of_panel(G)),
          grad_ih(r.inputs, p.gates.columns / W, vectors_of_panel(G)),
          h(r.hidden, chunk * p.B),
          x(p.one_hot ? 0 : r.inputs, chunk * p.B),
          own_recurrent(size_t(chunk) * p.B * p.gates.stride),
          own_input(p.together ? 0 : size_t(chunk) * p.B * p.gates.stride),
          own_h(size_t(p.B) * p.units.width),
          own_c(Cell::has_cell ? size_t(p.B) * p.units.width : 0),
          grads{{own_recurrent, p.gates.stride, p.B, chunk},
                {p.together ? own_recurrent : own_input, p.gates.stride, p.B, chunk},
                {own_h, p.units.width, p.B, 1},
                {own_c, p.units.width, p.B, 1}} {}

    void run() {
        if (r.grad_h) p.padded(r.grad_h, grads.h.data);
        if (Cell::has_cell && r.grad_c) p.padded(r.grad_c, grads.c.data);
        const int most = std::min<int>(r.threads, features ? p.B : (p.gates.groups + 3) / 4);
        std::vector<Sums> sums, totals;
        std::vector<GradientScratch> scratch;
        std::vector<Array> packed;
        for (int thread = 0; thread < (features ? most : 1); ++thread) {
            sums.emplace_back(p.gates, p.units);
            totals.emplace_back(p.gates, p.units);
        }
        for (int thread = 0; thread < most; ++thread) {
            scratch.emplace_back(features ? p.gates.groups : p.B, G);
            packed.emplace_back(size_t(chunk) * p.B * grad_hh.wide * W);
        }
        in_threads(r.threads, most, [&](int thread, int threads) {
            const int own = features ? thread : 0;
            work(thread, threads, scratch[thread], sums[own], totals[own], packed[thread]);
        });
        for (size_t thread = 1; thread < totals.size(); ++thread) totals[0].take(totals[thread], p.gates, p.units);
        finish(totals[0]);
    }

   private:
    void work(int thread, int threads, GradientScratch& scratch, Sums& sums, Sums& total, real* packed) {
        const Range rows = features ? share(p.B, thread, threads) : Range{0, p.B};
        const Range panels = p.own_panels(thread, threads), groups = p.own_groups(thread, threads);
        const int chunks = (p.T + chunk - 1) / chunk;
        for (int k = chunks - 1; k >= 0; --k) {
            const int begin = k * chunk, end = std::min(begin + chunk, p.T);
            if (projects_anew) p.project(begin, end, rows, features ? p.all_panels() : panels, grads.inputs);
            if (recurs_anew) recur(begin, end, rows, features ? p.all_panels() : panels);
            for (int t = end - 1; t >= begin; --t) {
                if constexpr (features) {
                    for (int b = rows.from; b < rows.to; ++b) Step(p, grads, t, b, scratch, sums).run();
                    into_columns(t, rows);
                    back(t, rows, {0, back_hh.count()});
                } else {
                    for (int group = groups.from; group < groups.to; ++group) Step(p, grads, t, group, scratch, sums).run();
                    if (groups.to == p.gates.groups) into_columns(t, rows);
                    meeting.wait_for(threads);
                    back(t, rows, {groups.from / TILE_VECTORS, (groups.to + TILE_VECTORS - 1) / TILE_VECTORS});
                }
            }
            turn(begin, end, thread, threads);
            meeting.wait_for(threads);
            if (features || thread == 0) total.take(sums, p.gates, p.units);
            weights(begin, (end - begin) * p.B, panels, packed);
            if (r.grad_x) inputs(begin, share((end - begin) * p.B, thread, threads));
            meeting.wait_for(threads);
        }
    }

    // Compute W_h h of the steps of a chunk again.
    void recur(int begin, int end, Range rows, Range panels) {
        for (int panel = panels.from; panel < panels.to; ++panel)
            for (int t = begin; t < end; ++t) {
                const real* h = t ? r.y + ptrdiff_t(t - 1) * p.B * p.H : r.h0;
                p.recur(h, p.H, rows, panel, grads.recurrents.at(t));
            }
    }

    // Bring the gradients of a step's products into the columns of products, for the products that read them.
    void into_columns(int t, Range rows) {
        p.gates.into_columns(grads.recurrents.at(t, rows.from), rows.size(), p.gates.stride);
        if (!p.together) p.gates.into_columns(grads.inputs.at(t, rows.from), rows.size(), p.gates.stride);
    }

    // Add the gradient that reaches the state before step t through W_h.
    void back(int t, Range rows, Range panels) {
        const Left d{grads.recurrents.at(t, rows.from), p.gates.stride, 1};
        for (int i = 0; i < panels.size(); ++i) {
            const int panel = panels.to_and_fro(i, t), column = panel * back_hh.wide * W, vectors = back_hh.vectors_of(panel);
            real* to = grads.h.at(0, rows.from) + column;
            product(d, rows.size(), p.gates.columns, back_hh.of(panel), vectors * W, vectors, {to, grads.h.row}, to, grads.h.row);
        }
    }

    void turn(int begin, int end, int thread, int threads) {
        const int rows = (end - begin) * p.B, of_first = begin ? 0 : p.B;
        const Range units = share_of_vectors(p.H, thread, threads);
        if (of_first) h.take(r.h0, p.B, 0, units);
        h.take(r.y + (ptrdiff_t(begin - 1) * p.B + of_first) * p.H, rows - of_first, of_first, units);
        if (!p.one_hot) x.take(r.x + ptrdiff_t(begin) * p.B * p.F, rows, 0, share_of_vectors(p.F, thread, threads));
    }

    static Range share_of_vectors(int n, int thread, int threads) {
        const Range own = share(up_to_vector(n) / W, thread, threads);
        return {own.from * W, std::min(own.to * W, n)};
    }

    // Add to the gradients of both weights, from the rows of a chunk; `begin` is the chunk's first step.
    void weights(int begin, int rows, Range panels, real* packed) {
        for (int panel = panels.from; panel < panels.to; ++panel) {
            const int column = panel * grad_hh.wide * W, vectors = grad_hh.vectors_of(panel);
            pack(grads.recurrents.data + column, rows, vectors, packed);
            add_product(h, p.H, rows, packed, grad_hh, panel);
            if (!p.together) pack(grads.inputs.data + column, rows, vectors, packed);
            if (p.one_hot)
                p.one_hot.add(size_t(begin) * p.B, rows, packed, vectors, grad_ih.of(panel));
            else
                add_product(x, p.F, rows, packed, grad_ih, panel);
        }
    }

    // Copy some columns of the gradients, row after row.
    void pack(const real* from, int rows, int vectors, real* to) const {
        for (int m = 0; m < rows; ++m)
            for (int v = 0; v < vectors; ++v) store(to + (m * vectors + v) * W, load(from + ptrdiff_t(m) * p.gates.stride + v * W));
    }

    // Add the product of `left` and `d` to a panel: left (n, rows), d (rows, columns of the panel).
    void add_product(const Transposed& left, int n, int rows, const real* d, Panels& to, int panel) {
        const int vectors = to.vectors_of(panel);
        product(left.left(), n, rows, d, vectors * W, vectors, {to.of(panel), vectors * W}, to.of(panel), vectors * W);
    }

    void inputs(int begin, Range rows) {
        constexpr int ROWS = 64;
        alignas(64) real room[ROWS * TILE_VECTORS * W];
        for (int from = rows.from; from < rows.to; from += ROWS) {
            const int n = std::min(ROWS, rows.to - from);
            for (int panel = 0; panel < back_ih.count(); ++panel) {
                const int column = panel * back_ih.wide * W, vectors = back_ih.vectors_of(panel);
                product({grads.inputs.data + ptrdiff_t(from) * p.gates.stride, p.gates.stride, 1}, n, p.gates.columns,
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
        const bool is_one_term = method == Method::none && p.together;
        if (r.bias_inside) add_to(bias, is_one_term ? sums.input : sums.inside, p.gates.width);
        if (r.bias_outside) add_to(bias, sums.input, p.gates.width);
        const Array& shift_h = Cell::adds_terms ? sums.input : sums.recurrent;
        write(p.gates, bias, r.grad_bias);
        write(p.gates, Cell::adds_terms ? bias : shift_h, r.grad_bias_hh);
        write(p.gates, sums.input_gain, r.input.grad_gain);
        write(p.gates, sums.input, r.input.grad_shift);
        write(p.gates, sums.recurrent_gain, r.recurrent.grad_gain);
        write(p.gates, shift_h, r.recurrent.grad_shift);
        write(p.units, sums.cell_gain, r.cell.grad_gain);
        write(p.units, sums.cell, r.cell.grad_shift);
        p.usual(grads.h.data, r.grad_h0, {0, p.B});
        if (Cell::has_cell) p.usual(grads.c.data, r.grad_c0, {0, p.B});
    }

    static void write(const Layout& layout, const real* laid, real* usual) {
        if (usual) layout.in_usual_order(laid, usual);
    }
};
