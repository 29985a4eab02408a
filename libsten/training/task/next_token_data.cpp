#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/data/examples.h"
#include "libsten/data/text_windows.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/recipe_tokenizer.h"

namespace sten {
namespace {

BatchPart next_tokens(const TextBatch& b) {
  NamedValues<Tensor> in = gpt_inputs(b.ids);
  in.emplace("labels", b.next);
  return {std::move(in), b.next.size()};
}

class NextTokenData final : public TaskData {
 public:
  NextTokenData(const Recipe& r, const Array<TokenId>& text)
      : accumulate_(r.accumulate), content_(hash_bytes(0, text.bytes())) {
    TextWindowsOptions o{r.data.window, r.batch / r.accumulate, r.seed, true};
    const Index n = static_cast<Index>(text.size());
    const Shares shares = shares_of(n, r.data.train, r.data.validation);
    const Index ends[] = {0, shares.train, shares.train + shares.validation, n};
    check_train_split(r.data, shares.train, o.window + 1);
    train_.emplace(text, ends[0], ends[1], o);
    o.draw = false;
    o.batch = r.evaluation.batch;
    for (int s = 0; s < 3; ++s)
      if (ends[s + 1] - ends[s] > o.window) measured_[s].emplace(text, ends[s], ends[s + 1], o);
  }

  Index steps_per_epoch() const override {
    return std::max<Index>(1, train_->per_epoch() / accumulate_);
  }
  std::vector<BatchPart> batch(Index step, PartRange range) const override {
    std::vector<BatchPart> parts;
    for (Index k = range.begin; k < range.end; ++k)
      parts.emplace_back(next_tokens(train_->at(step * accumulate_ + k))).number = k;
    return parts;
  }
  Index parts(DataSplit s) const override {
    const auto& text = measured_[static_cast<std::size_t>(s)];
    return text ? text->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    return next_tokens(measured_[static_cast<std::size_t>(s)]->at(i));
  }
  std::uint64_t content() const override { return content_; }

 private:
  Index accumulate_;
  std::uint64_t content_;
  std::optional<TextWindows> train_, measured_[3];
};

}  // namespace

std::shared_ptr<TaskData> read_next_token_data(const Recipe& r, Index vocabulary, Index positions) {
  const auto ids = recipe_tokenizer(r, vocabulary, "the model's vocab_size is");
  if (r.data.window > positions)
    fail_usage("data.window {} is above n_positions {} of the model", r.data.window, positions);
  return std::make_shared<NextTokenData>(r, read_text(r.data.text, *ids));
}

}  // namespace sten
