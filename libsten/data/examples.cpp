// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/examples.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "libsten/compute/ops/common/indices.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/scalars.h"
#include "libsten/core/base/text.h"

namespace sten {

void check_features(const Dense& x, const std::string& name) {
  const bool known = with_scalar(x.dtype(), [&]<class U>(U, auto number) {
    if constexpr (!std::is_integral_v<decltype(number(U{}))>) {
      const auto v = x.values.as<U>();
      // Rounding to float32 overflows from half a step above its largest value.
      const auto bad = std::find_if(v.begin(), v.end(), [&](U bits) {
        return !std::isfinite(static_cast<float>(number(bits)));
      });
      if (bad != v.end())
        fail("{}: element {} must be a finite float32 value, got {}", name,
             index_text(bad - v.begin(), x.extents), number(*bad));
    }
  });
  if (!known) fail("{}: unsupported dtype {} of features", name, name_of(x.dtype()));
}

Dense labels_of(const Dense& labels, const std::string& name, std::optional<Index> ignored) {
  Dense y{labels.extents, Values::uninitialized(DType::I64, labels.size())};
  const auto out = y.values.mutate<std::int64_t>();
  const bool known = with_scalar(labels.dtype(), [&]<class U>(U, auto number) {
    if constexpr (!std::is_integral_v<decltype(number(U{}))>) {
      fail("{}: labels must be integers, got {}", name, name_of(labels.dtype()));
    } else {
      const auto v = labels.values.as<U>();
      for (std::size_t i = 0; i < v.size(); ++i) {
        if (ignored && std::cmp_equal(v[i], *ignored)) {
          out[i] = *ignored;
          continue;
        }
        if (!std::in_range<std::int64_t>(v[i]) || std::cmp_less(v[i], 0))
          fail("{}: label {} is {}, not a class index (expected an integer >= 0)", name, i, v[i]);
        out[i] = static_cast<std::int64_t>(v[i]);
      }
    }
  });
  if (!known) fail("{}: labels must be integers, got {}", name, name_of(labels.dtype()));
  return y;
}

Index Examples::classes() const {
  const auto y = labels.values.as<std::int64_t>();
  return y.empty() ? 0 : *std::max_element(y.begin(), y.end()) + 1;
}

Examples make_examples(Dense features, const Dense& labels, const std::string& features_name,
                       const std::string& labels_name) {
  const std::string x = printable(features_name), y = printable(labels_name);
  if (features.extents.size() < 2)
    fail("{}: features must be [examples, ...], got {}", x, to_string(features.extents));
  if (labels.extents.size() != 1)
    fail("{}: labels must be [examples], got {}", y, to_string(labels.extents));
  if (features.extents[0] != labels.extents[0])
    fail("{}: {} rows, but {} has {} labels", x, features.extents[0], y, labels.extents[0]);
  if (features.size() == 0) fail("{}: shape {} has no elements", x, to_string(features.extents));
  check_features(features, x);
  return {std::move(features), labels_of(labels, y)};
}

std::vector<Index> shuffled(Index n, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, Index>> keys(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) keys[i] = {random_bits(seed, static_cast<std::uint64_t>(i)), i};
  std::sort(keys.begin(), keys.end());
  std::vector<Index> order(keys.size());
  std::transform(keys.begin(), keys.end(), order.begin(), [](const auto& k) { return k.second; });
  return order;
}

Shares shares_of(Index n, double train, double validation) {
  constexpr double noise = 1e-9;  // 0.7 + 0.1 is below 0.8
  if (!(train >= 0) || !(validation >= 0) || !(train + validation <= 1 + noise))
    fail_usage("train and validation must be >= 0 with a sum <= 1, got {} and {}", train,
               validation);
  const auto part = [&](double share) {
    return std::min(n, static_cast<Index>(std::floor(share * static_cast<double>(n) + noise)));
  };
  const Index first = part(train), both = part(train + validation);
  return {first, both - first, n - both};
}

Split split_rows(Index n, double train, double validation, std::uint64_t seed) {
  const Shares shares = shares_of(n, train, validation);
  const std::vector<Index> rows = shuffled(n, seed);
  const auto a = rows.begin() + shares.train, b = a + shares.validation;
  return {{rows.begin(), a}, {a, b}, {b, rows.end()}};
}

}  // namespace sten
