// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/dense_library.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/reference/gemm.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

DenseLibrary own_loop() {
  return {"own loop", [](Transpose transposed, Index m, Index n, Index k, const float* a,
                         const float* b, float* c, int threads) {
            std::vector<float> rows_of_a;
            if (transposed == Transpose::a) {
              rows_of_a.resize(m * k);
              for (Index i = 0; i < m; ++i)
                for (Index p = 0; p < k; ++p) rows_of_a[i * k + p] = a[p * m + i];
              a = rows_of_a.data();
            }
            const Index rows = ceil_div(m, threads);
            parallel_for(threads, 1, [&](Index begin, Index end) {
              const Index r0 = std::min(m, begin * rows), r1 = std::min(m, end * rows);
              kernels::gemm_blocked(transposed == Transpose::b, r1 - r0, n, k, a + r0 * k, b,
                                    c + r0 * n);
            });
          }};
}

const std::vector<DenseLibrary>& dense_libraries() {
  static const std::vector<DenseLibrary> all = [] {
    std::vector<DenseLibrary> found;
    if (auto library = load_onednn()) found.push_back(*std::move(library));
    if (auto library = load_openblas()) found.push_back(*std::move(library));
    if (found.empty()) found.push_back(own_loop());
    return found;
  }();
  return all;
}

const DenseLibrary* find_dense_library(std::string_view name) {
  const auto same_word = [&](std::string_view other) {
    const auto first = [](std::string_view s) { return s.substr(0, s.find(' ')); };
    return std::ranges::equal(first(name), first(other), {}, lower, lower);
  };
  for (const DenseLibrary& library : dense_libraries())
    if (same_word(library.name)) return &library;
  static const DenseLibrary own = own_loop();
  return same_word(own.name) ? &own : nullptr;
}

namespace linalg_detail {

Environment::Environment(const char* name, const char* value)
    : name_(std::getenv(name) ? nullptr : name) {
  if (name_) setenv(name_, value, 1);
}

Environment::~Environment() {
  if (name_) unsetenv(name_);
}

}  // namespace linalg_detail
}  // namespace sten
