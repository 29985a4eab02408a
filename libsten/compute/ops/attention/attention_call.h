// Checked calls of attention, for all its implementations.
#pragma once
#include <array>
#include <cmath>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/product/attention_product.h"

namespace sten {

// Operands and attributes of attention; or with first = 1 those of its gradient, whose input 0 is
// the gradient of the output.
struct AttentionCall {
  const Dense &q, &k, &v;
  Index heads, batch = 0, tokens = 0, keys = 0;
  Index width = 0, v_width = 0;  // per head
  double scale = 1;              // of the scores
  bool is_causal = false;
  const Dense* mask = nullptr;   // [batch, keys], 0 for masked keys
  const Dense* bias = nullptr;   // added to the scores; excludes a mask
  std::array<Index, 4> steps{};  // of the bias: for sequence, head, token, key

  AttentionCall(const char* op, const Call& call, std::size_t first)
      : q(call.in[first].as<Dense>()),
        k(call.in[first + 1].as<Dense>()),
        v(call.in[first + 2].as<Dense>()) {
    call.attributes.check(op, {"heads", "scale", "causal"});
    heads = call.attributes.integer("heads", 1);
    if (q.extents.size() != 3 || k.extents.size() != 3)
      fail_usage("{}: q and k must be [batch, tokens, channels], got {} and {}", op,
                 to_string(q.extents), to_string(k.extents));
    check_dtypes(op, "q", q.dtype(), "k", k.dtype());
    check_dtypes(op, "k", k.dtype(), "v", v.dtype());
    if (v.extents.size() != 3 || v.extents[0] != k.extents[0] || v.extents[1] != k.extents[1])
      fail_usage("{}: k is {} but v is {}", op, to_string(k.extents), to_string(v.extents));
    if (q.extents[0] != k.extents[0] || q.extents[2] != k.extents[2])
      fail_usage("{}: q is {} but k is {}", op, to_string(q.extents), to_string(k.extents));
    for (const Dense* x : {&q, &v})
      if (heads < 1 || x->extents[2] % heads != 0)
        fail_usage("{}: {} channels are not divisible by {} heads", op, x->extents[2], heads);
    batch = q.extents[0];
    tokens = q.extents[1];
    keys = k.extents[1];
    width = q.extents[2] / heads;
    v_width = v.extents[2] / heads;
    scale = call.attributes.number("scale", 1 / std::sqrt(static_cast<double>(width)));
    is_causal = call.attributes.integer("causal", 0) != 0;
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

  Shape result() const { return {batch, tokens, heads * v_width}; }
  Shape scores() const { return {batch, heads, tokens, keys}; }

 private:
  void take_bias(const char* op, const Dense& x) {
    check_dtypes(op, "q", q.dtype(), "the bias", x.dtype());
    const auto found = bias_steps(x.extents, scores());
    if (!found)
      fail_usage("{}: the bias is {}, which cannot be broadcast to the scores {}", op,
                 to_string(x.extents), to_string(scores()));
    steps = *found;
    bias = &x;
  }
};

}  // namespace sten
