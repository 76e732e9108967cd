// Products of matrices, by a kernel that keeps a tile of the result in registers.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "vector.hpp"

// The left operand: `row` is the distance between rows, `column` the distance between columns.
struct Left {
    const real* at;
    ptrdiff_t row, column;
};

// Numbers to which the products are added. `row` is the distance between rows; 0 if all rows are the same.
struct Start {
    const real* at;
    ptrdiff_t row;
};

constexpr int TILE_VECTORS = VECTOR_BYTES == 64 ? 4 : 2;  // with 32 registers, or 16
constexpr int TILE_ROWS[] = {12, VECTOR_BYTES == 64 ? 12 : 6, 8, 6};  // rows of a tile that is 1, 2, 3, 4 vectors wide
constexpr int MOST_ROWS = 12;
constexpr int DEPTH = 512;  // depth of a block: its part of the right operand stays in the second-level cache

namespace tile {

// The start is added last. If the products were added to the start one by one, a gradient's total over all steps would
// round each of its terms.
template <int ROWS, int VECTORS>
void multiply(Left a, const real* b, ptrdiff_t b_row, int depth, Start start, real* c, ptrdiff_t c_row) {
    vec sums[ROWS][VECTORS] = {};
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            __builtin_prefetch(start.at + m * start.row + v * W);
            __builtin_prefetch(c + m * c_row + v * W, 1);  // so that it is in the cache when it is written
        }
    for (int k = 0; k < depth; ++k) {
        vec right[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) right[v] = load(b + v * W);
#pragma GCC unroll 16
        for (int m = 0; m < ROWS; ++m) {
            const vec left = all(a.at[m * a.row]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v) sums[m][v] += left * right[v];
        }
        a.at += a.column;
        b += b_row;
    }
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v)
            store(c + m * c_row + v * W, load(start.at + m * start.row + v * W) + sums[m][v]);
}

using Multiply = void (*)(Left, const real*, ptrdiff_t, int, Start, real*, ptrdiff_t);

template <int VECTORS, int... M>
constexpr std::array<Multiply, MOST_ROWS> of_width(std::integer_sequence<int, M...>) {
    return {(M < TILE_ROWS[VECTORS - 1] ? &multiply<std::min(M + 1, TILE_ROWS[VECTORS - 1]), VECTORS> : nullptr)...};
}

template <int... V>
constexpr std::array<std::array<Multiply, MOST_ROWS>, sizeof...(V)> of_all(std::integer_sequence<int, V...>) {
    return {of_width<V + 1>(std::make_integer_sequence<int, MOST_ROWS>{})...};
}

constexpr auto TILES = of_all(std::make_integer_sequence<int, TILE_VECTORS>{});

}  // namespace tile

// c (rows x vectors W) = start + a (rows x depth) b (depth x vectors W). `b_row` and `c_row` are the distances between
// the rows of b and c.
inline void product(Left a, int rows, int depth, const real* b, ptrdiff_t b_row, int vectors, Start start, real* c,
                    ptrdiff_t c_row) {
    if (depth == 0) {  // only the start
        for (int m = 0; m < rows; ++m)
            for (int v = 0; v < vectors; ++v) store(c + m * c_row + v * W, load(start.at + m * start.row + v * W));
        return;
    }
    const int blocks = (depth + DEPTH - 1) / DEPTH;
    for (int block = 0; block < blocks; ++block) {
        const int k = depth * block / blocks, deep = depth * (block + 1) / blocks - k;
        for (int v = 0; v < vectors; v += TILE_VECTORS) {
            const int wide = std::min(TILE_VECTORS, vectors - v);
            const int tiles = (rows + TILE_ROWS[wide - 1] - 1) / TILE_ROWS[wide - 1];
            for (int part = 0; part < tiles; ++part) {
                const int m = int64_t(rows) * part / tiles, high = int64_t(rows) * (part + 1) / tiles - m;
                real* to = c + m * c_row + v * W;
                const Start from = block ? Start{to, c_row} : Start{start.at + m * start.row + v * W, start.row};
                const Left left{a.at + m * a.row + k * a.column, a.row, a.column};
                tile::TILES[wide - 1][high - 1](left, b + k * b_row + v * W, b_row, deep, from, to, c_row);
            }
        }
    }
}
