// Norms of a line. A line has all features of one example (layer norm, RMS norm), or one vector of features in all
// examples (batch norm): `count` vectors of each of G gates, `gates` apart.
#pragma once

#include "recurrence.hpp"

// Places of a line's vectors in memory.
struct Line {
    int count;
    ptrdiff_t gates;           // distance from one vector of summed inputs to the next
    ptrdiff_t units;           // the same distance in padded states
    ptrdiff_t usual;           // the same distance in states in the caller's layout
    ptrdiff_t of_gates;        // the same distance in parameters of the summed inputs: 0 over examples
    ptrdiff_t of_units;        // the same distance in parameters of the cell
    int lanes, last_lanes;     // lanes that hold units: in all vectors but the last, and in the last
    int in(int j) const { return j + 1 < count ? lanes : last_lanes; }
};

constexpr bool over_features(Method method) { return method != Method::batch_norm; }

// Statistics of a line: the normalized value is (a - mean) rstd.
template <int G>
struct Measured {
    vec mean[G], rstd[G];

    INLINE static Measured nothing() {
        Measured m;
        for (int g = 0; g < G; ++g) m.mean[g] = vec{}, m.rstd[g] = all(1);
        return m;
    }

    // Save the statistics for backward. Over features, all lanes hold the same number.
    template <Method method>
    INLINE void keep(real* to) const {
        for (int g = 0; g < G; ++g) {
            if constexpr (over_features(method)) {
                to[g] = mean[g][0];
                to[G + g] = rstd[g][0];
            } else {
                store(to + g * W, mean[g]);
                store(to + (G + g) * W, rstd[g]);
            }
        }
    }

    template <Method method>
    INLINE static Measured kept(const real* from) {
        Measured m;
        for (int g = 0; g < G; ++g) {
            if constexpr (over_features(method)) {
                m.mean[g] = all(from[g]);
                m.rstd[g] = all(from[G + g]);
            } else {
                m.mean[g] = load(from + g * W);
                m.rstd[g] = load(from + (G + g) * W);
            }
        }
        return m;
    }
};

// Count of the numbers that `keep` saves for a line.
template <Method method>
constexpr int kept_of_line(int gates) {
    return 2 * gates * (over_features(method) ? 1 : W);
}

// Gates of a cell that are normalized together: the same as in the paper, or each gate by itself.
template <class Cell>
struct Blocks {
    static constexpr int G = Cell::gates;
    bool per_gate;

    // Replace the sums of each gate (by lane, if they are vectors) by the mean over all features of the gate's block; a
    // gate has `n` features.
    template <class Sum>
    INLINE void mean(Sum (&sums)[G], real n) const {
        if (per_gate) {
            for (int g = 0; g < G; ++g) sums[g] = sum(sums[g]) / n;
            return;
        }
        Sum joined[G] = {};
        int gates[G] = {};
        for (int g = 0; g < G; ++g) joined[Cell::block_of[g]] += sums[g], ++gates[Cell::block_of[g]];
        for (int block = 0; block <= Cell::block_of[G - 1]; ++block) joined[block] = sum(joined[block]) / (n * gates[block]);
        for (int g = 0; g < G; ++g) sums[g] = joined[Cell::block_of[g]];
    }
};

// Block of an LSTM's cell c, which is normalized by itself.
struct OfCell {
    static constexpr int gates = 1;
    static constexpr int block_of[] = {0};
};

// `over_the_features` in float64, for sums or squares that are infinite in float32.
template <Method method, class Cell, int G = Cell::gates>
RARE Measured<G> in_float64(const real* a, Line line, Blocks<Cell> blocks, int hidden, double eps) {
    double means[G] = {}, squares[G] = {};
    const auto at = [&](int j, int g, int lane) { return double(a[j * line.gates + g * W + lane]); };
    if constexpr (method == Method::layer_norm) {
        for (int j = 0; j < line.count; ++j)
            for (int g = 0; g < G; ++g)
                for (int lane = 0; lane < line.in(j); ++lane) means[g] += at(j, g, lane);
        blocks.mean(means, hidden);
    }
    for (int j = 0; j < line.count; ++j)
        for (int g = 0; g < G; ++g)
            for (int lane = 0; lane < line.in(j); ++lane) squares[g] += std::pow(at(j, g, lane) - means[g], 2);
    blocks.mean(squares, hidden);
    Measured<G> m;
    for (int g = 0; g < G; ++g) {
        m.mean[g] = all(real(means[g]));
        m.rstd[g] = all(real(1 / std::sqrt(squares[g] + eps)));
    }
    return m;
}

