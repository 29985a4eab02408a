// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "libsten/core/base/rotary_scaling.h"
#include "libsten/core/base/text.h"
#include "libsten/model/nn/config_fields.h"

namespace sten {
namespace {

constexpr const char* known_types[] = {"default", "linear", "dynamic",
                                       "llama3",  "yarn",   "longrope"};

void take(const JsonReader& in, const char* key, double& to) {
  if (!has_value(in, key)) return;
  to = in[key].number();
  if (!(to > 0) || !std::isfinite(to))
    in[key].fail(fmt::format("expected a number > 0, got {}", to));
}
void take(const JsonReader& in, const char* key, std::optional<double>& to) {
  if (has_value(in, key)) take(in, key, to.emplace());
}
void take(const JsonReader& in, const char* key, std::vector<double>& to) {
  if (!has_value(in, key)) return;
  for (const JsonReader& one : in[key].elements()) to.push_back(one.number());
}

// Frequencies without an extension: theta^(-2i / n).
std::vector<double> usual(double theta, Index n) {
  std::vector<double> f(static_cast<std::size_t>((n + 1) / 2));
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(n));
  return f;
}

void stretch_llama3(const RotaryParameters& p, std::vector<double>& f) {
  const Llama3Scaling scaling{p.factor, p.low_freq_factor, p.high_freq_factor,
                              p.original_positions};
  for (double& x : f) x *= scaling.multiplier(x);
}

void stretch_yarn(const RotaryParameters& p, Index n, std::vector<double>& f) {
  const auto dim = static_cast<double>(n);
  // The pair that turns so many times within the original length.
  const auto pair_of = [&](double turns) {
    return dim * std::log(p.original_positions / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(p.theta));
  };
  double low = pair_of(p.beta_fast), high = pair_of(p.beta_slow);
  if (p.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = f[i] / p.factor * ramp + f[i] * (1 - ramp);
  }
}

double longrope_scale(const RotaryParameters& p) {
  if (p.attention_factor) return *p.attention_factor;
  return p.factor <= 1 ? 1.0 : std::sqrt(1 + std::log(p.factor) / std::log(p.original_positions));
}

}  // namespace

RotaryParameters RotaryParameters::parse(const JsonReader& in, double theta, double positions,
                                         double original_positions) {
  RotaryParameters p;
  p.theta = theta;
  take(in, "rope_theta", p.theta);
  take(in, "partial_rotary_factor", p.part);
  for (const char* key : {"type", "rope_type"})  // the older key, and the newer one
    if (has_value(in, key)) p.type = in[key].text();
  if (p.type == "su") p.type = "longrope";  // Phi-3's first name
  if (std::ranges::find(known_types, p.type) == std::end(known_types))
    in.fail(fmt::format("unknown rope type {} (expected one of {})", quote(p.type),
                        fmt::join(known_types, ", ")));
  if (p.type == "default") return p;
  p.original_positions = positions;
  take(in, "original_max_position_embeddings", p.original_positions);
  if (original_positions > 0) p.original_positions = original_positions;
  if (p.type == "yarn" || p.type == "longrope") p.factor = positions / p.original_positions;
  if (p.type == "linear" || p.type == "llama3") in["factor"];
  take(in, "factor", p.factor);
  take(in, "low_freq_factor", p.low_freq_factor);
  take(in, "high_freq_factor", p.high_freq_factor);
  if (p.type == "llama3" && !(p.high_freq_factor > p.low_freq_factor))
    in[has_value(in, "high_freq_factor") ? "high_freq_factor" : "low_freq_factor"].fail(
        fmt::format("expected low_freq_factor < high_freq_factor, got {} and {}", p.low_freq_factor,
                    p.high_freq_factor));
  take(in, "beta_fast", p.beta_fast);
  take(in, "beta_slow", p.beta_slow);
  take(in, "attention_factor", p.attention_factor);
  take(in, "mscale", p.mscale);
  take(in, "mscale_all_dim", p.mscale_all);
  take(in, "short_factor", p.short_factor);
  take(in, "long_factor", p.long_factor);
  if (has_value(in, "truncate")) p.truncates = in["truncate"].truth();
  if (p.type == "longrope") {
    in["short_factor"];
    in["long_factor"];
  }
  return p;
}

RotaryFrequencies rotary_frequencies(const RotaryParameters& p, Index width, Index positions,
                                     Index tokens) {
  const auto n = static_cast<Index>(static_cast<double>(width) * p.part);
  std::vector<double> f = usual(p.theta, n);
  RotaryFrequencies out;
  if (p.type == "linear") {
    for (double& x : f) x /= p.factor;
  } else if (p.type == "llama3") {
    stretch_llama3(p, f);
  } else if (p.type == "yarn") {
    stretch_yarn(p, n, f);
    out.scale =
        p.attention_factor.value_or(yarn_attention_factor(p.factor, p.mscale, p.mscale_all));
  } else if (p.type == "longrope") {
    const bool is_long = static_cast<double>(tokens) > p.original_positions;
    const std::vector<double>& by = is_long ? p.long_factor : p.short_factor;
    if (by.size() != f.size())
      fail_usage("rope: expected {} factors of frequencies, got {}", f.size(), by.size());
    for (std::size_t i = 0; i < f.size(); ++i) f[i] /= by[i];
    out.scale = longrope_scale(p);
  }
  if (p.type == "dynamic" && tokens > positions)
    fail_usage("{} tokens exceed the model's {} positions", tokens, positions);
  out.values.assign(f.begin(), f.end());
  return out;
}

}  // namespace sten
