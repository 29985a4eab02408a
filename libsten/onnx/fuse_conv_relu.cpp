#include "libsten/onnx/fuse.h"

namespace sten {
namespace {

// The step of v, where that is a convolution which nobody else takes.
const DraftStep* own_convolution(const Draft& draft, const std::vector<Index>& uses, DraftRef v) {
  const DraftStep* s = draft.step_of(v);
  return s && s->op.text() == "conv" && uses[v] == 1 ? s : nullptr;
}

bool have_one_shape(const Draft& draft, DraftRef a, DraftRef b) {
  const auto &x = draft[a].shape, &y = draft[b].shape;
  return x && y && *x == *y;
}

}  // namespace

Index fuse_conv_relu(Draft& draft) {
  const std::vector<Index> uses = uses_of(draft);
  Index count = 0;
  for (std::size_t i = 0; i < draft.steps().size(); ++i) {
    const DraftStep& relu = draft.steps()[i];
    if (relu.op.text() != "relu" || uses[relu.out] == 0) continue;
    const DraftStep* conv = own_convolution(draft, uses, relu.in[0]);
    std::optional<DraftRef> residual;
    if (const DraftStep* sum = conv ? nullptr : draft.step_of(relu.in[0]);
        sum && sum->op.text() == "add" && uses[sum->out] == 1 &&
        have_one_shape(draft, sum->in[0], sum->in[1])) {
      conv = own_convolution(draft, uses, sum->in[1]);
      residual = sum->in[0];
      if (!conv) {
        conv = own_convolution(draft, uses, sum->in[0]);
        residual = sum->in[1];
      }
    }
    if (!conv) continue;
    const DraftStep before = *conv;
    DraftStep& all = draft.change(relu.out);
    all.op = "conv-relu";
    all.in = before.in;
    all.attributes = before.attributes;
    if (residual) {
      all.in.push_back(*residual);
      all.attributes.set("residual", 1);
    }
    ++count;
  }
  return count;
}

}  // namespace sten
