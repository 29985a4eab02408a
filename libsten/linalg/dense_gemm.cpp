#include "libsten/linalg/dense_gemm.h"

#include <algorithm>
#include <atomic>
#include <ctime>

namespace sten {
namespace {

std::atomic<const DenseLibrary*> taken{nullptr};

double seconds_of(const DenseLibrary& library, Index m, Index n, Index k, const float* a,
                  const float* b, float* c) {
  // Of this thread, so that a busy machine chooses no other.
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  library.multiply(Turned::none, m, n, k, a, b, c, 1);
  return now() - start;
}

// By the least of several times each, taken in turns: a product of 0.2 GFLOP.
const DenseLibrary& choose() {
  const std::vector<DenseLibrary>& all = dense_libraries();
  if (all.size() == 1) return all.front();
  constexpr Index m = 256, n = 512, k = 768;
  constexpr int turns = 5;
  const std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f);
  std::vector<float> c(m * n);
  std::vector<double> least(all.size(), 1e9);
  for (int turn = 0; turn <= turns; ++turn)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double seconds = seconds_of(all[i], m, n, k, a.data(), b.data(), c.data());
      if (turn > 0) least[i] = std::min(least[i], seconds);  // the first one generates code
    }
  return all[std::min_element(least.begin(), least.end()) - least.begin()];
}

void multiply(Turned turned, Index m, Index n, Index k, const float* a, const float* b, float* c,
              int team) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, 0.0f);
    return;
  }
  // A thread that has less to do than this, some 25 us, costs more than it brings: it has to be
  // woken, and on a busy machine waited for.
  constexpr double least = 4e6;
  const double worth =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / least;
  team = std::max(1, worth < team ? static_cast<int>(worth) : team);
  fastest_dense_library().multiply(turned, m, n, k, a, b, c, team);
}

}  // namespace

const DenseLibrary& fastest_dense_library() {
  if (const DenseLibrary* first = taken) return *first;
  static const DenseLibrary& chosen = choose();
  return chosen;
}

void take_first_dense_library() { taken = &dense_libraries().front(); }

void dense_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c, int team) {
  multiply(Turned::none, m, n, k, a, b, c, team);
}

void dense_linear(Index n, Index m, Index k, const float* x, const float* a, float* y, int team) {
  multiply(Turned::b, n, m, k, x, a, y, team);
}

void dense_transposed_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                           int team) {
  multiply(Turned::a, m, n, k, a, b, c, team);
}

}  // namespace sten
