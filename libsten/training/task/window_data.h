// SPDX-License-Identifier: Apache-2.0
// Windows of a text as batches of a task.
#pragma once
#include <array>
#include <functional>
#include <optional>

#include "libsten/core/base/hash.h"
#include "libsten/data/examples.h"
#include "libsten/training/task/recipe_tokenizer.h"
#include "libsten/training/task/task_data.h"

namespace sten {

// The split of a text: ends[s] to ends[s + 1] are the tokens of split s.
struct TextSplits {
  std::array<Index, 4> ends;
  std::uint64_t content;  // hash of the text

  TextSplits(const DataRecipe& d, const Array<TokenId>& text)
      : content(hash_bytes(0, text.bytes())) {
    const Index n = static_cast<Index>(text.size());
    const Shares shares = shares_of(n, d.train, d.validation);
    ends = {0, shares.train, shares.train + shares.validation, n};
  }
};

// `Windows` has at(i) and per_epoch() as TextWindows, whose batches `make` turns into parts.
template <class Windows>
class WindowData final : public TaskData {
 public:
  using Make = std::function<BatchPart(const decltype(std::declval<Windows>().at(0))&)>;

  // `open(begin, end, options)` opens a range of the text. `training`: the options of training;
  // evaluation has the seed `measured_seed`. A split needs `fewest` tokens.
  template <class Options, class Open>
  WindowData(const Recipe& r, const TextSplits& splits, Index fewest, Options training,
             std::uint64_t measured_seed, Open&& open, Make make)
      : make_(std::move(make)), accumulate_(r.accumulate), content_(splits.content) {
    const auto& ends = splits.ends;
    check_train_split(r.data, ends[1], fewest);
    train_.emplace(open(ends[0], ends[1], training));
    Options measured = training;
    measured.draw = false;
    measured.seed = measured_seed;
    measured.batch = r.evaluation.batch;
    for (std::size_t s = 0; s < 3; ++s)
      if (ends[s + 1] - ends[s] >= fewest)
        measured_[s].emplace(open(ends[s], ends[s + 1], measured));
  }

  Index steps_per_epoch() const override {
    return std::max<Index>(1, train_->per_epoch() / accumulate_);
  }
  std::vector<BatchPart> batch(Index step, PartRange range) const override {
    std::vector<BatchPart> parts;
    for (Index k = range.begin; k < range.end; ++k) {
      BatchPart part = make_(train_->at(step * accumulate_ + k));
      part.number = k;
      if (part.predictions > 0) parts.push_back(std::move(part));
    }
    return parts;
  }
  Index parts(DataSplit s) const override {
    const auto& text = measured_[static_cast<std::size_t>(s)];
    return text ? text->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    return make_(measured_[static_cast<std::size_t>(s)]->at(i));
  }
  std::uint64_t content() const override { return content_; }

 private:
  Make make_;
  Index accumulate_;
  std::uint64_t content_;
  std::optional<Windows> train_, measured_[3];
};

}  // namespace sten
