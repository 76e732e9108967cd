// Layout of summed inputs in memory: groups of W units, and in each group one gate after the other. So all that one
// vector of the state is computed from stands side by side. If H is not a multiple of W, the last lanes hold zeros; in
// gradients they may hold finite numbers, which are multiplied by zeros in the weights.
//
// Products leave these lanes out: their columns are the same, except that the gates of the last group follow each other
// without unused lanes between them, if that saves a vector or more.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "product.hpp"

// An array of numbers that starts with zeros, at the beginning of a cache line.
class Array {
   public:
    explicit Array(size_t size = 0) {
        const size_t bytes = (size * sizeof(real) + 127) / 64 * 64;
        data.reset(static_cast<real*>(std::aligned_alloc(64, bytes)));
        if (!data) throw std::bad_alloc();
        std::memset(data.get(), 0, bytes);
    }
    operator real*() const { return data.get(); }

   private:
    struct Free {
        void operator()(real* p) const { std::free(p); }
    };
    std::unique_ptr<real, Free> data;
};

constexpr int up_to_vector(int n) { return (n + W - 1) / W * W; }

// Distance between rows of this width: at a distance of a power of two, the rows would share a few cache sets.
constexpr int spread(int width) { return width % 256 ? width : width + 16; }

struct Layout {
    int hidden, gates, groups, width, stride;
    int columns;  // number of columns in products

    Layout(int hidden, int gates)
        : hidden(hidden), gates(gates), groups(up_to_vector(hidden) / W), width(groups * gates * W) {
        stride = spread(width);
        columns = at(groups - 1, 0) + up_to_vector(gates * units(groups - 1));
    }

    int units(int group) const { return std::min(W, hidden - group * W); }
    int at(int group, int gate) const { return (group * gates + gate) * W; }

    // Distance between a group's gates in products, and the column where a gate begins.
    int apart(int group) const { return columns < width && group + 1 == groups ? units(group) : W; }
    int column(int group, int gate) const { return at(group, 0) + gate * apart(group); }

    // Change rows from the columns of products to this layout, and back; only the last group changes.
    void lay_out(real* rows, int count, ptrdiff_t row) const {
        if (columns == width) return;
        const int n = apart(groups - 1);
        const auto valid = first(n) != 0;
        real* last = rows + at(groups - 1, 0);
        for (int m = 0; m < count; ++m, last += row)
            for (int gate = gates - 1; gate >= 0; --gate) store(last + gate * W, valid ? load(last + gate * n) : vec{});
    }
    void into_columns(real* rows, int count, ptrdiff_t row) const {
        if (columns == width) return;
        const int n = apart(groups - 1);
        real* last = rows + at(groups - 1, 0);
        for (int m = 0; m < count; ++m, last += row)
            for (int gate = 1; gate < gates; ++gate) store(last + gate * n, load(last + gate * W));
    }

    // Copy numbers (G H) from the usual order to this layout; without numbers, `otherwise` for each unit.
    Array laid_out(const real* usual, real otherwise) const {
        Array out(width);
        for (int group = 0; group < groups; ++group)
            for (int gate = 0; gate < gates; ++gate) {
                const real* from = usual ? usual + gate * hidden + group * W : nullptr;
                store(out + at(group, gate), from ? load(from, units(group)) : otherwise * first(units(group)));
            }
        return out;
    }

    void in_usual_order(const real* laid, real* usual) const {
        for (int group = 0; group < groups; ++group)
            for (int gate = 0; gate < gates; ++gate)
                store(usual + gate * hidden + group * W, load(laid + at(group, gate)), units(group));
    }
};

// The right operand of a product, cut into panels of columns. A product takes one panel at a time.
class Panels {
   public:
    int depth, vectors, wide;  // wide: vectors of each panel but the last

    Panels(int depth, int vectors, int wide)
        : depth(depth), vectors(vectors), wide(wide), data(size_t(depth) * vectors * W) {}

    int count() const { return (vectors + wide - 1) / wide; }
    int vectors_of(int panel) const { return std::min(wide, vectors - panel * wide); }
    real* of(int panel) const { return data + size_t(panel) * wide * W * depth; }

    real* at(int column, int k) const {
        const int panel = column / (wide * W);
        return of(panel) + size_t(k) * vectors_of(panel) * W + column % (wide * W);
    }

   private:
    Array data;
};

// Vectors of a panel in products that give summed inputs. A panel has W units for an LSTM or GRU, 4 W for an RNN.
inline int vectors_of_panel(int gates) { return gates == 1 ? 4 : gates; }

// Panels of the transposed weight W', from W (G H, n); their depth is n.
inline Panels forwards(const real* weight, int n, const Layout& layout) {
    Panels out(n, layout.columns / W, vectors_of_panel(layout.gates));
    for (int group = 0; group < layout.groups; ++group)
        for (int gate = 0; gate < layout.gates; ++gate) {
            const int column = layout.column(group, gate), lanes = layout.apart(group);
            const real* from = weight + (size_t(gate) * layout.hidden + group * W) * n;
            for (int k = 0; k < n; k += W) {
                vec rows[W] = {};
                for (int unit = 0; unit < layout.units(group); ++unit) rows[unit] = load(from + size_t(unit) * n + k, n - k);
                transpose(rows);
                for (int j = 0; j < std::min(W, n - k); ++j) store(out.at(column, k + j), rows[j], lanes);
            }
        }
    return out;
}

// The inverse of `forwards`: copy the gradient of the panels to the gradient of W (G H, n).
inline void from_forwards(const Panels& panels, const Layout& layout, real* weight) {
    const int n = panels.depth;
    for (int group = 0; group < layout.groups; ++group)
        for (int gate = 0; gate < layout.gates; ++gate) {
            const int column = layout.column(group, gate);
            real* to = weight + (size_t(gate) * layout.hidden + group * W) * n;
            for (int k = 0; k < n; k += W) {
                vec rows[W] = {};
                for (int j = 0; j < std::min(W, n - k); ++j) rows[j] = load(panels.at(column, k + j));
                transpose(rows);
                for (int unit = 0; unit < layout.units(group); ++unit) store(to + size_t(unit) * n + k, rows[unit], n - k);
            }
        }
}

// Panels of W (G H, n) itself. Its rows are the depth, in the order of the columns of products.
inline Panels backwards(const real* weight, int n, const Layout& layout) {
    Panels out(layout.columns, up_to_vector(n) / W, TILE_VECTORS);
    for (int panel = 0; panel < out.count(); ++panel)
        for (int group = 0; group < layout.groups; ++group)
            for (int gate = 0; gate < layout.gates; ++gate)
                for (int unit = 0; unit < layout.units(group); ++unit) {
                    const size_t row = size_t(gate) * layout.hidden + group * W + unit;
                    const int vectors = out.vectors_of(panel);
                    real* to = out.of(panel) + size_t(layout.column(group, gate) + unit) * vectors * W;
                    for (int v = 0; v < vectors; ++v) {
                        const int column = (panel * out.wide + v) * W;
                        store(to + v * W, load(weight + row * n + column, std::min(W, n - column)));
                    }
                }
    return out;
}
