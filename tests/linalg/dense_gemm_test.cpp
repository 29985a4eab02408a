// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/dense_gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/isa.h"
#include "kernels/peak.h"
#include "kernels/reference/gemm.h"
#include "libsten/core/base/fallback.h"
#include "tests/linalg/random_values.h"
#include "tests/support/warnings.h"

using namespace sten;
using testing::random_values;

namespace {

// Every element of c is that of the formula in double; rounding grows with the inner extent.
void check_product(const DenseProduct& multiply, Transpose transposed, Index m, Index n, Index k,
                   int threads) {
  CAPTURE(static_cast<int>(transposed));
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(threads);
  const std::vector<float> a = random_values(1, m * k), b = random_values(2, k * n);
  std::vector<double> wide_a(a.begin(), a.end());
  const std::vector<double> wide_b(b.begin(), b.end());
  std::vector<double> wanted(m * n);
  if (transposed == Transpose::a)  // [k,m]
    for (Index i = 0; i < m; ++i)
      for (Index p = 0; p < k; ++p) wide_a[i * k + p] = a[p * m + i];
  kernels::gemm_reference(transposed == Transpose::b, m, n, k, wide_a.data(), wide_b.data(),
                          wanted.data());
  // C starts as NaN, to show that old values are not read.
  std::vector<float> c(m * n + 1, std::numeric_limits<float>::quiet_NaN());
  c.back() = 7;
  multiply(transposed, m, n, k, a.data(), b.data(), c.data(), threads);
  double worst = 0;
  for (Index i = 0; i < m * n; ++i) worst = std::fmax(worst, std::abs(c[i] - wanted[i]));
  CHECK(std::none_of(c.begin(), c.end(), [](float v) { return std::isnan(v); }));
  CHECK(worst <= 1e-6 * static_cast<double>(k + 1));
  CHECK(c.back() == 7);
}

constexpr Index shapes[][3] = {{1, 1, 1},    {1, 7, 5},     {7, 1, 9},    {3, 5, 1},
                               {8, 8, 8},    {17, 33, 65},  {64, 64, 64}, {63, 65, 1},
                               {5, 130, 31}, {96, 40, 200}, {1, 300, 70}, {129, 257, 100}};

}  // namespace

TEST_CASE("every dense library agrees with the formula in double, on one thread and on three") {
  std::vector<DenseLibrary> all = dense_libraries();
  all.push_back(own_loop());
  for (const DenseLibrary& library : all) {
    CAPTURE(library.name);
    for (const auto [m, n, k] : shapes)
      for (const Transpose transposed : {Transpose::none, Transpose::a, Transpose::b})
        for (const int team : {1, 3}) check_product(library.multiply, transposed, m, n, k, team);
    MESSAGE("tested: " << library.name);  // for tests/checks/dense_libraries.sh
  }
}

TEST_CASE("dense products accept any extents, and an inner extent of 0 gives zeros") {
  const DenseProduct gemm = [](Transpose transposed, Index m, Index n, Index k, const float* a,
                               const float* b, float* c, int team) {
    const auto product = transposed == Transpose::none ? dense_gemm
                         : transposed == Transpose::a  ? dense_transposed_gemm
                                                       : dense_linear;
    product(m, n, k, a, b, c, team);
  };
  for (const Index m : {0, 1, 6})
    for (const Index n : {0, 1, 9})
      for (const Index k : {0, 1, 20})
        for (const Transpose transposed : {Transpose::none, Transpose::a, Transpose::b})
          check_product(gemm, transposed, m, n, k, 1);
  check_product(gemm, Transpose::a, 70, 90, 300, 2);
}

TEST_CASE("the default dense library is one of the available libraries") {
  const DenseLibrary& chosen = fastest_dense_library();
  bool known = false;
  for (const DenseLibrary& library : dense_libraries()) known |= &library == &chosen;
  CHECK(known);
  CHECK(&fastest_dense_library() == &chosen);
  CHECK(&dense_library() == &chosen);
  if (kernels::active_isa() == kernels::Isa::reference) CHECK(chosen.name == "own loop");
}

TEST_CASE("an explicitly requested reference ISA gives no fallback warning") {
  if (kernels::active_isa() != kernels::Isa::reference ||
      kernels::choose_isa(nullptr).isa == kernels::Isa::reference)
    return;
  const testing::Warnings warnings;
  set_strict(true);
  fastest_dense_library();
  set_strict(false);
  CHECK(warnings.all.empty());
}

