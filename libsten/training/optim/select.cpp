// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/select.h"

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/slots.h"

namespace sten {
namespace {

Dense collect(const Tensor& state, const Tensor& weight, const Mask& kept);

bool is_per_value(const Tensor& state, const Tensor& weight) {
  return state.is<Dense>() && state.dtype() == weight.dtype() &&
         state.values()->size() == weight.values()->size();
}

Dense collect_on_device(const Tensor& state, const Tensor& weight, const Mask& kept) {
  if (state.dtype() != DType::F32)
    return on_cpu(
        "what is remembered of " + std::string(name_of(state.dtype())), state.as<Dense>(),
        [&](const Dense& d) { return collect(d, weight.to(Device::cpu), kept.to(Device::cpu)); });
  const auto slots = slot_indices(weight);
  Dense x{{weight.values()->size()},
          Values::uninitialized(DType::F32, weight.values()->size(), weight.device())};
  float* to = x.values.mutate<float>().data();
  launch(&kernels::StepFunctions::collect, state.values()->as<float>().data(), kept.bits.data(),
         slots->data(), x.size(), to);
  return x;
}

Dense spread(const Tensor& state, const Tensor& weight) {
  if (weight.device() != Device::cpu) return weight.with_values(*state.values()).to_dense();
  const auto found = slot_offsets(weight);
  const SlotOffsets& offsets = *found;
  Dense x = Dense::zeros(state.dtype(), weight.shape());
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = state.values()->as<U>();
    const auto to = x.values.mutate<U>();
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] >= 0) to[offsets[i]] = from[i];
  });
  return x;
}

// The state at kept positions, in the order of the weight's values.
Dense collect(const Tensor& state, const Tensor& weight, const Mask& kept) {
  if (weight.device() != Device::cpu) return collect_on_device(state, weight, kept);
  const auto found = slot_offsets(weight);
  const SlotOffsets& offsets = *found;
  Dense x = Dense::zeros(state.dtype(), {std::ssize(offsets)});
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = state.values()->as<U>();
    const auto to = x.values.mutate<U>();
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] >= 0 && kept[offsets[i]]) to[i] = from[offsets[i]];
  });
  return x;
}

}  // namespace

namespace optim_detail {

void make_dense(Parameter& p) {
  if (!has_dense_state(p.value))
    for (auto& [name, s] : p.state)
      if (is_per_value(s, p.value)) s = spread(s, p.value);
  if (!p.value.is<Dense>()) p.value = p.value.to_dense();
}

void select_dense(Parameter& p, const Sparsifier& by, const Spec& layout, const Hints& hints) {
  const Dense values = p.value.as<Dense>();
  Mask kept;
  Tensor next = registry().prune(values, by, layout, hints, &kept);
  for (auto& [name, s] : p.state) {
    if (!is_per_value(s, p.value)) continue;
    if (has_dense_state(next))
      s = Dense::pack(s.as<Dense>(), kept);
    else
      s = collect(s, next, kept);
  }
  p.value = std::move(next);
}

}  // namespace optim_detail

void select_positions(Parameter& p, const Sparsifier& by, const Spec& layout, const Dense* scores) {
  const Mask had = p.value.stored();
  Parameter next = p;  // so that p is unchanged after an exception
  optim_detail::make_dense(next);
  optim_detail::select_dense(next, by, layout, {&had, scores, nullptr});
  p = std::move(next);
}

}  // namespace sten
