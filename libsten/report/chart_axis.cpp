// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

// The smallest 1, 2 or 5 times a power of ten that is at least `rough`.
double nice_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

struct Prefix {
  double factor;
  const char* name;
};

// The unit prefix for numbers up to `largest`.
Prefix prefix_for(double largest, const ChartAxis& axis) {
  const bool bytes = axis.numbers == ChartNumberFormat::bytes;
  if (axis.numbers == ChartNumberFormat::percent || largest < (bytes ? 1e3 : 1e5) ||
      largest >= 1e18)
    return {1, ""};
  static constexpr Prefix prefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
  for (const Prefix& p : prefixes)
    if (largest >= p.factor) return p;
  return {1e3, "k"};
}

std::string number(double v, double step) {
  if (v != 0 && (std::abs(v) >= 1e7 || step < 1e-5)) return fmt::format("{:.6g}", v);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", v, decimals);
}

// `step`: distance to the next tick; `largest`: largest magnitude of a tick.
std::string tick_label(double v, double step, double largest, const ChartAxis& axis) {
  switch (axis.numbers) {
    case ChartNumberFormat::percent:
      return number(100 * v, 100 * step) + " %";
    case ChartNumberFormat::bytes: {
      const Prefix p = prefix_for(largest, axis);
      return v == 0 ? "0" : fmt::format("{} {}B", number(v / p.factor, step / p.factor), p.name);
    }
    default: {
      const Prefix p = prefix_for(largest, axis);
      return v == 0 ? "0" : number(v / p.factor, step / p.factor) + p.name;
    }
  }
}

void linear_ticks(ChartScale& s, const ChartAxis& axis, double step) {
  const double first = std::ceil(s.low / step - 1e-6), last = std::floor(s.high / step + 1e-6);
  const double largest = std::max(std::abs(first), std::abs(last)) * step;
  for (double i = first; i <= last; ++i) {
    const double v = i == 0 ? 0 : i * step;  // avoids -0
    s.ticks.push_back({v, tick_label(v, step, largest, axis)});
  }
}

void log_ticks(ChartScale& s, const ChartAxis& axis) {
  const int first = static_cast<int>(std::floor(std::log10(s.low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(s.high) - 1e-9));
  const int decades = last - first, every = (decades + 7) / 8;
  for (int power = first; power <= last; ++power)
    for (int digit = 1; digit <= (decades <= 5 ? 9 : 1); ++digit) {
      const double unit = std::pow(10, power), v = digit * unit;
      if (v < s.low * (1 - 1e-9) || v > s.high * (1 + 1e-9)) continue;
      const bool labelled =
          digit == 1 ? (power - first) % every == 0 : decades <= 2 && (digit == 2 || digit == 5);
      s.ticks.push_back({v, labelled ? tick_label(v, unit, v, axis) : ""});
    }
}

}  // namespace

bool drawable(double v, const ChartAxis& axis) {
  return std::isfinite(v) && std::abs(v) < 1e300 && (!axis.log || v > 1e-300);
}

bool ChartScale::has(double v) const {
  const double p = place(v);
  return std::isfinite(v) && p >= -1e-9 && p <= 1 + 1e-9;
}

double ChartScale::place(double v) const {
  if (log) return std::log(v / low) / std::log(high / low);
  return (v - low) / (high - low);
}

ChartScale chart_scale(const ChartAxis& axis, const std::vector<double>& values, int wanted) {
  ChartScale s;
  s.log = axis.log;
  const bool fixed = axis.range && drawable(axis.range->first, axis) &&
                     drawable(axis.range->second, axis) && axis.range->first < axis.range->second;
  if (fixed) {
    s.low = axis.range->first;
    s.high = axis.range->second;
  } else {
    bool any = false;
    for (const double v : values)
      if (drawable(v, axis)) {
        s.low = any ? std::min(s.low, v) : v;
        s.high = any ? std::max(s.high, v) : v;
        any = true;
      }
    if (!any && axis.log) s.low = 0.1;
  }
  if (axis.log) {
    if (!fixed) {
      s.low = std::pow(10, std::floor(std::log10(s.low) + 1e-9));
      s.high = std::pow(10, std::ceil(std::log10(s.high) - 1e-9));
      if (s.high <= s.low * 1.5) s.high = s.low * 10;
    }
    log_ticks(s, axis);
    return s;
  }
  // Widens a range whose ends would have equal labels.
  const double size = std::max(std::abs(s.low), std::abs(s.high));
  if (!fixed && s.high - s.low < std::max(1e-9 * size, 1e-290)) {
    const double pad = size > 1e-280 ? 0.1 * size : 1;
    s.low = s.low < 0 || size > 1e-280 ? s.low - pad : 0;
    s.high += pad;
  }
  const double step = nice_step((s.high - s.low) / std::max(wanted, 1));
  if (!fixed) {
    s.low = std::floor(s.low / step + 1e-6) * step;
    s.high = std::ceil(s.high / step - 1e-6) * step;
  }
  linear_ticks(s, axis, step);
  return s;
}

std::string value_text(double v, const ChartAxis& axis) {
  if (axis.numbers == ChartNumberFormat::percent) return fmt::format("{:.2f} %", 100 * v);
  if (axis.numbers == ChartNumberFormat::bytes && v >= 0 && v < 1e19)
    return human_bytes(static_cast<std::uint64_t>(v));
  return fmt::format("{:.5g}", v);
}

}  // namespace sten
