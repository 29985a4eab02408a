#include "libsten/onnx/fuse.h"

namespace sten {

Index fuse_batch_norm_relu(Draft& draft) {
  const std::vector<Index> uses = uses_of(draft);
  Index count = 0;
  for (std::size_t i = 0; i < draft.steps().size(); ++i) {
    const DraftStep& relu = draft.steps()[i];
    if (relu.op.text() != "relu" || uses[relu.out] == 0 || uses[relu.in[0]] != 1) continue;
    const DraftStep* norm = draft.step_of(relu.in[0]);
    if (!norm || (norm->op.text() != "batch-norm" && norm->op.text() != "batch-norm-train"))
      continue;
    const DraftStep before = *norm;
    DraftStep& both = draft.change(relu.out);
    both.op = before.op;
    both.in = before.in;
    both.attributes = before.attributes;
    both.attributes.set("relu", 1);
    ++count;
  }
  return count;
}

}  // namespace sten