// LN Eq. 3: mean and variance over the features of each block; for RMS norm (Zhang and Sennrich, Eq. 4) only the mean
// of squares.
template <Method method, class Cell, int G = Cell::gates>
INLINE Measured<G> over_the_features(const real* a, const Line& line, const Blocks<Cell>& blocks, int hidden, real eps) {
    Measured<G> m = Measured<G>::nothing();
    vec sums[G] = {};
    if constexpr (method == Method::layer_norm) {
        for (int j = 0; j < line.count; ++j)
            for (int g = 0; g < G; ++g) sums[g] += load(a + j * line.gates + g * W);
        blocks.mean(sums, hidden);
        for (int g = 0; g < G; ++g) m.mean[g] = sums[g], sums[g] = vec{};
    }
    const vec valid = first(line.last_lanes);
    for (int j = 0; j < line.count; ++j)
        for (int g = 0; g < G; ++g) {
            vec deviation = load(a + j * line.gates + g * W) - m.mean[g];
            if (j + 1 == line.count) deviation *= valid;
            sums[g] += deviation * deviation;
        }
    blocks.mean(sums, hidden);
    vec none = {};
    for (int g = 0; g < G; ++g) {
        m.rstd[g] = all(1 / std::sqrt(sums[g][0] + eps));
        none += 0 * sums[g];  // NaN if a sum is infinite or NaN
    }
    return none[0] == 0 ? m : in_float64<method>(a, line, blocks, hidden, eps);
}

constexpr int ROUNDING = NORMBENCH_ROUNDING;  // the same as in `normcore/norms/recurrent_batch_norm.py`

// Mean and variance of `over_the_examples` in float64, for features whose sums or squares are infinite in float32. The
// variance `var` itself may stay infinite. A variance of 0 means that the feature does not vary.
template <int G>
RARE void in_float64(const real* a, Line line, double eps, Measured<G>& m, vec (&var)[G]) {
    for (int g = 0; g < G; ++g)
        for (int lane = 0; lane < W; ++lane) {
            if (std::isfinite(m.mean[g][lane]) && std::isfinite(var[g][lane])) continue;
            double mean = 0, squares = 0;
            for (int j = 0; j < line.count; ++j) mean += a[j * line.gates + g * W + lane];
            mean /= line.count;
            for (int j = 0; j < line.count; ++j) squares += std::pow(a[j * line.gates + g * W + lane] - mean, 2);
            m.mean[g][lane] = real(mean);
            if (var[g][lane] == 0) continue;
            var[g][lane] = real(squares / line.count);
            m.rstd[g][lane] = real(1 / std::sqrt(squares / line.count + eps));
        }
}

// RBN Eq. 9: mean and variance over the examples of each feature. A feature whose variation rounding alone can explain,
// for products of this size, is normalized to 0.
template <int G>
INLINE Measured<G> over_the_examples(const real* a, const Line& line, const vec (&size)[G], real eps, vec (&var)[G]) {
    Measured<G> m;
    vec none = {};
    for (int g = 0; g < G; ++g) {
        vec total = {}, least = load(a + g * W), greatest = least;
        for (int j = 0; j < line.count; ++j) {
            const vec v = load(a + j * line.gates + g * W);
            total += v;
            least = min(least, v);
            greatest = max(greatest, v);
        }
        m.mean[g] = total / real(line.count);
        vec squares = {};
        for (int j = 0; j < line.count; ++j) {
            const vec deviation = load(a + j * line.gates + g * W) - m.mean[g];
            squares += deviation * deviation;
        }
        const vec largest = max(max(-least, greatest), size[g]);
        const auto varies = greatest - least > ROUNDING * std::numeric_limits<real>::epsilon() * largest;
        var[g] = varies ? squares / real(line.count) : vec{};
        m.rstd[g] = varies ? 1 / sqrt(var[g] + eps) : vec{};
        none += 0 * squares;  // NaN if a square is infinite or NaN
    }
    if (sum(none)[0] != 0) in_float64<G>(a, line, eps, m, var);
    return m;
}

// The gradient before a norm, from the gradient d after it: rstd (gain d - mean(gain d) - n mean(gain d n)). n is the
// normalized value; the means are over the same values as the statistics. Over examples, the gain is one for all values:
// then d and d n are added up, which are the gradients of the shift and the gain, and scaled afterwards.
template <Method method, class Cell>
struct Centred {
    static constexpr int G = Cell::gates;

    vec of_d[G] = {}, of_dn[G] = {};

    INLINE void add(int g, vec d, vec n) {
        if constexpr (method != Method::rms_norm) of_d[g] += d;
        of_dn[g] += d * n;
    }

    INLINE void scale(int g, vec gain) { of_d[g] *= gain, of_dn[g] *= gain; }

    INLINE void finish(const Line& line, const Blocks<Cell>& blocks, int hidden) {
        if constexpr (over_features(method)) {
            if constexpr (method != Method::rms_norm) blocks.mean(of_d, hidden);
            blocks.mean(of_dn, hidden);
        } else {
            for (int g = 0; g < G; ++g) of_d[g] /= real(line.count), of_dn[g] /= real(line.count);
        }
    }

    INLINE vec before(int g, vec scaled, vec n, vec rstd) const { return rstd * (scaled - of_d[g] - n * of_dn[g]); }
};
