// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/rank_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "libsten/compute/calibrate/chooser.h"
#include "libsten/compute/calibrate/scores.h"
#include "libsten/core/base/floats.h"

namespace sten::calibrate {
namespace {

template <class T>
WeightRow<T> rows_in(const Dense& w, Index cols) {
  if (w.dtype() == dtype_of<T>)
    return [values = w.values.as<T>().data(), cols](Index r, std::vector<T>&) {
      return values + r * cols;
    };
  return [&w, cols](Index r, std::vector<T>& buffer) -> const T* {
    buffer.resize(static_cast<std::size_t>(cols));
    with_float(w.dtype(), [&]<class E>(E) {
      const auto* bits = w.values.as<typename E::Bits>().data() + r * cols;
      for (Index c = 0; c < cols; ++c) buffer[c] = static_cast<T>(E::decode(bits[c]));
    });
    return buffer.data();
  };
}

// Prunes the smallest ranks of a row: by a histogram of the ranks' leading bits, which have the
// order of the ranks, and within the boundary bin by comparison.
template <class T>
class RowChoice {
 public:
  explicit RowChoice(Index removed) : removed_(removed), counts_(bins) {}

  // Sets the bits of kept elements from bit `at` on. Among equal ranks, later elements are pruned
  // first.
  void choose(const std::vector<T>& ranks, std::uint8_t* bits, Index at) {
    std::ranges::fill(counts_, 0);
    for (const T rank : ranks) ++counts_[bin_of(rank)];
    std::uint32_t bin = 0;
    Index before = 0;
    while (before + counts_[bin] <= removed_ && bin + 1 < bins) before += counts_[bin++];
    const Index n = std::ssize(ranks);
    Index i = 0;
    for (; i + 8 <= n && at % 8 == 0; i += 8) {
      std::uint32_t byte = 0;
      for (Index k = 0; k < 8; ++k)
        byte |= static_cast<std::uint32_t>(bin_of(ranks[i + k]) > bin) << k;
      bits[(at + i) / 8] = static_cast<std::uint8_t>(byte);
    }
    for (; i < n; ++i)
      if (bin_of(ranks[i]) > bin) set_bit(bits, at + i);
    shared_.clear();
    for (i = 0; i < n; ++i)
      if (bin_of(ranks[i]) == bin) shared_.emplace_back(ranks[i], -i);
    const auto first = shared_.begin() + (removed_ - before);
    if (removed_ > before && first != shared_.end())
      std::nth_element(shared_.begin(), first, shared_.end());
    for (auto s = first; s != shared_.end(); ++s) set_bit(bits, at - s->second);
  }

 private:
  // The bin of a rank >= 0: its exponent and three bits of the mantissa.
  static constexpr bool is_double = std::is_same_v<T, double>;
  static constexpr std::uint32_t bins = 1 << (is_double ? 15 : 12);
  static std::uint32_t bin_of(T rank) {
    using Bits = std::conditional_t<is_double, std::uint64_t, std::uint32_t>;
    return static_cast<std::uint32_t>(std::bit_cast<Bits>(rank) >> (is_double ? 49 : 20));
  }

  Index removed_;
  std::vector<Index> counts_;
  std::vector<std::pair<T, Index>> shared_;
};

template <class T>
Mask choose_in_rows(const Shape& shape, Index rows, const WeightRow<T>& weights,
                    const Ranks<T>& ranks, double sparsity) {
  const Index cols = size_of(shape) / rows;
  const Index removed = std::llround(sparsity * static_cast<double>(cols));
  Mask mask = Mask::none(shape);
  std::uint8_t* bits = mask.bits.mutate();
  // Blocks of rows share no byte of the mask.
  for_row_blocks(rows, [&](Index begin, Index end) {
    std::vector<T> buffer, rank(static_cast<std::size_t>(cols));
    RowChoice<T> choice(removed);
    for (Index r = begin; r < end; ++r) {
      ranks.of_row(r, weights(r, buffer), rank.data());
      choice.choose(rank, bits, r * cols);
    }
  });
  return mask;
}

template <class T>
Mask choose(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o) {
  const Index rows = w.extents.empty() ? 1 : w.extents[0];
  if (w.size() == 0) return Mask::none(w.extents);
  const Index cols = w.size() / rows;
  const Chooser chooser(o);
  const WeightRow<T> weights = rows_in<T>(w, cols);
  const Ranks<T> ranks(o.method, rows, cols, o.transposed, weights, inputs);
  if (o.by_row) return choose_in_rows(w.extents, rows, weights, ranks, chooser.row_sparsity());
  Dense all{{rows, cols}, Values::uninitialized(dtype_of<T>, rows * cols)};
  T* to = all.values.mutate<T>().data();
  for_row_blocks(rows, [&](Index begin, Index end) {
    std::vector<T> buffer;
    for (Index r = begin; r < end; ++r) ranks.of_row(r, weights(r, buffer), to + r * cols);
  });
  return {w.extents, chooser.choose(all).bits};
}

}  // namespace

Mask choose_by_rank(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o) {
  return w.dtype() == DType::F64 ? choose<double>(w, inputs, o) : choose<float>(w, inputs, o);
}

}  // namespace sten::calibrate
