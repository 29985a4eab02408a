// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/weight_averages.h"

#include <algorithm>

#include "kernels/block/step_functions.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/masked.h"

namespace sten {
namespace {

Dense first_average(const Tensor& w) {
  const auto values = w.values()->as<float>();
  const Device device = w.device();
  Dense first{has_dense_values(w) ? w.shape() : Shape{std::ssize(values)},
              Values::uninitialized(DType::F32, std::ssize(values), device)};
  copy_bytes(first.values.mutate_bytes(), device, values.data(), device, values.size_bytes());
  return first;
}

}  // namespace

void average_weights(std::span<Parameter* const> weights, double decay, Index t) {
  const auto steps = static_cast<double>(t);
  const auto by = static_cast<float>(1 - std::min(decay, (1 + steps) / (10 + steps)));
  std::vector<kernels::AveragedElements> on_device;
  for (Parameter* p : weights) {
    const auto at = p->state.find(average_key);
    if (at == p->state.end()) {
      p->state.emplace(average_key, first_average(p->value));
      continue;
    }
    const auto values = p->value.values()->as<float>();
    at->second = Tensor::update(std::move(at->second), [&](Values& v) {
      const auto mean = v.mutate<float>();
      if (p->value.device() != Device::cpu) {
        on_device.push_back({mean.data(), values.data(), std::ssize(values), by});
        return;
      }
      parallel_for(std::ssize(values), mask_grain, [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k) mean[k] += by * (values[k] - mean[k]);
      });
    });
  }
  if (on_device.empty()) return;
  launch(&kernels::StepFunctions::average, on_device);
}

}  // namespace sten
