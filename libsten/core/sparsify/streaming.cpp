// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/streaming.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"

namespace sten {

double fraction_of(const Spec& spec, std::string_view key) {
  const double v = spec.number(key);
  if (!(v >= 0 && v <= 1)) fail_usage("{}: {} {}", quote(spec.str()), key, not_a_fraction(v));
  return v;
}

RandomFraction RandomFraction::make(const Spec& spec) {
  spec.check_keys({"fraction", "seed"});
  return {fraction_of(spec, "fraction"),
          static_cast<std::uint64_t>(spec.integer("seed", Index{0}))};
}

Threshold Threshold::make(const Spec& spec) {
  spec.check_keys({"at"});
  const double at = spec.number("at");
  if (at < 0) fail_usage("{}: at must be >= 0, got {}", quote(spec.str()), at);
  return {at};
}

}  // namespace sten
