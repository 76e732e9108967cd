// The forward pass of a cell over a sequence.
#pragma once

#include <vector>

#include "forward_line.hpp"

constexpr int LINES_IN_TURN = 8;
constexpr int ROWS_OF_PROJECTION = 96;  // a panel of W_x is loaded once for at least this many rows of x

template <class Cell, Method method>
class Forward {
    using Step = ForwardLine<Cell, method>;
    static constexpr int G = Cell::gates;

    const Recurrence& r;
    const Prepared<Cell, method> p;
    const int chunk;  // steps that are projected at a time
    Buffers buffers;
    Array own_inputs, own_recurrents, own_cells, own_states;
    Array squares;  // batch norm: sums of h^2 of each thread, by example and lane, at even and at odd steps
    Meeting meeting;

   public:
    explicit Forward(const Recurrence& r)
        : r(r), p(r, method == Method::batch_norm), chunk(std::min<int>(r.steps, (ROWS_OF_PROJECTION + r.batch - 1) / r.batch)) {
        const int steps_of_sums = p.together ? chunk : 1;
        real* kept_sums = keeps_gates<Cell, method> ? nullptr : r.kept_recurrent;
        buffers.recurrents = room(own_recurrents, kept_sums, p.gates.stride, steps_of_sums);
        buffers.inputs = p.together ? buffers.recurrents : room(own_inputs, r.kept_input, p.gates.stride, chunk);
        buffers.cells = room(own_cells, r.kept_c, p.units.width, 1);
        buffers.states = room(own_states, nullptr, p.units.width, 2);
    }

    void run() {
        p.padded(r.h0, buffers.states.at(1));
        const int most = std::min<int>(r.threads, over_features(method) ? p.B : (p.gates.groups + 3) / 4);
        if constexpr (over_features(method)) {
            std::vector<Working> working;
            for (int thread = 0; thread < most; ++thread) working.emplace_back(r, p);
            in_threads(r.threads, most, [&](int thread, int threads) {
                rows(share(p.B, thread, threads), working[thread]);
            });
        } else {
            measure_state(most);
            std::vector<Scratch> scratch;
            for (int thread = 0; thread < most; ++thread) scratch.emplace_back(p.B);
            in_threads(r.threads, most, [&](int thread, int threads) { columns(thread, threads, scratch[thread]); });
        }
        p.usual(buffers.states.at(p.T - 1), r.end_h, {0, p.B});
        if constexpr (Cell::has_cell) p.usual(buffers.cells.at(p.T - 1), r.end_c, {0, p.B});
    }

   private:
    // Room for all steps if the caller keeps them, else for the last few steps.
    Steps room(Array& own, real* kept, int row, int steps) const {
        if (kept) return {kept, row, p.B, p.T};
        own = Array(size_t(steps) * p.B * row);
        return {own, row, p.B, steps};
    }

    // Working memory of a thread whose lines are over features.
    struct Working {
        std::vector<Scratch> scratch;
        std::vector<Step> steps;
        Population population;

        Working(const Recurrence& r, const Prepared<Cell, method>& p)
            : population(r, p.gates, p.units, p.affine(), Cell::adds_terms) {
            for (int k = 0; k < LINES_IN_TURN; ++k) scratch.emplace_back(p.gates.groups);
            steps.reserve(LINES_IN_TURN);
        }
    };

    void rows(Range rows, Working& working) {
        for (int t = 0; t < p.T; ++t) {
            if (t % chunk == 0) p.project(t, std::min(t + chunk, p.T), rows, p.all_panels(), buffers.inputs);
            for (int i = 0; i < p.weight_hh.count(); ++i)
                p.recur(buffers.states.at(t + 1), buffers.states.row, rows, p.all_panels().to_and_fro(i, t), buffers.recurrents.at(t));
            const Affine affine = method == Method::population ? working.population.at(t) : p.affine();
            for (int b = rows.from; b < rows.to; b += LINES_IN_TURN)
                in_turn(t, {b, std::min(b + LINES_IN_TURN, rows.to)}, affine, working);
            output(t, rows);
        }
        streamed();
    }

    void in_turn(int t, Range rows, const Affine& affine, Working& working) {
        std::vector<Step>& steps = working.steps;
        steps.clear();
        for (int b = rows.from; b < rows.to; ++b) {
            steps.emplace_back(p, buffers, t, b, affine, working.scratch[b - rows.from]);
            if (steps.back().is_padding()) {
                steps.back().stay();
                steps.pop_back();
            }
        }
        for (Step& step : steps) step.measure(0);
        for (Step& step : steps) step.gates(nullptr);
        if constexpr (Cell::has_cell) {
            for (Step& step : steps) step.measure_cell();
            for (Step& step : steps) step.outputs(nullptr);
        }
    }

    void columns(int thread, int threads, Scratch& scratch) {
        const Range panels = p.own_panels(thread, threads), groups = p.own_groups(thread, threads);
        const int of_panel = p.weight_hh.wide / G;
        for (int t = 0; t < p.T; ++t) {
            if (t % chunk == 0) p.project(t, std::min(t + chunk, p.T), {0, p.B}, panels, buffers.inputs);
            const real longest_h = longest(t, threads);
            if (r.longest_h && thread == 0) r.longest_h[t] = longest_h;
            real* own = squares + (size_t(threads) * ((t + 1) % 2) + thread) * p.B * W;
            std::memset(own, 0, sizeof(real) * p.B * W);
            for (int i = 0; i < panels.size(); ++i) {
                const int panel = panels.to_and_fro(i, t);
                p.recur(buffers.states.at(t + 1), buffers.states.row, {0, p.B}, panel, buffers.recurrents.at(t));
                for (int group = panel * of_panel; group < std::min((panel + 1) * of_panel, groups.to); ++group)
                    column(t, group, scratch, own, longest_h);
            }
            meeting.wait_for(threads);
            output(t, share(p.B, thread, threads));
        }
    }

    // Write h in the caller's layout. Each thread writes whole rows: if each wrote some columns, threads would share
    // cache lines.
    void output(int t, Range rows) const { p.usual(buffers.states.at(t), r.y + ptrdiff_t(t) * p.B * p.H, rows); }

    void column(int t, int group, Scratch& scratch, real* squares, real longest_h) {
        Step step(p, buffers, t, group, p.affine(), scratch);
        step.measure(longest_h);
        step.gates(squares);
        if constexpr (Cell::has_cell) {
            step.measure_cell();
            step.outputs(squares);
        }
    }

    // Sum up h^2 of the state that step 0 begins with.
    void measure_state(int threads) {
        squares = Array(size_t(2) * threads * p.B * W);
        real* first = squares;
        for (int b = 0; b < p.B; ++b)
            for (int j = 0; j < p.gates.groups; ++j) {
                const vec h = load(buffers.states.at(1, b) + j * W);
                store(first + b * W, load(first + b * W) + h * h);
            }
    }

    // The length of the longest h that step t begins with.
    real longest(int t, int threads) const {
        const real* of_threads = squares + size_t(threads) * (t % 2) * p.B * W;
        real most = 0;
        for (int b = 0; b < p.B; ++b) {
            vec total = {};
            for (int thread = 0; thread < threads; ++thread) total += load(of_threads + (size_t(thread) * p.B + b) * W);
            most = std::max(most, sum(total)[0]);
        }
        return std::sqrt(most);
    }
};
