// What a device does row by row: softmax, layer norm, losses, rows by number, attention.
// What functions.h says of pointers, streams and bits holds here, too, but that results are the CPU's
// to a few units in the last place only: sums are taken in double, in an order that shapes alone
// decide. All elements are floats unless said otherwise; rows[, n] lie one after the other. Outputs
// may be inputs, element for element, where a function says "in place".
#pragma once
#include <span>

#include "kernels/block/grid.h"

namespace sten::kernels {

// The lines of a tensor [outer, length, inner].
struct StridedRows {
  std::int64_t outer, length, inner;
};

// ids[count] name rows of n elements in a table [outer, extent, n]: out [outer, count, n]. A negative
// one counts from the end where `wraps`. *bad, of the device, counts those that name none; it may be
// nullptr.
struct RowIds {
  const std::int64_t* ids;
  std::int64_t count;
  std::int64_t outer, extent, n;
  bool wraps;
  std::uint32_t* bad;
};

// The class of each row of logits [rows, n]; rows whose target is `ignore` do not count. *bad, of the
// device, counts targets that are not a class, unless it is nullptr; their rows are NaN.
struct RowClasses {
  const std::int64_t* targets;
  std::int64_t rows, n, ignore;
  std::uint32_t* bad;
};

// Scores [batch, heads, tokens, keys] and what is done to them before they become weights: they are
// multiplied by `scale`, and `bias` is added, whose elements are steps[i] apart in axis i. Keys of
// which seen[batch, keys] is 0 are hidden, and where `causal`, those that come later than the query,
// the last query and the last key being at one place.
struct AttentionScores {
  std::int64_t batch, heads, tokens, keys;
  float scale;
  bool causal;
  const std::int64_t* seen;  // nullptr: all
  const float* bias;         // nullptr: none; there is no `seen` beside it
  std::int64_t steps[4];
};

// A tensor whose heads are put one after the other, or beside each other again.
struct HeadsMove {
  const float* x;
  std::int64_t tokens, width;  // of a head
  float* to;
};

// Norms of n channels, the columns of a matrix, whose mean and variance are in moments[2][n], the
// matrix's own, or else are given.
struct ChannelNorm {
  std::int64_t n;
  double eps;
  bool relu;
  const float *gamma, *beta;
  const double* moments;
  const float *mean, *variance;  // where `moments` is nullptr
};
// What is nullptr is not wanted.
struct ChannelGrads {
  float* dx = nullptr;
  bool adds = false;  // dx is added to what is there
  float *dgamma = nullptr, *dbeta = nullptr, *dmean = nullptr, *dvariance = nullptr;
};

// Windows over x[batch, size, size, size, channels], three axes, whose places are y[batch, result...,
// channels]. Window o of an axis begins at o * stride - before, or where `is_adaptive` has the elements
// from o * size / result, rounded down, to (o + 1) * size / result, rounded up. Sizes with padding, and
// products of these and of results, are below 2^30, and so are all pixels and places.
struct PoolAxis {
  std::int32_t size, result, kernel, stride, dilation, before, after;
  bool is_adaptive;
};
struct Pools {
  std::int64_t batch, channels;
  PoolAxis axes[3];
  bool is_max;       // else the mean
  bool counts_pads;  // which the mean divides by, too
};

struct RowFunctions {
  // y = softmax(x) of each line, or its logarithm; in place.
  void (*softmax)(const float* x, StridedRows, bool is_log, float* y, Stream);
  // Of that y; in place.
  void (*softmax_grad)(const float* dy, const float* y, StridedRows, bool is_log, float* dx,
                       Stream);

  // y = gamma * z + beta of each row, z having the mean 0 and, but for eps, the variance 1.
  void (*layer_norm)(const float* x, std::int64_t rows, std::int64_t n, const float* gamma,
                     const float* beta, double eps, float* y, Stream);
  // What is nullptr is not wanted. dgamma[n], dbeta[n]. Where it `adds`, dx is what there is and the sum.
  void (*layer_norm_grad)(const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                          const float* gamma, double eps, float* dx, bool adds, float* dgamma,
                          float* dbeta, Stream);

