// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/masked_text.h"

#include <algorithm>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"

namespace sten {
namespace {

constexpr std::int64_t ignored = -100;  // default ignore_index of cross_entropy()

// In [0, n).
Index index_below(std::uint64_t seed, std::uint64_t i, Index n) {
  return static_cast<Index>(random_uniform(seed, i) * static_cast<double>(n));
}

void check_share(const char* name, double share) {
  if (!(share >= 0 && share <= 1))
    fail_usage("masked text: {} must be in [0, 1], got {}", name, share);
}

Dense integers(Shape shape, const std::vector<std::int64_t>& v) {
  Dense x{std::move(shape), Values::uninitialized(DType::I64, std::ssize(v))};
  std::copy(v.begin(), v.end(), x.values.mutate<std::int64_t>().begin());
  return x;
}

}  // namespace

MaskedText::MaskedText(Array<TokenId> text, Index begin, Index end, const Tokenizer& tokenizer,
                       const MaskedTextOptions& options)
    : text_(std::move(text)),
      begin_(begin),
      end_(end),
      options_(options),
      mask_(tokenizer.need(tokenizer.special_ids().mask, "[MASK]")),
      ordinary_(tokenizer.ordinary()),
      start_seed_(seed_for(options.seed, "starts")),
      mask_seed_(seed_for(options.seed, "masks")) {
  if (begin < 0 || end < begin || end > static_cast<Index>(text_.size()))
    fail_usage("masked text: the range [{}, {}) is not within {} tokens", begin, end, text_.size());
  const TokenId text_here = -1;
  const std::vector<TokenId> around =
      tokenizer.sequence(std::span(&text_here, 1), nullptr, max_token_id).ids;
  const auto at = std::ranges::find(around, text_here);
  before_.assign(around.begin(), at);
  after_.assign(at + 1, around.end());
  if (length() < 1 || options.batch < 1)
    fail_usage("masked text: expected batch >= 1 and window >= {}, got {} and {}",
               before_.size() + after_.size() + 1, options.batch, options.window);
  if (end - begin < length())
    fail_usage("masked text: {} tokens are too few for a window of {}", end - begin, length());
  check_share("predicted", options.predicted);
  check_share("masked", options.masked);
  check_share("random", options.random);
  if (options.masked + options.random > 1 + 1e-9)
    fail_usage("masked text: masked {} and random {} must have a sum <= 1", options.masked,
               options.random);
}

Index MaskedText::per_epoch() const {
  if (options_.draw) return std::max<Index>(1, windows() / options_.batch);
  return ceil_div(windows(), options_.batch);
}

Index MaskedText::start_of(Index sequence) const {
  if (!options_.draw) return begin_ + sequence * length();
  return begin_ + index_below(start_seed_, static_cast<std::uint64_t>(sequence),
                              end_ - begin_ - length() + 1);
}

MaskedBatch MaskedText::at(Index i) const {
  if (i < 0 || (!options_.draw && i >= per_epoch()))
    fail_usage("masked text: batch {} is out of range: an epoch has {} batches", i, per_epoch());
  const Index first = i * options_.batch, window = options_.window;
  const Index head = std::ssize(before_), text = length();
  const Index rows = options_.draw ? options_.batch : std::min(options_.batch, windows() - first);
  const Shape shape{rows, window};
  std::vector<std::int64_t> ids(static_cast<std::size_t>(size_of(shape)));
  std::vector<std::int64_t> targets(ids.size(), ignored);
  std::vector<std::int64_t> masked_positions, wanted;
  for (Index r = 0; r < rows; ++r) {
    const TokenId* from = text_.data() + start_of(first + r);
    const std::uint64_t seed = random_bits(mask_seed_, static_cast<std::uint64_t>(first + r));
    std::ranges::copy(before_, ids.begin() + r * window);
    std::ranges::copy(after_, ids.begin() + r * window + head + text);
    for (Index t = 0; t < text; ++t) {
      const Index at = r * window + head + t;
      const auto number = 3 * static_cast<std::uint64_t>(t);
      ids[at] = from[t];
      if (random_uniform(seed, number) >= options_.predicted) continue;
      targets[at] = from[t];
      masked_positions.push_back(at);
      wanted.push_back(from[t]);
      const double how = random_uniform(seed, number + 1);
      if (how < options_.masked)
        ids[at] = mask_;
      else if (how < options_.masked + options_.random)
        ids[at] = ordinary_[index_below(seed, number + 2, std::ssize(ordinary_))];
    }
  }
  const Index n = std::ssize(masked_positions);
  return {integers(shape, ids), integers({rows * window}, targets), integers({n}, masked_positions),
          integers({n}, wanted)};
}

}  // namespace sten
