// SPDX-License-Identifier: Apache-2.0
// Checks that operators give the same results on a device and on the CPU.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "libsten/compute/ops/common/operators.h"
#include "tests/device/serial_backend.h"
#include "tests/support/sanitized.h"
#include "tests/support/strict.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline Outputs run_outputs(Name op, const std::vector<Tensor>& in, const Attributes& attributes,
                           std::size_t outputs, std::span<const Shape> shapes = {},
                           std::span<const OutHints> hints = {}) {
  const std::vector<const OutFormat*> formats(outputs, &OutFormat::dense());
  return run(op, {in, formats, attributes, shapes, hints});
}

inline std::vector<Tensor> all_on_device(const std::vector<Tensor>& in) {
  std::vector<Tensor> on_device;
  for (const Tensor& x : in) on_device.push_back(x.to(Device::cuda));
  return on_device;
}

inline double largest_of(const Tensor& x) {
  double most = 0;
  for (const float v : floats(x.to_dense())) most = std::max(most, std::abs(double{v}));
  return most;
}

// Checks that values differ by at most 1e-6 of the largest magnitude, or of `most` if that is
// larger, for gradients that cancel.
inline void check_as_here(const Tensor& on_device, const Tensor& here, double most = 0) {
  CHECK(on_device.device() == Device::cuda);
  REQUIRE(on_device.shape() == here.shape());
  const std::vector<float> x = floats(here.to_dense()),
                           y = floats(on_device.to(Device::cpu).to_dense());
  double worst = 0;
  bool is_finite = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    is_finite &= std::isfinite(x[i]) && std::isfinite(y[i]);
    worst = std::max(worst, std::abs(double{x[i]} - y[i]));
  }
  CHECK(is_finite);
  CHECK(worst <= 1e-6 * std::max(most, largest_of(here)));
}

// Checks an operator on a device against the CPU, and that a second call gives the same bits.
inline void check_row_on_device(Name op, const std::vector<Tensor>& in,
                                const Attributes& attributes, std::size_t outputs = 1,
                                const std::vector<Shape>& shapes = {}) {
  CAPTURE(op.text());
  CAPTURE(to_string(in[0].shape()));
  CAPTURE(attributes.str());
  const auto outputs_of = [&](const std::vector<Tensor>& x) {
    return run_outputs(op, x, attributes, outputs, shapes);
  };
  const Outputs here = outputs_of(in);
  const Outputs on_device = outputs_of(all_on_device(in));
  const bool is_grad = op.text().ends_with(".grad");
  const Outputs again = is_short() ? on_device : outputs_of(all_on_device(in));
  for (std::size_t i = 0; i < outputs; ++i) {
    CAPTURE(i);
    REQUIRE(here[i].has_value() == on_device[i].has_value());
    if (!here[i]) continue;
    check_as_here(*on_device[i], *here[i], is_grad ? largest_of(in[0]) : 0);
    CHECK(floats(on_device[i]->to(Device::cpu).to_dense()) ==
          floats(again[i]->to(Device::cpu).to_dense()));
  }
}

inline Tensor numbers_of(Shape shape, const std::vector<Index>& v) {
  Dense x = Dense::zeros(DType::I64, std::move(shape));
  std::ranges::copy(v, x.values.mutate<std::int64_t>().begin());
  return x;
}
inline Tensor random_numbers(Dice& dice, const Shape& shape, Index from, Index to) {
  std::vector<Index> v(size_of(shape));
  for (Index& n : v) n = from + dice.below(to - from);
  return numbers_of(shape, v);
}
inline Tensor one_float(float v) { return f32({}, {v}); }

}  // namespace sten::testing
