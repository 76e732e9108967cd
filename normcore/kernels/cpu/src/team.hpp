// Threads that work on one recurrence together: those of OpenMP, which are torch's own. They stay between calls, and
// wait for each other without sleeping; threads beside them would take turns with them on the same cores.
#pragma once

#include <omp.h>

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

// Until all threads are here.
inline void wait_for_all() {
#pragma omp barrier
}

// Run work(thread, threads) in each of at most so many threads: OpenMP may have fewer. They treat numbers below the
// normal range as the caller does. The work must not fail: the others would wait for it.
template <class Work>
void in_threads(int most, Work work) {
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
#endif
#pragma omp parallel num_threads(most)
    {
#if defined(__x86_64__)
        const unsigned own = _mm_getcsr();
        _mm_setcsr(control);
#endif
        work(omp_get_thread_num(), omp_get_num_threads());
#if defined(__x86_64__)
        _mm_setcsr(own);
#endif
    }
}
