// SPDX-License-Identifier: Apache-2.0
// The fit of sparse tensors without their dense form.
#include <algorithm>

#include "libsten/core/layout/nmg_matching.h"
#include "libsten/core/layout/nmg_slots.h"
#include "libsten/core/sparsify/nmg_fit.h"

namespace sten {
namespace {

// State of a thread, which fits chunks from their stored elements; all others are 0.
template <class E>
class StoredChunk {
 public:
  using Bits = typename E::Bits;

  StoredChunk(const NmgFit& fit, const PatternTable& table)
      : geo_(NmgGeometry::of({fit.m, table.count() * fit.g}, fit.n, fit.m, fit.g, 0, {})),
        table_(table),
        unit_(geo_, 0),
        fit_(geo_, table, fit.method),
        values_(fit.m * geo_.strips),
        is_stored_(values_.size()),
        matcher_(table, fit.g),
        kept_(geo_) {}

  void begin(const NmgUnit& next_operator) {
    unit_.rows = next_operator.rows;
    unit_.cols = next_operator.cols;
    std::fill(values_.begin(), values_.end(), Bits{0});
    std::fill(is_stored_.begin(), is_stored_.end(), std::uint8_t{0});
  }
  void put(Index row, Index strip, Bits v) {
    if (row >= unit_.rows || strip >= unit_.cols) return;  // padding
    values_[row * geo_.strips + strip] = v;
    is_stored_[row * geo_.strips + strip] = 1;
  }
  // The pattern of each strip; valid until the next begin().
  std::span<const std::uint16_t> patterns() { return fit_.fit(values_.data(), unit_); }

  // Writes the elements that are stored and selected, as n:m:g. values: [C, g, n], index: [C, g].
  template <class I>
  void write(Bits* values, I* index) {
    const std::span<const std::uint16_t> pattern_of = patterns();
    kept_.clear();
    for (Index s = 0; s < unit_.cols; ++s)
      for (const std::uint16_t r : table_[pattern_of[s]])
        if (r < unit_.rows && is_stored_[r * geo_.strips + s]) kept_.keep(s, r);
    matcher_.match(kept_);  // a matching exists: that of the fit
    write_matched(geo_, unit_, table_, kept_, matcher_, values_.data(), values, index);
  }

 private:
  const NmgGeometry geo_;  // of the chunk only
  const PatternTable& table_;
  NmgUnit unit_;
  NmgChunkFit<E> fit_;
  std::vector<Bits> values_;             // [m, strips]
  std::vector<std::uint8_t> is_stored_;  // [m, strips]
  ChunkMatcher matcher_;
  ChunkPositions kept_;
};

}  // namespace

Nmg NmgFit::fit_again(const Nmg& x) const {
  sparsify_detail::check_prunable(x.values.dtype());
  const NmgGeometry geo = x.geometry();
  check_nmg_chunk(geo, x.extents);
  Nmg out = Nmg::unwritten(x.values.dtype(), x.extents, n, m, g, axis, dims);
  const auto table = PatternTable::get(n, m);
  const bool narrow = out.index.width() == 1;
  std::uint8_t* index8 = narrow ? out.index.mutate<std::uint8_t>().data() : nullptr;
  std::uint16_t* index16 = narrow ? nullptr : out.index.mutate<std::uint16_t>().data();
  with_float(x.values.dtype(), [&]<class E>(E) {
    using U = typename E::Bits;
    const U* from = x.values.as<U>().data();
    U* to = out.values.mutate<U>().data();
    Pool<StoredChunk<E>> chunks;
    const Index grain = std::max<Index>(1, mask_grain / (geo.strips * geo.m));
    parallel_for(geo.units(), grain, [&](Index begin, Index end) {
      const auto make = [&] { return std::make_unique<StoredChunk<E>>(*this, *table); };
      chunks.with(make, [&](StoredChunk<E>& chunk) {
        for (Index u = begin; u < end; ++u) {
          chunk.begin(NmgUnit(geo, u));
          const Index first = u * geo.strips;
          for (Index slot = first; slot < first + geo.strips; ++slot) {
            const auto rows = (*table)[(slot - first) / g];
            for (Index i = 0; i < n; ++i)
              chunk.put(rows[i], strip_at(x.index, slot), from[slot * n + i]);
          }
          if (narrow)
            chunk.write(to + first * n, index8 + first);
          else
            chunk.write(to + first * n, index16 + first);
        }
      });
    });
  });
  return out;
}

Mask NmgFit::select_stored(const Entries& x, const Hints&) const {
  const NmgGeometry geo = NmgGeometry::of(x.extents, n, m, g, axis, dims);
  check_nmg_chunk(geo, x.extents);
  const auto table = PatternTable::get(n, m);
  struct StoredPosition {
    Index unit, row, strip, entry;
  };
  std::vector<StoredPosition> positions(x.at.size());
  for (Index k = 0; k < x.size(); ++k) {
    const auto [line, col] = geo.view.place(x.at[k]);
    const Index batch = line / geo.view.rows, row = line % geo.view.rows;
    positions[k] = {(batch * geo.row_blocks + row / m) * geo.chunks + col / geo.strips, row % m,
                    col % geo.strips, k};
  }
  const auto before = [](const StoredPosition& a, const StoredPosition& b) {
    return a.unit < b.unit;
  };
  std::sort(positions.begin(), positions.end(), before);
  std::vector<Index> first;  // first entry of each unit with entries, and the end
  for (Index k = 0; k < x.size(); ++k)
    if (k == 0 || before(positions[k - 1], positions[k])) first.push_back(k);
  const Index units = std::ssize(first);
  first.push_back(x.size());
  Mask mask = Mask::none({x.size()});
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.values.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    Pool<StoredChunk<E>> chunks;
    const Index grain = std::max<Index>(1, mask_grain / (geo.strips * geo.m));
    parallel_for(units, grain, [&](Index begin, Index end) {
      const auto make = [&] { return std::make_unique<StoredChunk<E>>(*this, *table); };
      chunks.with(make, [&](StoredChunk<E>& chunk) {
        for (Index u = begin; u < end; ++u) {
          const std::span<const StoredPosition> own(positions.data() + first[u],
                                                    positions.data() + first[u + 1]);
          chunk.begin(NmgUnit(geo, own[0].unit));
          for (const StoredPosition& p : own) chunk.put(p.row, p.strip, v[p.entry]);
          const std::span<const std::uint16_t> pattern_of = chunk.patterns();
          for (const StoredPosition& p : own)
            if (std::ranges::binary_search((*table)[pattern_of[p.strip]],
                                           static_cast<std::uint16_t>(p.row)))
              set_bit_shared(bits, p.entry);
        }
      });
    });
  });
  return mask;
}

}  // namespace sten
