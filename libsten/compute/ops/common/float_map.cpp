#include "libsten/compute/ops/common/float_map.h"

#include "kernels/functions.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

FloatMap found(std::string_view op, const Attributes& attributes) {
  if (op == "scale") {
    attributes.check(op, {"by"});
    const auto by = static_cast<float>(attributes.number("by", 1));
    return [by](const float* x, Index n, float* y) {
      for (Index i = 0; i < n; ++i) y[i] = x[i] * by;
    };
  }
  const kernels::FunctionsTable& f = kernels::functions();
  const bool is_plain = attributes.all().empty();
  if (op == "relu" && is_plain)
    return [](const float* x, Index n, float* y) {
      for (Index i = 0; i < n; ++i) y[i] = x[i] <= 0 ? 0 : x[i];
    };
  if (op == "gelu" && is_plain) return f.gelu;
  if (op == "gelu-tanh" && is_plain) return f.gelu_tanh;
  if (op == "silu" && is_plain) return f.silu;
  if (op == "tanh" && is_plain) return f.tanh;
  if (op == "sigmoid" && is_plain) return f.sigmoid;
  return elementwise_map(op, attributes);
}

}  // namespace

FloatMap float_map(std::string_view op, const Attributes& attributes) {
  try {
    return found(op, attributes);
  } catch (const Error&) {
    return {};  // the operator reports the error
  }
}

}  // namespace sten
