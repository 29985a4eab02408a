// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/scalars.h"

namespace sten {
namespace {

std::vector<Index> all_rows(Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

}  // namespace

RowBatches::RowBatches(std::vector<Index> rows, Index size, std::uint64_t seed, bool shuffle)
    : rows_(std::move(rows)), size_(size), seed_(seed), shuffle_(shuffle) {
  if (size < 1) fail_usage("batches: batch size must be >= 1, got {}", size);
  if (rows_.empty()) fail_usage("batches: no rows given");
}

const std::vector<Index>& RowBatches::order(Index epoch) {
  if (epoch == ordered_epoch_) return order_;
  if (shuffle_)
    order_ =
        shuffled(rows(), random_bits(seed_for(seed_, "epoch"), static_cast<std::uint64_t>(epoch)));
  else if (order_.empty())
    order_ = all_rows(rows());
  ordered_epoch_ = epoch;
  return order_;
}

std::vector<Index> RowBatches::at(Index epoch, Index i) {
  if (epoch < 0 || i < 0 || i >= per_epoch())
    fail_usage("batches: batch {} of epoch {} is out of range: an epoch has {} batches", i, epoch,
               per_epoch());
  const Index first = i * size_;
  std::vector<Index> chosen(static_cast<std::size_t>(std::min(size_, rows() - first)));
  const Index* from = order(epoch).data() + first;
  std::transform(from, from + chosen.size(), chosen.begin(), [&](Index r) { return rows_[r]; });
  return chosen;
}

namespace {

// An uninitialized array of `rows` rows; `shape` has any first extent.
Dense unwritten_rows(DType dtype, Shape shape, std::size_t rows) {
  shape[0] = static_cast<Index>(rows);
  const Index n = size_of(shape);
  return {std::move(shape), Values::uninitialized(dtype, n)};
}
Index row_size(const Dense& x) { return x.extents[0] ? x.size() / x.extents[0] : 0; }

}  // namespace

Dense numbers_of(const Dense& x, std::span<const Index> rows, Shape shape, float scale,
                 float shift) {
  const Index n = row_size(x);
  Dense y = unwritten_rows(DType::F32, std::move(shape), rows.size());
  float* to = y.values.mutate<float>().data();
  const bool known = with_scalar(x.dtype(), [&]<class U>(U, auto number) {
    const U* from = x.values.as<U>().data();
    for (const Index r : rows)
      for (Index k = 0; k < n; ++k)
        *to++ = static_cast<float>(number(from[r * n + k])) * scale + shift;
  });
  if (!known) fail_usage("batches: unsupported dtype {} of features", name_of(x.dtype()));
  return y;
}

Dense rows_of(const Dense& x, std::span<const Index> rows, Shape shape) {
  const Index n = row_size(x);
  Dense y = unwritten_rows(x.dtype(), std::move(shape), rows.size());
  with_width(width_of(x.dtype()), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    U* to = y.values.mutate<U>().data();
    for (const Index r : rows) to = std::copy_n(from + r * n, n, to);
  });
  return y;
}

Batches::Batches(Examples examples, std::vector<Index> rows, const BatchOptions& options)
    : examples_(std::move(examples)),
      rows_(std::move(rows), options.size, options.seed, options.shuffle),
      scale_(options.scale),
      shift_(options.shift) {
  const Index n = examples_.count();
  for (const Index r : rows_.all())
    if (r < 0 || r >= n)
      fail_usage("batches: row {} is out of range: the examples have {} rows", r, n);
}

Batches::Batches(Examples examples, const BatchOptions& options)
    : Batches(examples, all_rows(examples.count()), options) {}

Examples Batches::at(Index epoch, Index i) {
  const std::vector<Index> rows = rows_.at(epoch, i);
  const Examples& all = examples_;
  return {numbers_of(all.features, rows, all.features.extents, scale_, shift_),
          rows_of(all.labels, rows, all.labels.extents)};
}

}  // namespace sten
