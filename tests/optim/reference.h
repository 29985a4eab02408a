// SPDX-License-Identifier: Apache-2.0
// Reference optimizers in double on dense weights, and gradients for tests.
#pragma once
#include <string>
#include <vector>

#include "libsten/core/dispatch/operators.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "libsten/training/optim/slots.h"
#include "tests/support/strict.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline double real_at(const Dense& x, Index i) {
  return x.dtype() == DType::F64 ? x.values.as<double>()[i] : x.values.as<float>()[i];
}
inline void set_real(Dense& x, Index i, double v) {
  if (x.dtype() == DType::F64)
    x.values.mutate<double>()[i] = v;
  else
    x.values.mutate<float>()[i] = static_cast<float>(v);
}

// Standard normal values, F32 or F64.
inline Dense random_reals(Dice& dice, DType dtype, const Shape& shape) {
  Dense x = Dense::zeros(dtype, shape);
  for (Index i = 0; i < x.size(); ++i) set_real(x, i, dice.normal());
  return x;
}

struct Reference {
  std::vector<double> w, momentum, m, v;
  int steps = 0;

  explicit Reference(const Dense& start) {
    for (Index i = 0; i < start.size(); ++i) w.push_back(real_at(start, i));
    momentum = m = v = std::vector<double>(w.size());
  }

  // Updates the positions of `only`, or all if it is nullptr.
  void step(const SgdOptions& o, const Dense& g, const Mask* only = nullptr) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (only && !(*only)[static_cast<Index>(i)]) continue;
      const double d = real_at(g, static_cast<Index>(i)) + o.weight_decay * w[i];
      momentum[i] = o.momentum * momentum[i] + d;
      w[i] -= o.rate * (o.nesterov ? d + o.momentum * momentum[i] : momentum[i]);
    }
  }
  void step(const AdamWOptions& o, const Dense& g, const Mask* only = nullptr) {
    ++steps;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (only && !(*only)[static_cast<Index>(i)]) continue;
      const double d = real_at(g, static_cast<Index>(i));
      w[i] *= 1 - o.rate * o.weight_decay;
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * d;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * d * d;
      const double m_hat = m[i] / (1 - std::pow(o.beta1, steps));
      const double v_hat = v[i] / (1 - std::pow(o.beta2, steps));
      w[i] -= o.rate * m_hat / (std::sqrt(v_hat) + o.eps);
    }
  }
  // Sets pruned weights and their state to 0.
  void prune(const Mask& keep) {
    for (std::size_t i = 0; i < w.size(); ++i)
      if (!keep[static_cast<Index>(i)]) w[i] = momentum[i] = m[i] = v[i] = 0;
  }

  // "" if x is close to w, else the first difference.
  std::string far_from(const Dense& x) const {
    const double tolerance = x.dtype() == DType::F64 ? 1e-12 : 1e-5;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double got = real_at(x, static_cast<Index>(i));
      if (!(std::abs(got - w[i]) <= tolerance * (1 + std::abs(w[i]))))
        return fmt::format("element {} is {} and should be {}", i, got, w[i]);
    }
    return "";
  }
};

// The positions that have a slot, whatever their values.
inline Mask slot_mask(const Tensor& x) {
  Mask m = Mask::none(x.shape());
  for (const Index i : *slot_offsets(x))
    if (i >= 0) m.set(i, true);
  return m;
}

// g at the positions of w, in w's layout.
inline Tensor native_gradient(const Tensor& w, const Dense& g) {
  const SlotOffsets& at = *slot_offsets(w);
  Values v(g.dtype(), static_cast<Index>(at.size()));
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0) v.put(static_cast<Index>(i), g.values, at[i]);
  return w.with_values(std::move(v));
}

}  // namespace sten::testing
