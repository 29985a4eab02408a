#include "libsten/data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libsten/base/error.h"
#include "libsten/base/random.h"
#include "libsten/data/numbers.h"

namespace sten {
namespace {

std::vector<Index> all_rows(Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

}  // namespace

Batches::Batches(Examples examples, std::vector<Index> rows, const BatchOptions& options)
    : examples_(std::move(examples)), rows_(std::move(rows)), options_(options) {
  if (options_.size < 1) fail_usage("a batch of {} rows: at least 1 is needed", options_.size);
  if (rows_.empty()) fail_usage("batches of no rows at all");
  const Index n = examples_.count();
  for (const Index r : rows_)
    if (r < 0 || r >= n) fail_usage("batches: there is no row {} of {}", r, n);
}

Batches::Batches(Examples examples, const BatchOptions& options)
    : Batches(examples, all_rows(examples.count()), options) {}

const std::vector<Index>& Batches::order(Index epoch) {
  if (epoch == ordered_epoch_) return order_;
  if (options_.shuffle)
    order_ = shuffled(
        rows(), random_bits(seed_for(options_.seed, "epoch"), static_cast<std::uint64_t>(epoch)));
  else if (order_.empty())
    order_ = all_rows(rows());
  ordered_epoch_ = epoch;
  return order_;
}

Examples Batches::at(Index epoch, Index i) {
  if (epoch < 0 || i < 0 || i >= per_epoch())
    fail_usage("there is no batch {} of epoch {}: an epoch has {}", i, epoch, per_epoch());
  const Index first = i * options_.size, size = std::min(options_.size, rows() - first);
  const Index* chosen = order(epoch).data() + first;
  const Dense& x = examples_.features;
  const Index n = x.size() / examples_.count();
  Shape shape = x.extents;
  shape[0] = size;
  Examples batch{{shape, Values::uninitialized(DType::F32, size * n)},
                 {{size}, Values::uninitialized(DType::I64, size)}};
  float* to = batch.features.values.mutate<float>().data();
  const bool known = with_number(x.dtype(), [&]<class U>(U, auto number) {
    const U* from = x.values.as<U>().data();
    for (Index b = 0; b < size; ++b, to += n) {
      const U* row = from + rows_[chosen[b]] * n;
      for (Index k = 0; k < n; ++k)
        to[k] = static_cast<float>(number(row[k])) * options_.scale + options_.shift;
    }
  });
  if (!known) fail_usage("batches: features are {}", name_of(x.dtype()));
  const auto y = examples_.labels.values.as<std::int64_t>();
  const auto labels = batch.labels.values.mutate<std::int64_t>();
  for (Index b = 0; b < size; ++b) labels[b] = y[rows_[chosen[b]]];
  return batch;
}

Examples Batches::at(Index step) { return at(step / per_epoch(), step % per_epoch()); }

}  // namespace sten
