// SPDX-License-Identifier: Apache-2.0
// Initial weights.
#include <cmath>
#include <numbers>

#include "libsten/core/base/random.h"
#include "libsten/model/graph/graph.h"

namespace sten {
namespace {

Tensor initial(const Weight& w, std::uint64_t seed) {
  Dense x = Dense::zeros(DType::F32, w.shape);
  if (w.init.is("zeros")) return x;
  const bool is_normal = w.init.is("normal"), is_one = w.init.is("ones");
  const double scale = is_one ? 1 : w.init.number(is_normal ? "std" : "bound");
  const auto value = [&](Index i) {
    if (is_one) return 1.0;
    const double u = random_uniform(seed, 2 * static_cast<std::uint64_t>(i));
    if (!is_normal) return scale * (2 * u - 1);
    // Box and Muller (1958).
    const double angle = random_uniform(seed, 2 * static_cast<std::uint64_t>(i) + 1);
    return scale * std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * angle);
  };
  const std::span<float> to = x.values.mutate<float>();
  parallel_for(x.size(), Index{1} << 12, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] = static_cast<float>(value(i));
  });
  return x;
}

}  // namespace

NamedValues<Tensor> initial_weights(const Graph& g, std::uint64_t seed) {
  NamedValues<Tensor> all;
  for (const Weight& w : g.weights()) all.emplace(w.name, initial(w, seed_for(seed, w.name)));
  return all;
}

}  // namespace sten
