// SPDX-License-Identifier: Apache-2.0
// Row-wise functions of a device: softmax, normalization, losses, embedding rows, rotary positions,
// attention, batch normalization, pooling. The rules of functions.h for pointers, streams and bits
// apply, but results equal the CPU's only to a few ulp: sums are accumulated in double, in an order
// that depends only on shapes. Elements are float32 unless stated; rows [rows, n] are contiguous.
// "In place": an output can be an input.
#pragma once
#include <span>

#include "kernels/block/grid.h"

namespace sten::kernels {

// The rows of a tensor [outer, length, inner] along `length`.
struct StridedRows {
  std::int64_t outer, length, inner;
};

// ids [count] select rows of n elements of a table [outer, extent, n]; the result is [outer, count,
// n]. With `wraps`, negative ids count from the end. *bad in device memory counts invalid ids;
// nullptr: not counted.
struct RowIds {
  const std::int64_t* ids;
  std::int64_t count;
  std::int64_t outer, extent, n;
  bool wraps;
  std::uint32_t* bad;
};

// The class of each row of logits [rows, n]. Rows whose target is `ignore` do not count. *bad in
// device memory counts targets that are not a class, unless it is nullptr; the results of these
// rows are NaN.
struct RowClasses {
  const std::int64_t* targets;
  std::int64_t rows, n, ignore;
  std::uint32_t* bad;
};

// Root mean square normalization of rows of n elements; factors are the weight, or 1 + weight.
struct RmsNorm {
  std::int64_t rows, n;
  const float* weight;
  bool has_offset;
  double eps;
};

// Rotation of the features of tokens [tokens, heads, width]: pair i of a head, (2 i, 2 i + 1) if
// interleaved and (i, i + pairs) otherwise, turns by the position times frequency i, and is
// multiplied by `scale`. Token t has position t % position_count.
struct RotaryRows {
  std::int64_t tokens, heads, width, pairs;
  bool is_interleaved;
  float scale;
  const std::int64_t* positions;
  std::int64_t position_count;
  const float* frequencies;
};

// Attention scores [batch, heads, tokens, keys] before the softmax: they are multiplied by `scale`;
// with soft_cap = c > 0, a score s becomes c tanh(s / c); then `bias` is added, with step steps[i]
// in axis i. Keys with seen[batch, keys] = 0 are hidden. With `causal`, keys after the query are
// hidden too; the last query and the last key have the same position. With a window of w > 0 keys,
// a causal query sees only the last w of them.
struct AttentionScores {
  std::int64_t batch, heads, tokens, keys;
  float scale;
  bool causal;
  const std::int64_t* seen;  // nullptr: all keys are visible
  const float* bias;         // nullptr: no bias; excludes `seen`
  std::int64_t steps[4];
  float soft_cap = 0;
  std::int64_t window = 0;
};

struct HeadsMove {
  const float* x;
  std::int64_t tokens, heads, width;  // width per head
  float* to;
};

// Normalization of n channels, the columns of a matrix. Mean and variance are the matrix's own, in
// moments[2][n], or given.
struct ChannelNorm {
  std::int64_t n;
  double eps;
  bool relu;
  const float *gamma, *beta;
  const double* moments;
  const float *mean, *variance;  // if `moments` is nullptr
};
// Requested gradients; nullptr: not computed.
struct ChannelGrads {
  float* dx = nullptr;
  bool adds = false;  // dx is incremented
  float *dgamma = nullptr, *dbeta = nullptr, *dmean = nullptr, *dvariance = nullptr;
};

// Pooling windows over three axes: x [batch, size, size, size, channels], y [batch, result...,
// channels]. Window o of an axis starts at o * stride - before; with is_adaptive it is the elements
// from floor(o * size / result) to ceil((o + 1) * size / result). Sizes with padding, their
// products, and those of results are less than 2^30, as are all pixels and output positions.
struct PoolAxis {
  std::int32_t size, result, kernel, stride, dilation, before, after;
  bool is_adaptive;
};
struct Pools {
  std::int64_t batch, channels;
  PoolAxis axes[3];
  bool is_max;       // otherwise the mean
  bool counts_pads;  // the mean divides by padding elements too
};

struct RowFunctions {
  // y = softmax(x) of each row, or its logarithm; in place.
  void (*softmax)(const float* x, StridedRows, bool is_log, float* y, Stream);
  // Gradient of softmax from its result y; in place.
  void (*softmax_grad)(const float* dy, const float* y, StridedRows, bool is_log, float* dx,
                       Stream);

