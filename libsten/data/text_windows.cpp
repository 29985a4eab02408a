// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/text_windows.h"

#include <algorithm>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"
#include "libsten/data/examples.h"

namespace sten {

TextWindows::TextWindows(Array<TokenId> text, Index begin, Index end,
                         const TextWindowsOptions& options, std::optional<Array<TokenId>> targets)
    : text_(std::move(text)),
      targets_(targets ? std::move(*targets) : text_),
      begin_(begin),
      end_(end),
      options_(options),
      start_seed_(seed_for(options.seed, "starts")) {
  if (begin < 0 || end < begin || end > static_cast<Index>(text_.size()))
    fail_usage("text: the range [{}, {}) is not within {} tokens", begin, end, text_.size());
  if (targets_.size() != text_.size())
    fail_usage("text: expected {} targets, got {}", text_.size(), targets_.size());
  if (options.window < 1 || options.batch < 1)
    fail_usage("text: expected batch >= 1 and window >= 1, got {} and {}", options.batch,
               options.window);
  if (end - begin <= options.window)
    fail_usage("text: {} tokens are too few for a window of {} and the next token", end - begin,
               options.window);
}

Index TextWindows::per_epoch() const {
  if (options_.draw) return std::max<Index>(1, windows() / options_.batch);
  return ceil_div(windows(), options_.batch);
}

Index TextWindows::start_of(Index window) const {
  if (!options_.draw) return begin_ + window * options_.window;
  const double u = random_uniform(start_seed_, static_cast<std::uint64_t>(window));
  return begin_ + static_cast<Index>(u * static_cast<double>(end_ - begin_ - options_.window));
}

TextBatch TextWindows::at(Index i) const {
  if (i < 0 || (!options_.draw && i >= per_epoch()))
    fail_usage("text: batch {} is out of range: an epoch has {} batches", i, per_epoch());
  const Index first = i * options_.batch, length = options_.window;
  const Index rows = options_.draw ? options_.batch : std::min(options_.batch, windows() - first);
  TextBatch b{Dense::zeros(DType::I64, {rows, length}), Dense::zeros(DType::I64, {rows, length})};
  std::int64_t* const ids = b.ids.values.mutate<std::int64_t>().data();
  std::int64_t* const next = b.next.values.mutate<std::int64_t>().data();
  for (Index r = 0; r < rows; ++r) {
    const Index start = start_of(first + r);
    std::copy_n(text_.data() + start, length, ids + r * length);
    std::copy_n(targets_.data() + start + 1, length, next + r * length);
  }
  b.counted = rows * length - std::count(next, next + rows * length, ignored_label);
  return b;
}

}  // namespace sten