TEST_CASE("a dense library is found by its keyword or its name in another version") {
  for (const DenseLibrary& library : dense_libraries())
    CHECK(find_dense_library(library.name) == &library);
  const auto name = [](const char* word) {
    const DenseLibrary* library = find_dense_library(word);
    return library ? library->name : "";
  };
  CHECK(name("own") == "own loop");
  CHECK(name("oneDNN 99.0") == name("onednn"));
  CHECK(name("OpenBLAS 0.0.1 Prescott") == name("openblas"));
  for (const char* other : {"", "one", "openblas2", "mkl 1"}) CHECK(name(other) == "");
}

TEST_CASE("UseDenseLibrary selects a library until the end of its scope") {
  const DenseLibrary& before = dense_library();
  int products = 0;
  const DenseLibrary counting{"counting", [&](Transpose, Index m, Index n, Index, const float*,
                                              const float*, float* c, int) {
                                ++products;
                                std::fill_n(c, m * n, 5.0f);
                              }};
  const float a = 2, b = 3;
  float c = 0;
  {
    const UseDenseLibrary use(counting);
    CHECK(&dense_library() == &counting);
    dense_gemm(1, 1, 1, &a, &b, &c);
    CHECK(c == 5);
    {
      const UseDenseLibrary own(*find_dense_library("own"));
      dense_gemm(1, 1, 1, &a, &b, &c);
      CHECK(c == 6);
    }
    dense_linear(1, 1, 1, &a, &b, &c);
  }
  CHECK(products == 2);
  CHECK(&dense_library() == &before);
}

TEST_CASE("OpenBLAS uses the core type of the active ISA and leaves the environment unchanged") {
  const bool given = std::getenv("OPENBLAS_CORETYPE") != nullptr;
  for (const DenseLibrary& library : dense_libraries())
    if (library.name.starts_with("OpenBLAS") && !given) {
      const bool wide = kernels::active_isa() >= kernels::Isa::avx512;
      CHECK(library.name.ends_with(wide ? " SkylakeX" : " Haswell"));
    }
  CHECK((std::getenv("OPENBLAS_CORETYPE") != nullptr) == given);
}

TEST_CASE("peak kernels count operations in proportion to rounds") {
  for (const kernels::Isa isa : kernels::all_isas)
    if (const kernels::PeakTable* table = kernels::peak_for(isa)) {
      for (const auto run : {table->run_fmas, table->run_bf16, table->run_int8}) {
        const double once = run(1);
        CHECK(once >= 2 * 8);
        CHECK(run(10) == 10 * once);
      }
      // Rows of tiles hold twice as many values of half the size.
      if (isa == kernels::Isa::amx) CHECK(table->run_int8(1) == 2 * table->run_bf16(1));
    }
}

TEST_CASE("dense products are bit-identical on any number of threads and in row tiles") {
  for (const DenseLibrary& library : dense_libraries()) {
    // The fastest library here, and all libraries with known `rows`.
    if (!library.rows && &library != &fastest_dense_library()) continue;
    CAPTURE(library.name);
    const UseDenseLibrary use(library);
    for (const auto& extents : {std::array<Index, 3>{1, 300, 70},
                                {47, 65, 130},
                                {193, 130, 64},
                                {500, 96, 1025},
                                {771, 24, 300},
                                {230, 513, 40}})
      for (const Transpose transposed : {Transpose::none, Transpose::a, Transpose::b}) {
        const Index m = extents[0], n = extents[1], k = extents[2];
        CAPTURE(m);
        CAPTURE(static_cast<int>(transposed));
        const std::vector<float> a = random_values(1, m * k), b = random_values(2, k * n);
        const auto product = transposed == Transpose::none ? dense_gemm
                             : transposed == Transpose::a  ? dense_transposed_gemm
                                                           : dense_linear;
        std::vector<float> one(m * n), other(m * n);
        product(m, n, k, a.data(), b.data(), one.data(), 1);
        for (const int team : {2, 3, 5}) {
          product(m, n, k, a.data(), b.data(), other.data(), team);
          CHECK(other == one);
        }
        if (transposed == Transpose::a || !library.rows) continue;
        for (Index row = 0; row < m; row += product_rows)
          product(std::min(product_rows, m - row), n, k, a.data() + row * k, b.data(),
                  other.data() + row * n, 1);
        CHECK(other == one);
      }
  }
}
