// Everything that a recurrence needs before its first step: weights as panels, parameters laid out, working memory.
#pragma once

#include "layout.hpp"
#include "norms.hpp"
#include "one_hot.hpp"
#include "population.hpp"
#include "sizes.hpp"
#include "team.hpp"

// Numbers for each step and example: of all steps, or only of the last few steps if they are not needed later.
struct Steps {
    real* data = nullptr;
    ptrdiff_t row = 0;  // distance from one example to the next
    int batch = 0, period = 1;
    real* at(int t, int example = 0) const { return data + (ptrdiff_t(t % period) * batch + example) * row; }
};

// Parameters of a site: its gain, laid out, eps, and whether the site normalizes.
struct Parameters {
    Array gain;
    real eps;
    bool normalized;

    Parameters(const Site& site, const Layout& layout)
        : gain(layout.laid_out(site.normalized ? site.gain : nullptr, 1)), eps(site.eps), normalized(site.normalized) {}
};

inline void add_to(Array& sum, const Array& more, int size) {
    for (int at = 0; at < size; at += W) store(sum + at, load(sum + at) + load(more + at));
}

// True if an LSTM saves its gates instead of the summed inputs: without a norm, backward does not need the sums.
template <class Cell, Method method>
constexpr bool keeps_gates = Cell::has_cell && method == Method::none;

template <class Cell, Method method>
struct Prepared {
    static constexpr int G = Cell::gates;

    const Recurrence& r;
    const int T, B, F, H;
    const bool together;
    const Layout gates, units;
    const Blocks<Cell> blocks;
    const Panels weight_hh, weight_ih;
    const OneHot one_hot;
    const Sizes sizes;
    const Parameters input, recurrent, cell;
    Array shift;            // shift of the input's term; if the two terms are added, of their sum
    Array shift_recurrent;  // shift of the recurrent term, if the two terms are not added
    Array shift_cell;
    Array bias_inside;  // in columns of products
    const Array zeros;

    // `measures`: whether statistics over examples are measured.
    Prepared(const Recurrence& r, bool measures)
        : r(r),
          T(r.steps),
          B(r.batch),
          F(r.inputs),
          H(r.hidden),
          together(r.together),
          gates(H, G),
          units(H, 1),
          blocks{bool(r.per_gate)},
          weight_hh(forwards(r.weight_hh, H, gates)),
          weight_ih(forwards(r.weight_ih, F, gates)),
          one_hot(r),
          sizes(measures ? Sizes(r, gates, weight_hh, weight_ih) : Sizes()),
          input(r.input, gates),
          recurrent(r.recurrent, gates),
          cell(r.cell, units),
          shift(gates.laid_out(r.bias_outside ? r.bias : nullptr, 0)),
          shift_recurrent(gates.laid_out(Cell::adds_terms ? nullptr : r.recurrent.shift, 0)),
          shift_cell(units.laid_out(r.cell.shift, 0)),
          bias_inside(gates.laid_out(r.bias_inside ? r.bias : nullptr, 0)),
          zeros(std::max(TILE_VECTORS, vectors_of_panel(G)) * W) {
        if (Cell::adds_terms && r.bias_inside) add_to(bias_inside, gates.laid_out(r.bias_hh, 0), gates.width);
        gates.into_columns(bias_inside, 1, 0);
        if (!Cell::adds_terms || r.bias_outside)
            add_to(Cell::adds_terms ? shift : shift_recurrent, gates.laid_out(r.bias_hh, 0), gates.width);
        add_to(shift, gates.laid_out(r.input.shift, 0), gates.width);
        if (Cell::adds_terms) add_to(shift, gates.laid_out(r.recurrent.shift, 0), gates.width);
    }

    Affine affine() const { return {recurrent.gain, input.gain, cell.gain, shift, shift_recurrent, shift_cell}; }

