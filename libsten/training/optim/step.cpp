// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/step.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/elementwise.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/dispatch/sparsify.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/optim/slots.h"

namespace sten {
namespace {

bool same_bytes(const Array<std::byte>& a, const Array<std::byte>& b) {
  if (a.size() != b.size() || a.device() != b.device()) return false;
  if (a.device() != Device::cpu && a.size() != 0 && a.data() != b.data())
    return same_bytes(a.to(Device::cpu), b.to(Device::cpu));
  return a.size() == 0 || a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// Whether the values of a and b belong to the same positions in the same order.
bool same_positions(const Tensor& a, const Tensor& b) {
  if (a.layout_name() != b.layout_name() || !b.values()) return false;
  if (a.values()->size() != b.values()->size()) return false;
  const Stored s = a.save(), t = b.save();
  if (!(s.layout == t.layout) || s.parts.size() != t.parts.size()) return false;
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const bool are_values = s.parts[i].bytes.data() == a.values()->bytes().data();
    if (!are_values && !same_bytes(s.parts[i].bytes, t.parts[i].bytes)) return false;
  }
  return true;
}

// Avoids copies of the shapes of dense tensors.
bool same_shape(const Tensor& a, const Tensor& b) {
  if (a.is<Dense>() && b.is<Dense>()) return a.as<Dense>().extents == b.as<Dense>().extents;
  return a.shape() == b.shape();
}

void check_fit(const Parameter& p, const Tensor& g, const StepRule& rule) {
  const DType dtype = p.value.dtype();
  const Device device = p.value.device();
  if (dtype != DType::F32 && dtype != DType::F64)
    fail_usage("{}: {} is {}, expected F32 or F64", rule.op, quote(p.name), name_of(dtype));
  if (!same_shape(g, p.value))
    fail_usage("{}: {} is {} but the gradient is {}", rule.op, quote(p.name),
               to_string(p.value.shape()), to_string(g.shape()));
  if (g.device() != device)
    fail_usage("{}: {} is on {} but the gradient is on {}", rule.op, quote(p.name), name_of(device),
               name_of(g.device()));
  if (g.dtype() != dtype)
    fail_usage("{}: {} is {} but the gradient is {}", rule.op, quote(p.name), name_of(dtype),
               name_of(g.dtype()));
}

// The state of this name; zeros at the first step.
Tensor& state_of(Parameter& p, std::string_view name, const StepRule& rule) {
  const DType dtype = p.value.dtype();
  const auto at = p.state.find(name);
  if (at != p.state.end() && p.value.is<Dense>() && at->second.is<Dense>() &&
      at->second.dtype() == dtype && at->second.device() == p.value.device() &&
      same_shape(at->second, p.value))
    return at->second;
  const Shape shape = has_dense_state(p.value) ? p.value.shape() : Shape{p.value.values()->size()};
  if (at == p.state.end()) {
    Dense none{shape, Values(dtype, size_of(shape), p.value.device())};
    return p.state.emplace(std::string(name), std::move(none)).first->second;
  }
  const Tensor& s = at->second;
  if (s.device() != p.value.device())
    fail_usage("{}: {} is on {} but the state {} is on {}", rule.op, quote(p.name),
               name_of(p.value.device()), quote(name), name_of(s.device()));
  if (!s.is<Dense>() || s.dtype() != dtype || s.shape() != shape)
    fail_usage("{}: the state {} of {} is {} {} {}, expected dense {} {}", rule.op, quote(name),
               quote(p.name), s.layout(), name_of(s.dtype()), to_string(s.shape()), name_of(dtype),
               to_string(shape));
  return at->second;
}

// Calls f(T* const* at) on the values of several tensors, in place where nothing else shares them.
constexpr std::size_t most_at_once = 4;
template <class T, class F>
void update_all(std::span<Tensor* const> all, std::array<T*, most_at_once>& at, std::size_t i,
                F&& f) {
  if (i == all.size()) return f(at.data());
  const auto change = [&](Values& v) {
    at[i] = v.mutate<T>().data();
    update_all<T>(all, at, i + 1, f);
  };
  // A sparse tensor keeps the values derived from its positions.
  if (all[i]->is<Dense>() && all[i]->overwrite(change)) return;
  *all[i] = Tensor::update(std::move(*all[i]), change);
}

template <class T>
const StepRule::Run<T>& run_of(const StepRule& rule) {
  if constexpr (std::same_as<T, float>)
    return rule.f32;
  else
    return rule.f64;
}

// Gradients in the order of the weight's values: as stored, at the positions of a mask, or at dense
// offsets. Except for unscaled stored ones, a segment is copied to `to`.
template <class T>
struct Gradients {
  const T* from;
  T scale = 1;
  const std::uint8_t* mask = nullptr;
  const Index* offsets = nullptr;
  // On a device, instead of scale and offsets.
  const float* scale_on_device = nullptr;
  const std::uint32_t* slots = nullptr;

