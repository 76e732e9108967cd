// Threads that work on one recurrence together. They are the threads of OpenMP, which torch uses, too, and which stay
// between calls. If no thread can be started, OpenMP ends the process, as it would in torch.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct Range {
    int from, to;
    int size() const { return to - from; }

    // The i-th element, counted from the other end at every other step: of data that is too large for a cache, the part
    // that was used last is still in the cache.
    int to_and_fro(int i, int step) const { return step % 2 ? to - 1 - i : from + i; }
};

// The share of n things that one of `threads` threads has.
inline Range share(int n, int thread, int threads) {
    return {int(int64_t(n) * thread / threads), int(int64_t(n) * (thread + 1) / threads)};
}

// A barrier where threads wait for each other. They wait busily for a while, because the others come within
// microseconds, and sleeping and waking takes longer. OpenMP's own barrier sleeps at once in runs: see
// `normcore/__init__.py`.
class Meeting {
    static constexpr int LOOKS = 4000;  // some 50 to 100 us
    alignas(64) std::atomic<int> arrived{0};
    alignas(64) std::atomic<int> round{0};

   public:
    void wait_for(int threads) {
        const int now = round.load(std::memory_order_relaxed);
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
            arrived.store(0, std::memory_order_relaxed);
            round.store(now + 1, std::memory_order_release);
            round.notify_all();
            return;
        }
        for (int look = 0; look < LOOKS; ++look) {
            if (round.load(std::memory_order_acquire) != now) return;
#if defined(__x86_64__)
            _mm_pause();
#endif
        }
        round.wait(now, std::memory_order_acquire);
    }
};

// Run work(thread, threads) in at most `most` threads of a team as large as torch's: for a smaller team, OpenMP would
// end the other threads, and start them again for torch. There may be fewer threads than asked for. The threads treat
// numbers below the normal range as the caller does. The work must not fail: the other threads would wait for it.
template <class Work>
void in_threads(int team, int most, Work work) {
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
#endif
#pragma omp parallel num_threads(most > 1 ? team : 1)
    {
        const int thread = omp_get_thread_num(), threads = std::min(most, omp_get_num_threads());
#if defined(__x86_64__)
        const unsigned own = _mm_getcsr();
        _mm_setcsr(control);
#endif
        if (thread < threads) work(thread, threads);
#if defined(__x86_64__)
        _mm_setcsr(own);
#endif
    }
}
