// Inputs each of which is one symbol, as language models have them: a product with them takes a row of the other operand
// and adds nothing, so that it has the same bits where that operand is finite, but for the order of a gradient's terms.
#pragma once

#include <vector>

#include "recurrence.hpp"
#include "vector.hpp"

class OneHot {
    static constexpr int FEWEST = W;  // inputs; with fewer a product costs little
    static constexpr int NONE = -1, NO_SYMBOL = -2;
    std::vector<int> symbols;  // of every step and example; NONE where x is 0, as in the padding

   public:
    // Of all inputs, or of none.
    explicit OneHot(const Recurrence& r) {
        if (r.inputs < FEWEST) return;
        const size_t rows = size_t(r.steps) * r.batch;
        for (size_t row = 0; row < rows; ++row) {
            const int found = symbol(r.x + row * r.inputs, r.inputs);
            if (found == NO_SYMBOL) {
                symbols.clear();
                return;
            }
            symbols.push_back(found);
        }
    }

    explicit operator bool() const { return !symbols.empty(); }

    // c = start + x b, for so many rows of x from `row` on.
    void take(size_t row, int rows, const real* b, int vectors, const real* start, real* c, ptrdiff_t c_row) const {
        for (int m = 0; m < rows; ++m) {
            const int k = symbols[row + m];
            for (int v = 0; v < vectors; ++v) {
                const vec sum = load(start + v * W);
                store(c + m * c_row + v * W, k == NONE ? sum : sum + load(b + (ptrdiff_t(k) * vectors + v) * W));
            }
        }
    }

    // c += x' d, for so many rows of x and d.
    void add(size_t row, int rows, const real* d, int vectors, real* c) const {
        for (int m = 0; m < rows; ++m) {
            const int k = symbols[row + m];
            if (k == NONE) continue;
            for (int v = 0; v < vectors; ++v) {
                real* to = c + (ptrdiff_t(k) * vectors + v) * W;
                store(to, load(to) + load(d + (ptrdiff_t(m) * vectors + v) * W));
            }
        }
    }

   private:
    static int symbol(const real* x, int n) {
        int found = NONE;
        for (int k = 0; k < n; ++k)
            if (x[k] != 0) {
                if (found != NONE || x[k] != 1) return NO_SYMBOL;
                found = k;
            }
        return found;
    }
};
