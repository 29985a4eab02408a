#include "libsten/base/error.h"
#include "libsten/base/hash.h"
#include "libsten/base/text.h"
#include "libsten/data/examples.h"
#include "libsten/data/masked_text.h"
#include "libsten/nn/bert.h"
#include "libsten/train/data.h"

namespace sten {
namespace {

// Of masks that are measured on: those of every recipe, whatever its seed.
constexpr std::uint64_t measured_seed = 1;

BatchPart part_of(const MaskedBatch& b) {
  NamedValues<Tensor> in = bert_inputs(b.ids);
  in.emplace("selected", b.places);
  in.emplace("labels", b.wanted);
  return {std::move(in), b.wanted.size()};
}

class TextData final : public TaskData {
 public:
  TextData(const Recipe& r, const Array<TokenId>& text, const Vocabulary& vocabulary)
      : accumulate_(r.accumulate), content_(hash_bytes(0, text.bytes())) {
    MaskedTextOptions o{r.data.window,    r.batch / r.accumulate, r.seed,       true,
                        r.data.predicted, r.data.masked,          r.data.random};
    const Index n = static_cast<Index>(text.size());
    const Shares shares = shares_of(n, r.data.train, r.data.validation);
    const Index ends[] = {0, shares.train, shares.train + shares.validation, n};
    train_.emplace(text, ends[0], ends[1], vocabulary, o);
    o.draw = false;
    o.seed = measured_seed;
    o.batch = r.evaluation.batch;
    for (int s = 0; s < 3; ++s)
      if (ends[s + 1] - ends[s] >= o.window)
        measured_[s].emplace(text, ends[s], ends[s + 1], vocabulary, o);
  }

  Index steps_per_epoch() const override {
    return std::max<Index>(1, train_->per_epoch() / accumulate_);
  }

  std::vector<BatchPart> batch(Index step) const override {
    std::vector<BatchPart> parts;
    for (Index k = 0; k < accumulate_; ++k) {
      const MaskedBatch b = train_->at(step * accumulate_ + k);
      if (b.wanted.size() > 0) parts.push_back(part_of(b));
    }
    return parts;
  }

  Index parts(DataSplit s) const override {
    const auto& text = measured_[static_cast<std::size_t>(s)];
    return text ? text->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    return part_of(measured_[static_cast<std::size_t>(s)]->at(i));
  }
  std::uint64_t content() const override { return content_; }

 private:
  Index accumulate_;
  std::uint64_t content_;
  std::optional<MaskedText> train_, measured_[3];
};

}  // namespace

std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions) {
  const Vocabulary ids = Vocabulary::read(r.data.vocabulary);
  if (ids.size() > vocabulary)
    fail("{}: has ids up to {}, and the model's vocab_size is {}", printable(r.data.vocabulary),
         ids.size() - 1, vocabulary);
  if (r.data.window > positions)
    fail_usage("data.window is {}, and the model's max_position_embeddings {}", r.data.window,
               positions);
  return std::make_shared<TextData>(r, read_text(r.data.text, ids), ids);
}

}  // namespace sten
