// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fuse.h"

namespace sten {

Index fuse_batch_norm_relu(GraphBuilder& builder) {
  const std::vector<Index> uses = builder.uses();
  Index count = 0;
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const BuilderNode& relu = builder.steps()[i];
    if (!relu.is("relu") || uses[relu.out] == 0 || uses[relu.in[0]] != 1) continue;
    const BuilderNode* norm = builder.node_of(relu.in[0]);
    if (!norm || (!norm->is("batch-norm") && !norm->is("batch-norm-train"))) continue;
    const BuilderNode before = *norm;
    BuilderNode& both = builder.change(relu.out);
    both.op = before.op;
    both.in = before.in;
    both.attributes = before.attributes;
    both.attributes.set("relu", 1);
    ++count;
  }
  return count;
}

}  // namespace sten
