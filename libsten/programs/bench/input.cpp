// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/input.h"

#include <cmath>
#include <numbers>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"

namespace sten {
namespace {

// Value i of a stream of N(0, 1) (Box and Muller, 1958).
double normal(std::uint64_t seed, Index i) {
  const auto at = static_cast<std::uint64_t>(i) * 2;
  const double radius = std::sqrt(-2 * std::log(1 - random_uniform(seed, at)));
  return radius * std::cos(2 * std::numbers::pi * random_uniform(seed, at + 1));
}

double student3(std::uint64_t seed, Index i) {
  double squares = 0;
  for (Index k = 1; k <= 3; ++k) squares += std::pow(normal(seed, 4 * i + k), 2);
  return normal(seed, 4 * i) / std::sqrt(squares / 3);
}

double laplace(std::uint64_t seed, Index i) {
  const double u = random_uniform(seed, static_cast<std::uint64_t>(i)) - 0.5;
  return std::copysign(std::log(1 - 2 * std::abs(u)), u);
}

template <class F>
Dense filled(const Shape& shape, F&& value) {
  Dense x = Dense::zeros(DType::F32, shape);
  const auto to = x.values.mutate<float>();
  parallel_for(x.size(), Index{1} << 14, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] = static_cast<float>(value(i));
  });
  return x;
}

}  // namespace

Dense bench_input(std::string_view distribution, const Shape& shape, std::uint64_t seed) {
  if (distribution == "normal") return filled(shape, [&](Index i) { return normal(seed, i); });
  if (distribution == "student3") return filled(shape, [&](Index i) { return student3(seed, i); });
  if (distribution == "laplace") return filled(shape, [&](Index i) { return laplace(seed, i); });
  if (distribution == "rowscaled") {
    const Index cols = shape.empty() ? 1 : std::max<Index>(1, shape.back());
    const std::uint64_t rows = seed_for(seed, "rows");
    return filled(
        shape, [&](Index i) { return normal(seed, i) * std::exp(0.5 * normal(rows, i / cols)); });
  }
  const std::vector<std::string> known(std::begin(bench_inputs), std::end(bench_inputs));
  fail_usage("--input: {}", unknown_name("distribution", distribution, known));
}

}  // namespace sten
