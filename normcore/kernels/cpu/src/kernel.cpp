// The functions that Python calls. `build.py` defines NORMBENCH_CELL (LSTM, GRU or RNN), NORMBENCH_ROUNDING,
// NORMBENCH_BUILT and NORMBENCH_FLOAT64.
#include "backward.hpp"
#include "forward.hpp"

using Cell = NORMBENCH_CELL;

namespace {

void forward(const Recurrence& r) {
    switch (r.method) {
        case Method::none: return Forward<Cell, Method::none>(r).run();
        case Method::layer_norm: return Forward<Cell, Method::layer_norm>(r).run();
        case Method::rms_norm: return Forward<Cell, Method::rms_norm>(r).run();
        case Method::batch_norm: return Forward<Cell, Method::batch_norm>(r).run();
        case Method::population: return Forward<Cell, Method::population>(r).run();
    }
}

void backward(const Recurrence& r) {
    switch (r.method) {
        case Method::none: return Backward<Cell, Method::none>(r).run();
        case Method::layer_norm: return Backward<Cell, Method::layer_norm>(r).run();
        case Method::rms_norm: return Backward<Cell, Method::rms_norm>(r).run();
        case Method::batch_norm: return Backward<Cell, Method::batch_norm>(r).run();
        case Method::population: return;  // has no gradient
    }
}

// Run a pass; return null, or a message that says what went wrong.
const char* told(void (*pass)(const Recurrence&), const Recurrence& r) {
    try {
        pass(r);
        return nullptr;
    } catch (const std::bad_alloc&) {
        return "there is not enough memory";
    }
}

}  // namespace

extern "C" {

const char* normbench_forward(const Recurrence* r) { return told(forward, *r); }
const char* normbench_backward(const Recurrence* r) { return told(backward, *r); }

// The instruction set and the compiler of this object.
const char* normbench_built() { return NORMBENCH_BUILT __VERSION__; }

// Distance from one example's summed inputs to the next example's, as they are saved for backward.
int64_t normbench_stride(int64_t hidden) { return Layout(hidden, Cell::gates).stride; }

// Number of units in a padded state.
int64_t normbench_padded(int64_t hidden) { return up_to_vector(hidden); }
}
