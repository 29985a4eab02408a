// The pass over a weight that optimizers share: they differ in what they do to an element.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/block/step_functions.h"
#include "libsten/base/cuda.h"
#include "libsten/optim/parameter.h"

namespace sten {

// What a step does to n elements w with gradients g, state[i] being what is remembered of them
// under the rule's i-th name. Each element by itself; w = 0, g = 0 and state 0 stay 0, which is
// what padding is.
struct StepRule {
  // What a step on a device that begins later points to, beside the parameter.
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
  // The same on a device, of floats; empty: the CPU does it.
  using DeviceStep =
      std::function<void(const kernels::StepFunctions& steps, const kernels::StepElements& x,
                         float* const* state, kernels::Stream stream)>;
  DeviceStep on_device{};
  // Where not nullptr: `on_device` only takes note, and the step begins when the caller says so.
  Held* held = nullptr;

  template <class F>
  static StepRule of(std::string_view op, std::vector<std::string_view> state, F f,
                     DeviceStep on_device = {}, Held* held = nullptr) {
    return {op, std::move(state), f, f, std::move(on_device), held};
  }
};

// One step of p. The weight is F32 or F64, in any layout with a field `values`, and its gradient
// has its shape and dtype.
//
// Same pattern: in one pass, in place where nobody else holds the weight (a tape that is still
// there does). A gradient with the weight's own positions in its layout, as tapes give it, is
// taken value for value; a dense or masked one at the weight's positions, for other layouts than
// dense and masked by a table that is made dense once per set of positions. Another sparse one is
// made dense first. With is_strict() both are an Error (check).
//
// A weight on a device has its gradient and its state there; where the rule has no way of doing that,
// and for F64, the CPU does it and says so (base/fallback.h).
//
// Error (usage) where dtypes, shapes, layout or state do not fit. The same bits at any thread
// count.
void step_elements(Parameter& p, const Tensor& gradient, const Update& update,
                   const StepRule& rule);

// Steps on a device that begin together: E is what the device's function gets of each.
template <class E>
class DeviceSteps {
 public:
  using Function = void (*kernels::StepFunctions::*)(std::span<const E>, kernels::Stream);

  explicit DeviceSteps(Function f) : f_(f) {}
  // For a rule's `held`. What selects positions from the new values cannot wait.
  StepRule::Held* held(const Update& u) { return u.sparsifier() ? nullptr : &held_; }
  // In its `on_device`, with the same update.
  void add(const E& one, const Update& u) {
    if (u.sparsifier())
      begin({&one, 1});
    else
      all_.push_back(one);
  }
  // step(each), and then what was added; that, too, if one of them throws.
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
    on_cuda([&](const auto& cuda, kernels::Stream stream) { (cuda.steps.*f_)(some, stream); });
  }

  Function f_;
  std::vector<E> all_;
  StepRule::Held held_;
};

}  // namespace sten
