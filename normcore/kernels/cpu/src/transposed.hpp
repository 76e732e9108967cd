// The inputs (rows, n) of some steps, transposed to (n, rows): the left operand of a gradient of weights. Without the
// transposition its elements would be n apart: each in a separate cache line and, in a large network, in a separate
// page.
#pragma once

#include "layout.hpp"
#include "team.hpp"

class Transposed {
    int n, row;
    Array data;

   public:
    // Allocate room for one vector beyond the rows, too.
    Transposed(int n, int rows) : n(n), row(spread(up_to_vector(rows) + W)), data(size_t(n) * row) {}

    // Transpose rows into the columns from `at` on. Up to a vector of columns beyond them is overwritten.
    void take(const real* from, int rows, int at, Range columns) {
        for (int k = columns.from; k < columns.to; k += W)
            for (int m = 0; m < rows; m += W) {
                vec block[W] = {};
                for (int j = 0; j < std::min(W, rows - m); ++j)
                    block[j] = load(from + ptrdiff_t(m + j) * n + k, columns.to - k);
                transpose(block);
                for (int j = 0; j < std::min(W, columns.to - k); ++j) store(data + ptrdiff_t(k + j) * row + at + m, block[j]);
            }
    }

    Left left() const { return {data, row, 1}; }
};
