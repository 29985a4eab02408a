// SPDX-License-Identifier: Apache-2.0
// The optimizer step on a weight; optimizers differ in the rule for an element.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/block/step_functions.h"
#include "libsten/core/base/cuda.h"
#include "libsten/training/optim/parameter.h"

namespace sten {

// The rule of an optimizer: updates n elements w with gradients g; state[i] is the state of the
// rule's i-th name. Elements are independent. Padding requires that w = 0, g = 0 and state 0 stay
// 0.
struct StepRule {
  // Tensors that a deferred step on a device points to, besides the parameter.
  struct Held {
    std::vector<Tensor> gradients;
    std::vector<Array<float>> scales;
  };
  template <class T>
  using Run = std::function<void(T* w, const T* g, T* const* state, Index n)>;

  std::string_view op;  // in messages
  std::vector<std::string_view> state;
  Run<float> f32;
  Run<double> f64;
  // The rule on a device, for float; empty: runs on the CPU.
  using DeviceStep =
      std::function<void(const kernels::StepFunctions& steps, const kernels::StepElements& x,
                         float* const* state, kernels::Stream stream)>;
  DeviceStep on_device{};
  // If not nullptr, `on_device` only collects the step, and the caller starts it.
  Held* held = nullptr;

  template <class F>
  static StepRule of(std::string_view op, std::vector<std::string_view> state, F f,
                     DeviceStep on_device = {}, Held* held = nullptr) {
    return {op, std::move(state), f, f, std::move(on_device), held};
  }
};

// Runs one step of p. The weight is F32 or F64; the gradient has its shape, dtype and device.
//
// With Update::same_pattern(), the step is one pass, in place if nothing else shares the weight (a
// living tape does). The gradient is used
//  - value by value if it has the weight's positions and layout, as tapes compute it
//  - at the weight's positions if both are dense or masked
//  - densified, at the weight's positions, in all other cases; for layouts other than dense and
//    masked, by a cached table of offsets. In strict mode an Error (check)
// A weight whose layout has no field `values` is updated dense, at its positions; the result is
// packed by the implementation of same-pattern for dense and that layout, or without one from the
// mask, with a warning (core/base/fallback.h). Its state has the weight's shape.
//
// On a device, state is there too. F64, and rules without a device implementation, run on the CPU
// with a warning (core/base/fallback.h).
//
// Error (usage) for a wrong dtype, shape or state. Deterministic for every number of
// threads.
void step_elements(Parameter& p, const Tensor& gradient, const Update& update,
                   const StepRule& rule);

// Steps on a device that start together. E: the device function's argument for one step.
template <class E>
class DeviceSteps {
 public:
  using Function = void (*kernels::StepFunctions::*)(std::span<const E>, kernels::Stream);

  explicit DeviceSteps(Function f) : f_(f) {}
  // The `held` of a rule; nullptr for a step that selects positions from its new values at once.
  StepRule::Held* held(const Update& u) { return u.sparsifier() ? nullptr : &held_; }
  // Called by the rule's `on_device`, with the same update.
  void add(const E& one, const Update& u) {
    if (u.sparsifier())
      begin({&one, 1});
    else
      all_.push_back(one);
  }
  // Calls step(each), then starts the collected steps, even after an exception.
  template <class F>
  void run(std::span<const ParameterStep> steps, F&& step) {
    try {
      for (const ParameterStep& s : steps) step(s);
    } catch (...) {
      begin(all_);
      throw;
    }
    begin(all_);
  }

 private:
  void begin(std::span<const E> some) const {
    if (some.empty()) return;
    launch(f_, some);
  }

  Function f_;
  std::vector<E> all_;
  StepRule::Held held_;
};

}  // namespace sten
