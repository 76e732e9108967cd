// Threads that work on one recurrence together.
#pragma once

#include <barrier>
#include <exception>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct Range {
    int from, to;
    int size() const { return to - from; }
};

// What one of so many threads has of n things.
inline Range share(int n, int thread, int threads) {
    return {int(int64_t(n) * thread / threads), int(int64_t(n) * (thread + 1) / threads)};
}

using Barrier = std::barrier<>;

// Run work(thread, barrier) in each of so many threads. They treat numbers below the normal range as the caller does.
// Where one fails, or cannot be started, nobody waits for it at the barrier; in the end its exception is the caller's.
template <class Work>
void in_threads(int threads, Work work) {
    Barrier barrier(threads);
    std::vector<std::exception_ptr> failures(threads);
    const auto guarded = [&](int thread) {
        try {
            work(thread, barrier);
        } catch (...) {
            failures[thread] = std::current_exception();
            barrier.arrive_and_drop();
        }
    };
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
#endif
    std::vector<std::jthread> others;
    try {
        others.reserve(threads);
        for (int thread = 1; thread < threads; ++thread)
            others.emplace_back([&, thread] {
#if defined(__x86_64__)
                _mm_setcsr(control);
#endif
                guarded(thread);
            });
    } catch (...) {
        for (int missing = int(others.size()); missing < threads; ++missing) barrier.arrive_and_drop();
        throw;
    }
    guarded(0);
    others.clear();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}
