// Registration functions of the operator families.
#pragma once
namespace sten {

class Operators;

void add_dropout(Operators& all);
void add_binary(Operators& all);   // add, sub, mul, div, pow, min, max, p-relu
void add_softmax(Operators& all);  // softmax, log-softmax
void add_layer_norm(Operators& all);
void add_batch_norms(Operators& all);  // batch-norm, batch-norm-train, batch-moments
void add_group_norms(Operators& all);  // group-norm, instance-norm
void add_lrn(Operators& all);
void add_embedding(Operators& all);  // embedding, gather
void add_attention(Operators& all);
void add_shapes(Operators& all);      // reshape, squeeze, unsqueeze, flatten, transpose
void add_concat(Operators& all);      // concat
void add_reductions(Operators& all);  // sum, mean, and those of add_folds()
void add_losses(Operators& all);      // cross-entropy, kl-divergence, mse

void add_unary_rows(Operators& all);   // kernels/unary.def
void add_comparisons(Operators& all);  // equal, less and others, and, or, xor, not, is-nan, is-inf
void add_where(Operators& all);
void add_casts(Operators& all);  // cast, identity
void add_slices(Operators& all);
void add_repeats(Operators& all);  // expand, tile
void add_pads(Operators& all);
void add_gather_elements(Operators& all);  // also gather-nd
void add_scatters(Operators& all);         // scatter-elements, scatter-nd
void add_masking(Operators& all);          // non-zero, compress, one-hot, eye-like
void add_reverses(Operators& all);         // reverse-sequence
void add_uniques(Operators& all);          // unique, unique-indices, -inverse, -counts
void add_integer_binary(Operators& all);   // mod, bit-shift
void add_einsum(Operators& all);
void add_nll_loss(Operators& all);
void add_folds(Operators& all);      // reduce-max and others
void add_top_k(Operators& all);      // arg-max, arg-min, top-k, top-k-indices, hardmax
void add_scans(Operators& all);      // cum-sum, trilu
void add_constants(Operators& all);  // range, constant-of-shape, shape, size

void add_sparse_add(Operators& all);
void add_linear(Operators& all);
void add_sparse_linear(Operators& all);
void add_convolutions(Operators& all);  // conv, conv-transpose
void add_sparse_convolutions(Operators& all);
void add_conv_relu(Operators& all);
void add_pools(Operators& all);  // max-pool, average-pool and the adaptive ones
void add_resize(Operators& all);
void add_matmul(Operators& all);
void add_sparse_matmul(Operators& all);
void add_device_matmul(Operators& all);
void add_device_linear(Operators& all);
void add_device_maps(Operators& all);    // elementwise functions, dropout
void add_device_binary(Operators& all);  // binary operators, comparisons, where
void add_device_sums(Operators& all);    // sum, mean
void add_device_rows(Operators& all);
void add_device_convolutions(Operators& all);  // conv, conv-transpose, conv-relu
void add_sparse_signals(Operators& all);       // sparse gradients of matmul and relu

}  // namespace sten
