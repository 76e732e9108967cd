// Sizes of the products that are added up to a summed input: |w| |x| is a bound. A feature whose variation over the
// examples is below the rounding of these products counts as constant (`norms.hpp`).
#pragma once

#include "layout.hpp"
#include "recurrence.hpp"

class Sizes {
    Array rows_hh, rows_ih;  // the lengths of the rows of W_h and W_x
    Array longest_x;         // the length of the longest x of each step

   public:
    Sizes() : rows_hh(0), rows_ih(0), longest_x(0) {}

    Sizes(const Recurrence& r, const Layout& gates, const Panels& weight_hh, const Panels& weight_ih)
        : rows_hh(lengths(gates, weight_hh)), rows_ih(lengths(gates, weight_ih)), longest_x(r.steps) {
        for (int t = 0; t < r.steps; ++t) longest_x[t] = longest(r.x + ptrdiff_t(t) * r.batch * r.inputs, r.batch, r.inputs);
    }

    vec of_recurrent(int at, real longest_h) const { return longest_h * load(rows_hh + at); }
    vec of_input(int at, int t) const { return longest_x[t] * load(rows_ih + at); }

   private:
    static constexpr real SMALL = real(0x1p-68);  // SMALL times float32's largest numbers has finite squares

    static real longest(const real* rows, int count, int columns, real unit = 1) {
        real most = 0;
        for (int m = 0; m < count; ++m) {
            vec squares = {};
            for (int k = 0; k < columns; k += W) {
                const vec v = unit * load(rows + ptrdiff_t(m) * columns + k, columns - k);
                squares += v * v;
            }
            most = std::max(most, sum(squares)[0]);
        }
        if (std::isinf(most) && unit == 1) return longest(rows, count, columns, SMALL);
        return std::sqrt(most) / unit;
    }

    static Array lengths(const Layout& gates, const Panels& weight, real unit = 1) {
        Array out(gates.width);
        vec none = {};
        for (int panel = 0; panel < weight.count(); ++panel) {
            const int vectors = weight.vectors_of(panel);
            for (int v = 0; v < vectors; ++v) {
                vec squares = {};
                for (int k = 0; k < weight.depth; ++k) {
                    const vec w = unit * load(weight.of(panel) + (size_t(k) * vectors + v) * W);
                    squares += w * w;
                }
                store(out + (panel * weight.wide + v) * W, sqrt(squares) / unit);
                none += 0 * squares;
            }
        }
        if (sum(none)[0] != 0 && unit == 1) return lengths(gates, weight, SMALL);
        gates.lay_out(out, 1, 0);
        return out;
    }
};
