// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/dense_gemm.h"

#include <algorithm>
#include <atomic>
#include <ctime>

#include "kernels/isa.h"
#include "kernels/rows.h"
#include "libsten/core/base/fallback.h"

namespace sten {
namespace {

std::atomic<const DenseLibrary*> in_use{nullptr};

double seconds_of(const DenseLibrary& library, Index m, Index n, Index k, const float* a,
                  const float* b, float* c) {
  // CPU time of this thread, so that a busy machine does not change the choice.
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  library.multiply(Transpose::none, m, n, k, a, b, c, 1);
  return now() - start;
}

// Whether only the built-in loop is available although STEN_ISA does not select the reference.
bool is_without_library() {
  return !find_dense_library("onednn") && !find_dense_library("openblas") &&
         kernels::active_isa() == kernels::choose_isa(nullptr).isa;
}

// The index of the first library, or of another one that takes less than 9/10 of its time. Compares
// minimum times of a product of 0.2 GFLOP, in interleaved timing.
std::size_t measure(const std::vector<DenseLibrary>& all) {
  constexpr Index m = 256, n = 512, k = 768;
  constexpr int turns = 5;
  const std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f);
  std::vector<float> c(m * n);
  std::vector<double> least(all.size(), 1e9);
  for (int turn = 0; turn <= turns; ++turn)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double seconds = seconds_of(all[i], m, n, k, a.data(), b.data(), c.data());
      if (turn > 0) least[i] = std::min(least[i], seconds);  // the first call generates code
    }
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (least[i] < 0.9 * least[fastest]) fastest = i;
  return fastest;
}

// With AVX2, OpenBLAS is as fast as oneDNN and can run a product in one call.
const DenseLibrary& choose() {
  const std::vector<DenseLibrary>& all = dense_libraries();
  if (kernels::active_isa() == kernels::Isa::avx2)
    for (const DenseLibrary& library : all)
      if (library.rows && !library.in_stripes) return library;
  if (all.size() == 1) return all.front();
  // A busy machine may delay a library, but seldom the same one three times.
  const std::size_t fastest = measure(all);
  for (int again = 0; again < 2 && fastest > 0; ++again)
    if (measure(all) != fastest) return all.front();
  return all[fastest];
}

// The number of threads of a product, which are worth waking if each has this many operations.
int team_for(Index m, Index n, Index k, double least, int team) {
  const double worth =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / least;
  return std::max(1, worth < team ? static_cast<int>(worth) : team);
}

void multiply(Transpose transposed, Index m, Index n, Index k, const float* a, const float* b,
              float* c, int team) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, 0.0f);
    return;
  }
  // Less work per thread, some 25 us, does not pay for waking the thread and, on a busy machine,
  // waiting for it.
  team = team_for(m, n, k, 4e6, team);
  const DenseLibrary& library = dense_library();
  if (!library.rows) return library.multiply(transposed, m, n, k, a, b, c, team);
  const Index lda = transposed == Transpose::a ? m : k;
  const auto rows = [&](Index begin, Index end) {
    library.rows(transposed, end - begin, n, k,
                 a + (transposed == Transpose::a ? begin : begin * k), lda, b, c + begin * n);
  };
  const Index step = library.row_step, steps = ceil_div(m, step);
  // Multiples of row_step per thread; with in_stripes, one call per row_step for every number of
  // threads.
  const Index shares = library.in_stripes ? steps : std::min<Index>(team, steps);
  if (shares == 1) return rows(0, m);
  const auto first = [&](Index share) { return std::min(m, share * steps / shares * step); };
  const auto all = [&](Index begin, Index end) {
    for (Index share = begin; share < end; ++share) rows(first(share), first(share + 1));
  };
  if (team == 1) return all(0, shares);
  parallel_for(shares, 1, all);
}

}  // namespace

void dense_vector_product(Index m, Index k, const float* a, const float* x, float* y, int team) {
  // 1 MB of A, which takes some 60 us from memory.
  team = team_for(m, 1, k, 5e5, team);
  const auto some = [&](Index begin, Index end) {
    kernels::rows().multiply_vector(a + begin * k, end - begin, k, x, y + begin);
  };
  if (team == 1) return some(0, m);
  parallel_for(m, ceil_div(m, Index{team}), some);
}

const DenseLibrary& dense_library() {
  if (const DenseLibrary* library = in_use) return *library;
  return fastest_dense_library();
}

const DenseLibrary& fastest_dense_library() {
  static const DenseLibrary& chosen = choose();
  static const bool is_slow = is_without_library();
  if (is_slow)
    report_fallback(
        "dense products: neither oneDNN nor OpenBLAS is there; by a loop of our own, many times "
        "slower");
  return chosen;
}

UseDenseLibrary::UseDenseLibrary(const DenseLibrary& library)
    : before_(in_use.exchange(&library)) {}
UseDenseLibrary::~UseDenseLibrary() { in_use = before_; }

void dense_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c, int team) {
  multiply(Transpose::none, m, n, k, a, b, c, team);
}

void dense_linear(Index n, Index m, Index k, const float* x, const float* a, float* y, int team) {
  multiply(Transpose::b, n, m, k, x, a, y, team);
}

void dense_transposed_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                           int team) {
  multiply(Transpose::a, m, n, k, a, b, c, team);
}

}  // namespace sten
