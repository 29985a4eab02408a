#include "libsten/run/staged/schedule.h"

#include <cmath>

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {
namespace {

constexpr Index most_stages = 10000;
// Of fractions that are written in decimal.
constexpr double rounding = 1e-9;

double fraction(const Spec& s, const char* key) {
  const double v = s.number(key);
  if (!(v >= 0 && v <= 1)) fail_usage("{}: {} is not within [0, 1]", key, v);
  return v;
}

double end_of(const Spec& s, std::optional<double> sparsity) {
  if (!s.has("to")) {
    if (!sparsity) fail_usage("to is missing: the sparsity of the last stage, such as to=0.9");
    return *sparsity;
  }
  const double to = fraction(s, "to");
  if (sparsity && std::abs(*sparsity - to) > rounding)
    fail_usage("to={} contradicts --sparsity {}; leave one out", to, *sparsity);
  return to;
}

std::vector<double> by_steps(double from, double to, double step) {
  if (!(step > 0 && step <= 1)) fail_usage("step: {} is not within (0, 1]", step);
  if ((to - from) / step > static_cast<double>(most_stages))
    fail_usage("step: {} makes more than {} stages", step, most_stages);
  std::vector<double> at;
  for (Index i = 0;; ++i) {
    const double s = from + static_cast<double>(i) * step;
    if (s > to - rounding) break;
    at.push_back(s);
  }
  at.push_back(to);
  return at;
}

double at_time(const Spec& s, double a, double b, double t) {
  if (s.is("linear")) return a + (b - a) * t;
  // Zhu and Gupta 2017, "To prune, or not to prune".
  if (s.is("cubic")) return b + (a - b) * std::pow(1 - t, 3);
  // Of what is left, the same share at every stage.
  return 1 - std::pow(1 - a, 1 - t) * std::pow(1 - b, t);
}

std::vector<double> by_formula(const Spec& s, double a, double b) {
  const Index stages = s.integer("stages");
  if (stages < 1 || stages > most_stages)
    fail_usage("stages: {} is not within [1, {}]", stages, most_stages);
  if (s.is("exponential") && b == 1)
    fail_usage("to: an exponential schedule never comes to 1; it keeps a share of what is left");
  std::vector<double> at;
  for (Index t = 1; t < stages; ++t)
    at.push_back(at_time(s, a, b, static_cast<double>(t) / static_cast<double>(stages)));
  at.push_back(b);
  return at;
}

}  // namespace

Schedule parse_schedule(const std::string& text, std::optional<double> sparsity,
                        const std::vector<std::string>& structures) {
  try {
    Schedule out{false, {}, {}, Spec::parse(text)};
    const Spec& s = out.spec;
    if (s.is("layerwise")) {
      s.check_keys({});
      if (structures.size() > 1) fail_usage("it takes one --structure");
      out.layerwise = true;
      return out;
    }
    if (!s.is("iterative") && !s.is("linear") && !s.is("cubic") && !s.is("exponential"))
      fail_usage(
          "there is no such schedule{}",
          suggestion(s.name(), {"iterative", "linear", "cubic", "exponential", "layerwise"}));
    if (structures.size() > 1) {
      if (!s.is("iterative") || !s.args().empty())
        fail_usage("several --structure go with iterative, without from, to and step");
      out.structures = structures;
      return out;
    }
    if (s.is("iterative"))
      s.check_keys({"from", "to", "step"});
    else
      s.check_keys({"from", "to", "stages"});
    const double from = fraction(s, "from"), to = end_of(s, sparsity);
    if (to < from) fail_usage("it ends at {}, below its start {}", to, from);
    out.sparsity =
        s.is("iterative") ? by_steps(from, to, s.number("step")) : by_formula(s, from, to);
    return out;
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("--schedule {}: {}", quote(text), e.what()));
  }
}

}  // namespace sten
