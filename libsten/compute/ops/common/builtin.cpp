// The explicit list of operators.
#include "libsten/core/dispatch/operators.h"

#include "libsten/compute/ops/common/register.h"

namespace sten {

void add_builtin_operators(Operators& all) {
  add_dropout(all);
  add_binary(all);
  add_unary_rows(all);
  add_comparisons(all);
  add_integer_binary(all);
  add_where(all);
  add_casts(all);
  add_softmax(all);
  add_layer_norm(all);
  add_batch_norms(all);
  add_group_norms(all);
  add_lrn(all);
  add_embedding(all);
  add_attention(all);
  add_shapes(all);
  add_concat(all);
  add_slices(all);
  add_repeats(all);
  add_pads(all);
  add_gather_elements(all);
  add_scatters(all);
  add_masking(all);
  add_reverses(all);
  add_uniques(all);
  add_reductions(all);
  add_top_k(all);
  add_scans(all);
  add_constants(all);
  add_losses(all);
  add_nll_loss(all);
  add_sparse_add(all);
  add_linear(all);
  add_sparse_linear(all);
  add_convolutions(all);
  add_sparse_convolutions(all);
  add_conv_relu(all);
  add_pools(all);
  add_resize(all);
  add_matmul(all);
  add_einsum(all);
  add_sparse_matmul(all);
  add_device_matmul(all);
  add_device_linear(all);
  add_device_maps(all);
  add_device_binary(all);
  add_device_sums(all);
  add_device_rows(all);
  add_device_convolutions(all);
  add_sparse_signals(all);
}

}  // namespace sten
