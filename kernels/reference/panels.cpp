// SPDX-License-Identifier: Apache-2.0
#include "kernels/panels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sten::kernels {
namespace {

using Size = std::int64_t;

// The first feature of a key in panels.
const float* column(const float* panels, Size step, Size key) {
  return panels + key / panel_width * step + key % panel_width;
}

bool is_hidden(const Attention& a, Size key, Size t) {
  return (a.seen && !a.seen[key]) || key >= a.before + t || key < a.from + t;
}

// The score of a key for query t; -inf for a hidden key.
template <Size lanes>
double score(const Attention& a, Size key, Size t) {
  if (is_hidden(a, key, t)) return -std::numeric_limits<double>::infinity();
  const float* k = column(a.k, a.k_step, key);
  double sum = 0;
  for (Size f = 0; f < a.width; ++f) sum += double{a.q[f * lanes + t]} * k[f * panel_width];
  const double scaled = a.scale * sum;
  const double capped = a.soft_cap > 0 ? a.soft_cap * std::tanh(scaled / a.soft_cap) : scaled;
  const double bias = a.bias ? a.bias[key * a.bias_step + (a.bias_step == 1 ? 0 : t)] : 0;
  return capped + bias;
}

template <Size lanes>
void attend(const Attention& a) {
  for (Size t = 0; t < lanes; ++t) {
    double most = -std::numeric_limits<double>::infinity(), all = 0;
    for (Size key = 0; key < a.keys; ++key) most = std::max(most, score<lanes>(a, key, t));
    for (Size key = 0; key < a.keys; ++key) all += std::exp(score<lanes>(a, key, t) - most);
    for (Size f = 0; f < a.v_width; ++f) a.y[f * lanes + t] = 0;
    for (Size key = 0; key < a.keys; ++key) {
      const double s = score<lanes>(a, key, t);
      if (s == -std::numeric_limits<double>::infinity()) continue;
      const auto weight = static_cast<float>(std::exp(s - most) / all);
      const float* v = column(a.v, a.v_step, key);
      for (Size f = 0; f < a.v_width; ++f) a.y[f * lanes + t] += weight * v[f * panel_width];
    }
  }
}

template <Size lanes>
void normalize(const float* x, Size n, float eps, const float* gamma, const float* beta, float* y) {
  for (Size t = 0; t < lanes; ++t) {
    double mean = 0, square = 0;
    for (Size r = 0; r < n; ++r) mean += x[r * lanes + t] / static_cast<double>(n);
    for (Size r = 0; r < n; ++r) square += std::pow(x[r * lanes + t] - mean, 2);
    const double by = 1 / std::sqrt(square / static_cast<double>(n) + eps);
    for (Size r = 0; r < n; ++r) {
      const double z = (x[r * lanes + t] - mean) * by;
      y[r * lanes + t] = static_cast<float>(z * gamma[r] + beta[r]);
    }
  }
}

template <Size lanes>
void multiply(const float* a, Size lda, Size rows, Size depth, const float* b, bool more,
              float* c) {
  for (Size r = 0; r < rows; ++r)
    for (Size t = 0; t < lanes; ++t) {
      float sum = more ? c[r * lanes + t] : 0;
      for (Size k = 0; k < depth; ++k) sum += a[r * lda + k] * b[k * lanes + t];
      c[r * lanes + t] = sum;
    }
}

template <Size lanes>
constexpr PanelsTable table{attend<lanes>, normalize<lanes>, multiply<lanes>};

}  // namespace

const PanelsTable* panels_reference(std::int64_t lanes) {
  return lanes == narrow_panel_width ? &table<narrow_panel_width> : &table<panel_width>;
}

}  // namespace sten::kernels