  // Words of 4 bytes; those of ids that name no row have all bits set.
  void (*take_rows)(const void* table, const RowIds&, void* out, Stream);
  // table [outer, extent, n] = the sums of the rows of dy that each row is in, or, where `adds`, the
  // same added to it: then rows that no id names are not touched.
  void (*sum_rows_by_id)(const float* dy, const RowIds&, bool adds, float* table, Stream);

  // *loss = the mean, over rows that count, of (1 - smoothing) * -log softmax(x)[target] + smoothing *
  // the mean of -log softmax(x); 0 where none do.
  void (*cross_entropy)(const float* x, const RowClasses&, double smoothing, float* loss, Stream);
  // *dy is the gradient of the loss.
  void (*cross_entropy_grad)(const float* dy, const float* x, const RowClasses&, double smoothing,
                             float* dx, Stream);
  // *loss = the mean, over rows that count, of the divergence from softmax(x / temperature) to
  // softmax(wanted / temperature), times temperature^2.
  void (*kl_divergence)(const float* x, const float* wanted, const RowClasses&, double temperature,
                        float* loss, Stream);
  // Either output may be nullptr.
  void (*kl_divergence_grad)(const float* dy, const float* x, const float* wanted,
                             const RowClasses&, double temperature, float* dx, float* dwanted,
                             Stream);
  // *loss = the mean of (x - y)^2.
  void (*mse)(const float* x, const float* y, std::int64_t n, float* loss, Stream);
  // Either output may be nullptr.
  void (*mse_grad)(const float* dy, const float* x, const float* y, std::int64_t n, float* dx,
                   float* d_y, Stream);

  // to[batch, heads, tokens, width] of x[batch, tokens, heads * width], and back; of several tensors in
  // as few kernels as may be, the span being the host's.
  void (*split_heads)(std::span<const HeadsMove>, std::int64_t batch, std::int64_t heads, Stream);
  void (*merge_heads)(std::span<const HeadsMove>, std::int64_t batch, std::int64_t heads, Stream);
  // Scores, as products leave them, become weights: hidden keys have 0.
  void (*attention_weights)(const AttentionScores&, float* scores, Stream);
  // ds = weights * (dp - sum(weights * dp)) in each row, which is the gradient of what softmax gets;
  // in place of dp.
  void (*attention_grad)(const AttentionScores&, const float* weights, float* dp, Stream);
  // The gradient of a bias[extents] whose steps in ds [batch, heads, tokens, keys] are 0 where it is
  // repeated: to[extents].
  void (*bias_grad)(const AttentionScores&, const float* ds, float* to, Stream);

  // moments[2][n], doubles: the mean of each channel of x[rows, n], and its variance as of all there
  // is, 0 without rows.
  void (*channel_moments)(const float* x, std::int64_t rows, std::int64_t n, double* moments,
                          Stream);
  // to[2][n] of these, the variance times `factor`.
  void (*float_moments)(const double* moments, std::int64_t n, double factor, float* to, Stream);
  // y = gamma * (x - mean) / sqrt(variance + eps) + beta, and where `relu` what is above 0 of it.
  void (*channel_norm)(const float* x, std::int64_t rows, const ChannelNorm&, float* y, Stream);
  // Through moments, too, where these are the matrix's own.
  void (*channel_norm_grad)(const float* dy, const float* x, std::int64_t rows, const ChannelNorm&,
                            const ChannelGrads&, Stream);

  // The largest or the mean of each window. -inf, or 0, where one has nothing of x.
  void (*pool)(const float* x, const Pools&, float* y, Stream);
  // The gradient of a maximum is that of the first of equals. x is not read for means.
  void (*pool_grad)(const float* dy, const float* x, const Pools&, float* dx, Stream);
};

}  // namespace sten::kernels