  // `begin` must be a multiple of 8.
  const T* piece(Index begin, Index n, T* to) const {
    const T* g = taken(begin, n, to);
    if (scale == 1) return g;
    for (Index i = 0; i < n; ++i) to[i] = scale * g[i];
    return to;
  }

 private:
  const T* taken(Index begin, Index n, T* to) const {
    if (mask) {
      with_width(sizeof(T), [&]<class U>(U) {
        kernels::elementwise().of<U>().mask_values(reinterpret_cast<const U*>(from + begin),
                                                   mask + begin / 8, n, reinterpret_cast<U*>(to));
      });
    } else if (offsets) {
      for (Index i = 0; i < n; ++i) {
        const Index at = offsets[begin + i];
        to[i] = at >= 0 ? from[at] : T{0};
      }
    } else {
      return from + begin;
    }
    return to;
  }
};

void run_on_device(const StepRule& rule, std::span<Tensor* const> changed,
                   const Gradients<float>& g, Index n) {
  std::array<float*, most_at_once> at{};
  update_all<float>(changed, at, 0, [&](float* const* all) {
    on_cuda([&](const auto& cuda, kernels::Stream stream) {
      rule.on_device(cuda.steps, {all[0], n, g.from, g.mask, g.slots, g.scale_on_device}, all + 1,
                     stream);
    });
  });
}

template <class T>
void run_rule(const StepRule& rule, std::span<Tensor* const> changed, const Gradients<T>& g,
              Index n) {
  if constexpr (std::same_as<T, float>)
    if (changed[0]->device() != Device::cpu) return run_on_device(rule, changed, g, n);
  constexpr Index grain = Index{1} << 14, piece = 1024;  // the operands fit in the L1 cache
  std::array<T*, most_at_once> at{};
  update_all<T>(changed, at, 0, [&](T* const* all) {
    parallel_for(n, grain, [&](Index begin, Index end) {
      std::array<T, piece> taken;
      std::array<T*, most_at_once> state{};
      for (Index i = begin; i < end; i += piece) {
        const Index count = std::min(piece, end - i);
        for (std::size_t s = 0; s < rule.state.size(); ++s) state[s] = all[s + 1] + i;
        run_of<T>(rule)(all[0] + i, g.piece(i, count, taken.data()), state.data(), count);
      }
    });
  });
}

// Applies the rule to the weight's values and their state.
template <class T>
void step_values(Parameter& p, const Gradients<T>& g, const StepRule& rule) {
  std::vector<Tensor*> changed{&p.value};
  for (const std::string_view name : rule.state) changed.push_back(&state_of(p, name, rule));
  run_rule<T>(rule, changed, g, p.value.values()->size());
}

// The factor of an update, for weights on a device.
class Scale {
 public:
  Scale(const Update& u, Device device) : all_(u.scale_on_device()) {
    if (device == Device::cpu || all_.size() || u.gradient_scale() == 1) return;
    all_ = Array<float>{static_cast<float>(u.gradient_scale())}.to(device);
  }
  const float* on_device() const { return all_.data(); }
  void hold(StepRule::Held* by) const {
    if (by && all_.size()) by->scales.push_back(all_);
  }

