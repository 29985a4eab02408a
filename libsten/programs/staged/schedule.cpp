// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/schedule.h"

#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"
#include "libsten/training/recipe/sparsity_schedule.h"

namespace sten {
namespace {

// Tolerance for decimal fractions.
constexpr double rounding = 1e-9;

double fraction(const Spec& s, const char* key) {
  const double v = s.number(key);
  if (!(v >= 0 && v <= 1)) fail_usage("{} {}", key, not_a_fraction(v));
  return v;
}

double end_of(const Spec& s, std::optional<double> sparsity) {
  if (!s.has("to")) {
    if (!sparsity) fail_usage("missing key to, the sparsity of the last stage, such as to=0.9");
    return *sparsity;
  }
  const double to = fraction(s, "to");
  if (sparsity && std::abs(*sparsity - to) > rounding)
    fail_usage("to={} contradicts --sparsity {} (leave one out)", to, *sparsity);
  return to;
}

}  // namespace

Schedule parse_schedule(const std::string& text, std::optional<double> sparsity,
                        const std::vector<std::string>& structures) {
  try {
    Schedule out{false, {}, {}, Spec::parse(text)};
    const Spec& s = out.spec;
    if (s.is("layer-wise") || s.is("layerwise")) {
      s.check_keys({});
      out.spec = Spec("layer-wise");
      if (structures.size() > 1) fail_usage("expected one --structure");
      out.layerwise = true;
      return out;
    }
    if (!s.is("iterative") && !s.is("linear") && !s.is("cubic") && !s.is("exponential"))
      fail_usage("{}", unknown_name("schedule", s.name(),
                                    {"iterative", "linear", "cubic", "exponential", "layer-wise"},
                                    "cubic:from=0.5,to=0.9,stages=4"));
    if (structures.size() > 1) {
      if (!s.is("iterative") || !s.args().empty())
        fail_usage("several --structure need iterative, without from, to and step");
      out.structures = structures;
      return out;
    }
    if (s.is("iterative"))
      s.check_keys({"from", "to", "step"});
    else
      s.check_keys({"from", "to", "stages"});
    const double from = fraction(s, "from"), to = end_of(s, sparsity);
    if (to < from) fail_usage("end {} is below the start {}", to, from);
    out.sparsity = s.is("iterative") ? iterative_sparsities(from, to, s.number("step"))
                                     : gradual_sparsities(s.name(), from, to, s.integer("stages"));
    return out;
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("--schedule {}: {}", quote(text), e.what()));
  }
}

}  // namespace sten