  // y = gamma * z + beta for each row, where z has mean 0 and, except for eps, variance 1.
  void (*layer_norm)(const float* x, std::int64_t rows, std::int64_t n, const float* gamma,
                     const float* beta, double eps, float* y, Stream);
  // Gradients of layer_norm; nullptr: not computed. dgamma [n], dbeta [n]. With `adds`, dx is
  // incremented.
  void (*layer_norm_grad)(const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                          const float* gamma, double eps, float* dx, bool adds, float* dgamma,
                          float* dbeta, Stream);

  // y = x / sqrt(mean(x^2) + eps) * factor for each row.
  void (*rms_norm)(const float* x, const RmsNorm&, float* y, Stream);
  // Gradients of rms_norm; nullptr: not computed. With `adds`, dx is incremented.
  void (*rms_norm_grad)(const float* dy, const float* x, const RmsNorm&, float* dx, bool adds,
                        float* dweight, Stream);
  // Rotates x, by the opposite angles if `back`, which is the gradient.
  void (*rotate)(const float* x, const RotaryRows&, bool back, float* y, Stream);

  // Selects rows of 4-byte elements; rows of invalid ids have all bits set.
  void (*take_rows)(const void* table, const RowIds&, void* out, Stream);
  // table [outer, extent, n] = sums of the rows of dy by id. With `adds` the sums are added to the
  // table, and rows without an id are not touched.
  void (*sum_rows_by_id)(const float* dy, const RowIds&, bool adds, float* table, Stream);

  // *loss = mean, over rows that count, of (1 - smoothing) * -log softmax(x)[target] + smoothing *
  // mean(-log softmax(x)); 0 if no row counts.
  void (*cross_entropy)(const float* x, const RowClasses&, double smoothing, float* loss, Stream);
  // *dy is the gradient of the loss.
  void (*cross_entropy_grad)(const float* dy, const float* x, const RowClasses&, double smoothing,
                             float* dx, Stream);
  // *loss = mean, over rows that count, of the divergence from softmax(x / temperature) to
  // softmax(wanted / temperature), times temperature^2.
  void (*kl_divergence)(const float* x, const float* wanted, const RowClasses&, double temperature,
                        float* loss, Stream);
  // Each output can be nullptr.
  void (*kl_divergence_grad)(const float* dy, const float* x, const float* wanted,
                             const RowClasses&, double temperature, float* dx, float* dwanted,
                             Stream);
  // *loss = the mean of (x - y)^2.
  void (*mse)(const float* x, const float* y, std::int64_t n, float* loss, Stream);
  // Each output can be nullptr.
  void (*mse_grad)(const float* dy, const float* x, const float* y, std::int64_t n, float* dx,
                   float* d_y, Stream);

  // Splits heads, x [batch, tokens, heads * width] to [batch, heads, tokens, width], or merges
  // them. Uses as few kernels as possible for all tensors; the span is host memory.
  void (*split_heads)(std::span<const HeadsMove>, std::int64_t batch, Stream);
  void (*merge_heads)(std::span<const HeadsMove>, std::int64_t batch, Stream);
  // Softmax of attention scores in place; hidden keys get 0. Stores the slopes of the soft cap,
  // unless slopes is nullptr.
  void (*attention_weights)(const AttentionScores&, float* scores, float* slopes, Stream);
  // ds = weights * (dp - sum(weights * dp)) for each row, the gradient of the scores before the
  // softmax; in place of dp.
  void (*attention_grad)(const AttentionScores&, const float* weights, float* dp, Stream);
  // Gradient of a bias [extents], whose step in ds [batch, heads, tokens, keys] is 0 along
  // broadcast axes.
  void (*bias_grad)(const AttentionScores&, const float* ds, float* to, Stream);

  // moments[2][n], double: mean and biased variance of each channel of x[rows, n]; 0 without rows.
  void (*channel_moments)(const float* x, std::int64_t rows, std::int64_t n, double* moments,
                          Stream);
  // to[2][n] = moments as floats, the variance times `factor`.
  void (*float_moments)(const double* moments, std::int64_t n, double factor, float* to, Stream);
  // y = gamma * (x - mean) / sqrt(variance + eps) + beta; with `relu`, max(y, 0).
  void (*channel_norm)(const float* x, std::int64_t rows, const ChannelNorm&, float* y, Stream);
  // Gradients of channel_norm, including those through the moments if they are the matrix's own.
  void (*channel_norm_grad)(const float* dy, const float* x, std::int64_t rows, const ChannelNorm&,
                            const ChannelGrads&, Stream);

  // Maximum or mean of each window; for an empty window -inf or 0.
  void (*pool)(const float* x, const Pools&, float* y, Stream);
  // Gradient of pool. The gradient of a maximum goes to the first of equal elements. Mean pooling
  // does not read x.
  void (*pool_grad)(const float* dy, const float* x, const Pools&, float* dx, Stream);
};

}  // namespace sten::kernels