    // A line over features belongs to an example, a line over examples to a group of units.
    Line line(int index) const {
        if (over_features(method)) return {gates.groups, G * W, W, W, G * W, W, W, units.units(gates.groups - 1)};
        const int lanes = gates.units(index);
        return {B, gates.stride, units.width, H, 0, 0, lanes, lanes};
    }

    // The groups of units that a thread works on, in whole blocks of 4 vectors, and the panels that contain them.
    Range own_groups(int thread, int threads) const {
        const Range blocks_of_4 = share((gates.groups + 3) / 4, thread, threads);
        return {blocks_of_4.from * 4, std::min(blocks_of_4.to * 4, gates.groups)};
    }
    Range own_panels(int thread, int threads) const {
        const Range own = own_groups(thread, threads);
        const int of_panel = weight_hh.wide / G;
        return {own.from / of_panel, (own.to + of_panel - 1) / of_panel};
    }
    Range all_panels() const { return {0, weight_hh.count()}; }

    // Compute W_x x + b, with b the bias inside the norm, for the steps from t to before `end`. The result is in columns
    // of products if W_h h is added to it; else it is laid out, as the result of `recur`.
    void project(int t, int end, Range rows, Range panels, const Steps& to) const {
        for (int panel = panels.from; panel < panels.to; ++panel) {
            const int column = panel * weight_ih.wide * W, vectors = weight_ih.vectors_of(panel);
            for (int s = t; s < end; ++s) {
                const ptrdiff_t first = ptrdiff_t(s) * B + rows.from;
                real* sums = to.at(s, rows.from) + column;
                if (one_hot)
                    one_hot.take(first, rows.size(), weight_ih.of(panel), vectors, bias_inside + column, sums, to.row);
                else
                    product({r.x + first * F, F, 1}, rows.size(), F, weight_ih.of(panel), vectors * W, vectors,
                            {bias_inside + column, 0}, sums, to.row);
                if (!together && is_last(panel)) gates.lay_out(to.at(s, rows.from), rows.size(), to.row);
            }
        }
    }

    // Compute W_h h; if the terms are taken together, add it to the input's term in `to`.
    void recur(const real* h, ptrdiff_t h_row, Range rows, int panel, real* to) const {
        const int column = panel * weight_hh.wide * W, vectors = weight_hh.vectors_of(panel);
        to += rows.from * ptrdiff_t(gates.stride);
        const Start start = together ? Start{to + column, gates.stride} : Start{zeros, 0};
        product({h + rows.from * h_row, h_row, 1}, rows.size(), H, weight_hh.of(panel), vectors * W, vectors, start,
                to + column, gates.stride);
        if (is_last(panel)) gates.lay_out(to, rows.size(), gates.stride);
    }

    bool is_last(int panel) const { return panel + 1 == weight_hh.count(); }

    // Copy a state (B, H) to rows of whole vectors, and back.
    void padded(const real* usual, real* to) const {
        for (int b = 0; b < B; ++b) std::memcpy(to + ptrdiff_t(b) * units.width, usual + ptrdiff_t(b) * H, H * sizeof(real));
    }
    void usual(const real* padded, real* to, Range rows) const {
        for (int b = rows.from; b < rows.to; ++b)
            std::memcpy(to + ptrdiff_t(b) * H, padded + ptrdiff_t(b) * units.width, H * sizeof(real));
    }

    // Over examples: the sizes of the products that were added up to a line's sums.
    INLINE void sizes_of(int index, int t, real longest_h, vec (&size_h)[G], vec (&size_x)[G]) const {
        if constexpr (method == Method::batch_norm)
            for (int g = 0; g < G; ++g) {
                size_h[g] = sizes.of_recurrent(gates.at(index, g), longest_h);
                size_x[g] = sizes.of_input(gates.at(index, g), t);
            }
    }

    // Address of the saved statistics of a line at a site.
    real* statistics(const Site& site, int of_gates, int t, int index) const {
        const int of_line = kept_of_line<method>(of_gates), lines = over_features(method) ? B : gates.groups;
        return site.statistics + (ptrdiff_t(t) * lines + index) * of_line;
    }
};
