// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/sparsify/global_magnitude.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/floats.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"

using namespace sten;

namespace {

// Few distinct values, so that the boundary is shared by many elements of several tensors.
Dense tied_values(DType dtype, Index n, std::uint64_t seed) {
  Dense x = Dense::zeros(dtype, {n});
  with_width(width_of(dtype), [&]<class U>(U) {
    const auto v = x.values.mutate<U>();
    for (Index i = 0; i < n; ++i) {
      // 0.5 to 2 in steps of a power of two, exact in every type that has 3 bits of fraction.
      const int step = static_cast<int>(random_bits(seed, static_cast<std::uint64_t>(i)) % 4);
      const double value = (i % 2 ? -1 : 1) * std::ldexp(1.0, step - 1);
      if constexpr (sizeof(U) == 8) v[i] = std::bit_cast<U>(value);
      if constexpr (sizeof(U) == 4) v[i] = std::bit_cast<U>(static_cast<float>(value));
      if constexpr (sizeof(U) == 2)  // bfloat16
        v[i] = static_cast<U>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
    }
  });
  return x;
}

double value_at(const Dense& x, Index i) {
  return with_float(x.dtype(), [&]<class E>(E) {
    return static_cast<double>(E::decode(x.values.as<typename E::Bits>()[i]));
  });
}

// The definition: sort all elements by magnitude, later ones of equals first, and drop the first.
std::vector<std::vector<bool>> naive(const std::vector<Dense>& tensors, double sparsity) {
  struct Place {
    double size;
    std::size_t tensor;
    Index i;
  };
  std::vector<Place> all;
  std::vector<std::vector<bool>> keep;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    keep.emplace_back(tensors[k].size(), true);
    for (Index i = 0; i < tensors[k].size(); ++i)
      all.push_back({std::abs(value_at(tensors[k], i)), k, i});
  }
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) {
    if (a.size != b.size) return a.size < b.size;
    return a.tensor != b.tensor ? a.tensor > b.tensor : a.i > b.i;
  });
  const auto drop = std::llround(sparsity * static_cast<double>(all.size()));
  for (long long d = 0; d < drop; ++d) keep[all[d].tensor][all[d].i] = false;
  return keep;
}

void check(const std::vector<Dense>& tensors, double sparsity) {
  const GlobalMagnitude global(
      tensors.size(), [&](std::size_t k, const auto& f) { f(tensors[k]); }, sparsity);
  const auto expected = naive(tensors, sparsity);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Mask mask = global.select(k, tensors[k]);
    Index wrong = 0;
    for (Index i = 0; i < tensors[k].size(); ++i) wrong += mask[i] != expected[k][i];
    CHECK_MESSAGE(wrong == 0, "tensor ", k, " at sparsity ", sparsity);
  }
}

}  // namespace

TEST_CASE("a global threshold removes the smallest values of all tensors, later ties first") {
  for (const int team : {1, 3}) {
    set_threads(team);
    for (const double sparsity : {0.0, 0.1, 0.5, 0.77, 1.0}) {
      check({tied_values(DType::F32, 1000, 1), tied_values(DType::F32, 0, 2),
             tied_values(DType::F32, 777, 3), tied_values(DType::F32, 1, 4)},
            sparsity);
      check({tied_values(DType::BF16, 100, 1), tied_values(DType::BF16, 131, 2)}, sparsity);
    }
  }
  set_threads(available_threads());
}

TEST_CASE("a global threshold compares tensors of different dtypes by value") {
  for (const double sparsity : {0.1, 0.5, 0.9})
    check({tied_values(DType::F32, 300, 1), tied_values(DType::BF16, 200, 2),
           tied_values(DType::F64, 100, 3)},
          sparsity);
}

TEST_CASE("a global threshold over several segments of mixed dtypes counts every element once") {
  check({tied_values(DType::BF16, (1 << 20) + 13, 1), tied_values(DType::F32, 1000, 2)}, 0.6);
}
