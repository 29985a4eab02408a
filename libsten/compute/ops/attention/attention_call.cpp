// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/attention/attention_call.h"

#include <cmath>

namespace sten {

AttentionProblem::AttentionProblem(std::string_view op, const Attributes& attributes,
                                   const Shape& q, const Shape& k, const Shape& v) {
  attributes.check(op, {"heads", "kv_heads", "scale", "soft_cap", "causal", "window"});
  heads = attributes.integer("heads", 1);
  if (heads < 1) fail_usage("{}: heads must be >= 1, got {}", op, heads);
  kv_heads = attributes.integer("kv_heads", heads);
  if (kv_heads < 1 || heads % kv_heads != 0)
    fail_usage("{}: kv_heads must divide the {} heads, got {}", op, heads, kv_heads);
  if (q.size() != 3 || k.size() != 3)
    fail_usage("{}: q and k must be [batch, tokens, channels], got {} and {}", op, to_string(q),
               to_string(k));
  if (v.size() != 3 || v[0] != k[0] || v[1] != k[1])
    fail_usage("{}: k is {} but v is {}", op, to_string(k), to_string(v));
  if (q[2] % heads != 0)
    fail_usage("{}: {} channels are not divisible by {} heads", op, q[2], heads);
  if (v[2] % kv_heads != 0)
    fail_usage("{}: {} channels are not divisible by {} heads", op, v[2], kv_heads);
  batch = q[0];
  tokens = q[1];
  keys = k[1];
  width = q[2] / heads;
  v_width = v[2] / kv_heads;
  if (batch != k[0] || kv_heads * width != k[2])
    fail_usage("{}: q is {} but k is {}", op, to_string(q), to_string(k));
  scale = attributes.number("scale", 1 / std::sqrt(static_cast<double>(width)));
  soft_cap = attributes.number("soft_cap", 0);
  if (!(soft_cap >= 0)) fail_usage("{}: soft_cap must be >= 0, got {}", op, soft_cap);
  is_causal = attributes.integer("causal", 0) != 0;
  window = attributes.integer("window", 0);
  if (window < 0) fail_usage("{}: window must be >= 0, got {}", op, window);
  if (window > 0 && !is_causal)
    fail_usage("{}: a window needs causal=1, got window={}", op, window);
}

AttentionExtents AttentionProblem::extents() const {
  AttentionExtents a{batch, tokens, keys, heads, width, v_width, static_cast<float>(scale)};
  a.causal = is_causal;
  a.group = group();
  a.soft_cap = static_cast<float>(soft_cap);
  a.window = window;
  return a;
}

AttentionCall::AttentionCall(const char* op, const Call& call, std::size_t first)
    : AttentionProblem(op, call.attributes, call.in[first].as<Dense>().extents,
                       call.in[first + 1].as<Dense>().extents,
                       call.in[first + 2].as<Dense>().extents),
      q(call.in[first].as<Dense>()),
      k(call.in[first + 1].as<Dense>()),
      v(call.in[first + 2].as<Dense>()) {
  check_dtypes(op, "q", q.dtype(), "k", k.dtype());
  check_dtypes(op, "k", k.dtype(), "v", v.dtype());
  if (first == 1) {
    const Dense& dy = call.in[0].as<Dense>();
    check_dtypes(op, "the gradient", dy.dtype(), "q", q.dtype());
    check_gradient(op, dy, result());
  }
  if (call.in.size() == first + 3) return;
  const Dense& fourth = call.in[first + 3].as<Dense>();
  if (fourth.dtype() == DType::F32 || fourth.dtype() == DType::F64) {
    take_bias(op, fourth);
    return;
  }
  mask = &fourth;
  if (fourth.extents != Shape{batch, keys})
    fail_usage("{}: k is {} but the mask is {}", op, to_string(k.extents),
               to_string(fourth.extents));
}

void AttentionCall::take_bias(const char* op, const Dense& x) {
  check_dtypes(op, "q", q.dtype(), "the bias", x.dtype());
  const auto found = bias_steps(x.extents, scores());
  if (!found)
    fail_usage("{}: the bias is {}, which cannot be broadcast to the scores {}", op,
               to_string(x.extents), to_string(scores()));
  steps = *found;
  bias = &x;
}

}  // namespace sten
