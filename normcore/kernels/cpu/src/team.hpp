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
template <class Work>
void in_threads(int threads, Work work) {
    Barrier barrier(threads);
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
#endif
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread)
        others.emplace_back([&, thread] {
#if defined(__x86_64__)
            _mm_setcsr(control);
#endif
            work(thread, barrier);
        });
    work(0, barrier);
}
