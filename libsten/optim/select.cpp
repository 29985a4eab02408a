#include "libsten/optim/select.h"

#include "libsten/base/text.h"
#include "libsten/dispatch/registry.h"
#include "libsten/layout/masked.h"
#include "libsten/optim/slots.h"

namespace sten {
namespace {

// What there is of it for each value of the weight.
bool is_per_value(const Tensor& state, const Tensor& weight) {
  return state.is<Dense>() && state.dtype() == weight.dtype() &&
         state.values()->size() == weight.values()->size();
}

Dense spread(const Tensor& state, const SlotOffsets& offsets, const Shape& shape) {
  Dense x = Dense::zeros(state.dtype(), shape);
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = state.values()->as<U>();
    const auto to = x.values.mutate<U>();
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] >= 0) to[offsets[i]] = from[i];
  });
  return x;
}

Dense collect(const Tensor& state, const SlotOffsets& offsets, const Mask& kept) {
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
  if (!has_dense_values(p.value)) {
    const auto offsets = slot_offsets(p.value);
    for (auto& [name, s] : p.state)
      if (is_per_value(s, p.value)) s = spread(s, *offsets, p.value.shape());
  }
  if (!p.value.is<Dense>()) p.value = p.value.to_dense();
}

void select_dense(Parameter& p, const Sparsifier& by, const Spec& layout, const Hints& hints) {
  const Dense values = p.value.as<Dense>();
  Mask kept;
  Tensor next = registry().prune(values, by, layout, hints, &kept);
  for (auto& [name, s] : p.state) {
    if (!is_per_value(s, p.value)) continue;
    if (has_dense_values(next))
      s = Dense::pack(s.as<Dense>(), kept);
    else
      s = collect(s, *slot_offsets(next), kept);
  }
  p.value = std::move(next);
}

}  // namespace optim_detail

void select_positions(Parameter& p, const Sparsifier& by, const Spec& layout, const Dense* scores) {
  if (!p.value.values())
    fail_usage("{} is in the layout {}, which has no field `values`", quote(p.name),
               p.value.layout());
  const Mask had = p.value.stored();
  Parameter next = p;  // p changes when all has succeeded
  optim_detail::make_dense(next);
  optim_detail::select_dense(next, by, layout, {&had, scores, nullptr});
  p = std::move(next);
}

}  // namespace sten
