// One-hot inputs, as in language models: each input is one symbol. A product with such an input is a row of the other
// operand, and nothing is added up. So the result has the same bits as the full product if the other operand is finite,
// except that a gradient's terms are added in another order.
#pragma once

#include <vector>

#include "recurrence.hpp"
#include "vector.hpp"

class OneHot {
    static constexpr int FEWEST = W;  // least number of inputs; with fewer inputs a full product costs little
    static constexpr int NONE = -1, NO_SYMBOL = -2;
    std::vector<int> symbols;  // symbol of every step and example; NONE where x is 0, as in the padding

   public:
    // Find the symbols of all inputs. If an input is neither one-hot nor 0, there are no symbols at all.
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

    // c = start + x b, for `rows` rows of x from `row` on.
    void take(size_t row, int rows, const real* b, int vectors, const real* start, real* c, ptrdiff_t c_row) const {
        for (int m = 0; m < rows; ++m) {
            const int k = symbols[row + m];
            for (int v = 0; v < vectors; ++v) {
                const vec sum = load(start + v * W);
                store(c + m * c_row + v * W, k == NONE ? sum : sum + load(b + (ptrdiff_t(k) * vectors + v) * W));
            }
        }
    }

    // c += x' d, for `rows` rows of x and d.
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