 private:
  Array<float> all_;
};

template <class T>
void step_same_pattern(Parameter& p, const Tensor& gradient, const Update& update,
                       const StepRule& rule) {
  Tensor g = gradient;
  const bool is_exact =
      (has_dense_values(p.value) && has_dense_values(g)) || same_positions(p.value, g);
  if (!is_exact && is_strict())
    fail_check("strict: {}: the {} gradient of {}, which is {}, has other positions", rule.op,
               g.spec().str(), quote(p.name), p.value.spec().str());
  if (!is_exact) g = g.to_dense();
  const Scale scale(update, g.device());
  Gradients<T> from{g.values()->as<T>().data(), static_cast<T>(update.gradient_scale())};
  from.scale_on_device = scale.on_device();
  Array<std::uint8_t> mask;
  std::shared_ptr<const SlotOffsets> offsets;
  std::shared_ptr<const Array<std::uint32_t>> slots;
  if (p.value.is<Masked>()) {
    mask = p.value.as<Masked>().mask;
    from.mask = mask.data();
  } else if (!is_exact && !p.value.is<Dense>() && p.value.device() != Device::cpu) {
    slots = slot_indices(p.value);
    from.slots = slots->data();
  } else if (!is_exact && !p.value.is<Dense>()) {
    offsets = slot_offsets(p.value);
    from.offsets = offsets->data();
  }
  step_values<T>(p, from, rule);
  if (!rule.held) return;
  scale.hold(rule.held);
  rule.held->gradients.push_back(std::move(g));
}

// The dense update of a weight whose layout has no field `values`.
template <class T>
void step_repacked(Parameter& p, const Tensor& gradient, const Update& update,
                   const StepRule& rule) {
  static const Sparsifier same_pattern(SamePattern{});
  const Spec layout = p.value.spec();
  if (plan_sparsify(same_pattern, Spec(Dense::name), layout).kind != DispatchKind::exact)
    report_fallback(
        fmt::format("{}: {} has no field `values` and no same-pattern implementation; dense "
                    "update, then packed from its mask",
                    rule.op, layout.name()));
  const Mask had = p.value.stored();
  Parameter next(p.name, registry().pack(p.value.to_dense(), had, Spec(Masked::name)));
  next.state = p.state;
  step_same_pattern<T>(next, gradient.values() ? gradient : gradient.to_dense(), update, rule);
  p.value = sparsify(next.value.to_dense(), same_pattern, layout, {.pattern = &had});
  p.state = std::move(next.state);
}

template <class T>
void step_resparsify(Parameter& p, const Tensor& gradient, const Update& update,
                     const StepRule& rule) {
  const Sparsifier& by = *update.sparsifier();
  if (!has_dense_values(gradient))
    fail_usage("{}: resparsifying {} needs a dense gradient, got {}", rule.op, quote(p.name),
               gradient.spec().str());
  const Spec layout = p.value.spec();
  const Mask had = p.value.stored();
  const Dense g = gradient.to_dense();
  Parameter next = p;  // so that p is unchanged after an exception
  optim_detail::make_dense(next);
  std::optional<Dense> scores = update.scores();
  if (by.needs_scores() && !scores)
    scores = by.scores_of(next.value.as<Dense>().to(Device::cpu), g.to(Device::cpu));
  const Scale scale(update, g.device());
  Gradients<T> from{g.values.as<T>().data(), static_cast<T>(update.gradient_scale())};
  from.scale_on_device = scale.on_device();
  step_values<T>(next, from, rule);
  optim_detail::select_dense(next, by, layout, {&had, scores ? &*scores : nullptr, nullptr});
  p = std::move(next);
}

}  // namespace

static void step_on_cpu(Parameter& p, const Tensor& gradient, const Update& update,
                        const StepRule& rule) {
  const Device on_device = p.value.device();
  report_on_cpu(fmt::format("{} of {}", rule.op, name_of(p.value.dtype())), on_device);
  Update here = update;
  if (update.scale_on_device().size())
    here.scale_gradient(double{update.scale_on_device().to(Device::cpu)[0]});
  Parameter q(p.name, p.value.to(Device::cpu));
  for (const auto& [name, s] : p.state) q.state.emplace(name, s.to(Device::cpu));
  step_elements(q, gradient.to(Device::cpu), here, rule);
  p.value = q.value.to(on_device);
  for (const std::string_view name : rule.state) {
    const Tensor& s = q.state.find(name)->second;
    p.state.insert_or_assign(std::string(name), s.to(on_device));
  }
}

void step_elements(Parameter& p, const Tensor& gradient, const Update& update,
                   const StepRule& rule) {
  check_fit(p, gradient, rule);
  if (p.value.device() != Device::cpu &&
      (!rule.on_device || p.value.dtype() != DType::F32 || !p.value.values()))
    return step_on_cpu(p, gradient, update, rule);
  // Checks the state before anything changes.
  for (const std::string_view name : rule.state) state_of(p, name, rule);
  const auto step = [&]<class T>(T) {
    if (update.sparsifier())
      step_resparsify<T>(p, gradient, update, rule);
    else if (!p.value.values())
      step_repacked<T>(p, gradient, update, rule);
    else
      step_same_pattern<T>(p, gradient, update, rule);
  };
  if (p.value.dtype() == DType::F64)
    step(double{});
  else
    step(float{});
}

}  // namespace sten
