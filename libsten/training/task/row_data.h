// SPDX-License-Identifier: Apache-2.0
// Rows of a table as batches of a task.
#pragma once
#include <numeric>
#include <optional>

#include "libsten/core/base/error.h"
#include "libsten/data/batches.h"
#include "libsten/data/examples.h"
#include "libsten/training/recipe/recipe.h"
#include "libsten/training/task/task_data.h"

namespace sten {

// `Rows` has count(), hashed(content), and part(rows, epoch) as in ExampleColumns.
template <class Rows>
class RowData final : public TaskData {
 public:
  // `test`: rows of a separate test set.
  RowData(const Recipe& r, Rows rows, std::optional<Rows> test)
      : rows_(std::move(rows)), test_(std::move(test)), accumulate_(r.accumulate) {
    content_ = rows_.hashed(0);
    if (test_) content_ = test_->hashed(content_);
    const Index n = rows_.count();
    Split split = split_rows(n, r.data.train, r.data.validation, r.data.split_seed);
    if (split.train.empty()) fail_usage("data.train: the train split of {} rows is empty", n);
    if (test_) {
      split.test.resize(static_cast<std::size_t>(test_->count()));
      std::iota(split.test.begin(), split.test.end(), Index{0});
    }
    train_.emplace(split.train, r.batch, r.seed, true);
    const std::vector<Index>* of[] = {&split.train, &split.validation, &split.test};
    for (std::size_t s = 0; s < 3; ++s)
      if (!of[s]->empty()) measured_[s].emplace(*of[s], r.evaluation.batch, r.seed, false);
  }

  Index steps_per_epoch() const override { return train_->per_epoch(); }
  std::vector<BatchPart> batch(Index step, PartRange range) const override {
    const std::vector<Index> all = train_->at(step);
    const Index n = std::ssize(all), epoch = step / train_->per_epoch();
    std::vector<BatchPart> parts;
    for (Index k = range.begin; k < range.end; ++k) {
      const Index begin = n * k / accumulate_, end = n * (k + 1) / accumulate_;
      if (begin == end) continue;
      BatchPart part = rows_.part(std::span(all).subspan(begin, end - begin), epoch);
      part.number = k;
      if (part.predictions > 0) parts.push_back(std::move(part));
    }
    return parts;
  }
  Index parts(DataSplit s) const override {
    const auto& rows = measured_[static_cast<std::size_t>(s)];
    return rows ? rows->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    const Rows& from = s == DataSplit::test && test_ ? *test_ : rows_;
    return from.part(measured_[static_cast<std::size_t>(s)]->at(0, i), std::nullopt);
  }
  std::uint64_t content() const override { return content_; }

 private:
  Rows rows_;
  std::optional<Rows> test_;
  Index accumulate_;
  std::uint64_t content_ = 0;
  // Cache the order of an epoch.
  mutable std::optional<RowBatches> train_, measured_[3];
};

}  // namespace sten
