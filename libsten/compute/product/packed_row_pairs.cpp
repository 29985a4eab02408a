// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <vector>

#include "libsten/compute/product/packed_strips.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

using kernels::CsrRowPair;

// Entries of a row in a slab.
struct ColumnRun {
  Index row;  // in the band
  const std::int32_t *begin, *end;
  const float* values;
};

struct SharedColumns {
  ColumnRun of[2];  // the first has at least as many entries
  Index both;       // shared columns

  Index size(int i) const { return of[i].end - of[i].begin; }
  Index each() const { return size(1) - both; }
  Index rest() const { return size(0) - size(1); }
  Index strips() const { return size(0) + size(1) - both; }
  Index values() const { return size(0) + size(1); }
};

// Neighbouring pairs should take the same branches, since predictors forget earlier pairs: with
// irregular counts, mispredictions cost more than shared columns save. So rows of a pair have about
// equal length and share a multiple of `both_unit` columns.
constexpr Index pair_band = 128, most_longer = 1, both_unit = 4;

// Pairs the rows of a band in a slab; memory is reused.
class RowPairing {
 public:
  // Greedy: of the remaining rows, the two that share the most columns.
  const std::vector<SharedColumns>& of(const std::vector<ColumnRun>& pieces, Index slab,
                                       Index cols) {
    const auto size = [&](Index p) { return pieces[p].end - pieces[p].begin; };
    order_.clear();
    for (Index p = 0; p < std::ssize(pieces); ++p)
      if (size(p) > 0) order_.push_back(p);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index p, Index q) { return size(p) > size(q); });
    find_candidates(pieces, slab, cols);
    row_pairs_.clear();
    const auto add = [&](Index p, Index q, Index both) {
      row_pairs_.push_back({{pieces[p], pieces[q]}, both});
    };
    taken_.assign(pieces.size(), false);
    for (const Candidate& c : sorted_) {
      if (taken_[c.p] || taken_[c.q]) continue;
      taken_[c.p] = taken_[c.q] = true;
      add(c.p, c.q, c.both / both_unit * both_unit);
    }
    Index alone = -1;
    for (const Index p : order_) {
      if (taken_[p]) continue;
      if (alone >= 0) add(alone, p, 0);
      alone = alone >= 0 ? -1 : p;
    }
    if (alone >= 0) {  // with any row of the band or its padding; adds nothing to it
      const ColumnRun& p = pieces[alone];
      const Index other = alone + 1 < pair_band ? alone + 1 : alone - 1;
      row_pairs_.push_back({{p, {other, p.end, p.end, p.values}}, 0});
    }
    std::stable_sort(
        row_pairs_.begin(), row_pairs_.end(), [](const SharedColumns& p, const SharedColumns& q) {
          return std::tuple(p.both, p.each(), p.rest()) < std::tuple(q.both, q.each(), q.rest());
        });
    return row_pairs_;
  }

 private:
  struct Candidate {
    Index p, q, both;
  };

  void find_candidates(const std::vector<ColumnRun>& pieces, Index slab, Index cols) {
    const Index words = ceil_div(cols, 64);
    bits_.assign(std::ssize(pieces) * words, 0);
    for (const Index p : order_)
      for (const std::int32_t* c = pieces[p].begin; c < pieces[p].end; ++c)
        bits_[p * words + (*c - slab) / 64] |= std::uint64_t{1} << (*c - slab) % 64;
    candidates_.clear();
    const auto size = [&](Index p) { return pieces[p].end - pieces[p].begin; };
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Index p = order_[i];
      for (std::size_t j = i + 1; j < order_.size() && size(p) - size(order_[j]) <= most_longer;
           ++j) {
        const Index q = order_[j];
        Index both = 0;
        for (Index w = 0; w < words; ++w)
          both += std::popcount(bits_[p * words + w] & bits_[q * words + w]);
        candidates_.push_back({p, q, both});
      }
    }
    // A counting sort by shared columns, most first: there are at most cols + 1 counts.
    starts_.assign(cols + 2, 0);
    for (const Candidate& c : candidates_) ++starts_[cols - c.both + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    sorted_.resize(candidates_.size());
    for (const Candidate& c : candidates_) sorted_[starts_[cols - c.both]++] = c;
  }

  std::vector<std::uint64_t> bits_;  // [pieces, words]
  std::vector<Index> order_;         // rows, longest first
  std::vector<bool> taken_;
  std::vector<Candidate> candidates_, sorted_;
  std::vector<Index> starts_;  // [cols + 2]
  std::vector<SharedColumns> row_pairs_;
};

void append(const SharedColumns& pair, Index slab, std::vector<CsrRowPair>& runs,
            std::vector<std::uint16_t>& all_columns, std::vector<float>& all_values) {
  const auto number = [](Index i) { return static_cast<std::uint16_t>(i); };
  runs.push_back({{number(pair.of[0].row), number(pair.of[1].row)},
                  number(pair.both),
                  number(pair.each()),
                  number(pair.rest())});
  all_columns.resize(all_columns.size() + pair.strips());
  all_values.resize(all_values.size() + pair.values());
  std::uint16_t* const columns = all_columns.data() + all_columns.size() - pair.strips();
  float* const values = all_values.data() + all_values.size() - pair.values();
  const auto column = [&](std::int32_t c) { return number(c - slab); };
  const ColumnRun &p = pair.of[0], &q = pair.of[1];
  // Where entries of only one of the rows go.
  std::uint16_t* const alone_columns = columns + pair.both;
  float* const alone_values = values + 2 * pair.both;
  const auto alone = [&](Index i, Index entry, const ColumnRun& of) {
    const Index to = i < 2 * pair.each() ? i : 2 * pair.each() + (i - 2 * pair.each()) / 2;
    alone_columns[to] = column(of.begin[entry]);
    alone_values[to] = of.values[entry];
  };
  Index i = 0, j = 0, of_p = 0, of_q = 0, at = 0;
  while (i < pair.size(0) || j < pair.size(1)) {
    const bool has_p = j == pair.size(1) || (i < pair.size(0) && p.begin[i] <= q.begin[j]);
    const bool has_q = i == pair.size(0) || (j < pair.size(1) && q.begin[j] <= p.begin[i]);
    if (has_p && has_q && at < pair.both) {
      columns[at] = column(p.begin[i]);
      values[2 * at] = p.values[i++];
      values[2 * at++ + 1] = q.values[j++];
      continue;
    }
    if (has_p) alone(2 * of_p++, i++, p);
    if (has_q) alone(2 * of_q++ + 1, j++, q);
  }
}

}  // namespace

PackedRowPairs pack_row_pairs(const CsrEntries& a) {
  PackedRowPairs out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.band_rows = pair_band;
  out.slabs = slabs_of(a.cols, a.rows, a.rows ? a.ptr[a.rows] - a.ptr[0] : 0, 1);
  const Index slabs = out.slab_count(), bands = out.band_count();
  // The slabs of a band.
  struct Band {
    std::vector<CsrRowPair> runs;
    std::vector<std::uint16_t> columns;
    std::vector<float> values;
    std::vector<PackedRowPairs::StripLocation> ends;  // end of each slab
  };
  std::vector<Band> of_band(bands);
  parallel_for(bands, 1, [&](Index begin, Index end) {
    RowPairing pairing;
    std::vector<ColumnRun> pieces;
    for (Index b = begin; b < end; ++b) {
      pieces.clear();
      const Index row0 = b * pair_band, row1 = std::min(a.rows, row0 + pair_band);
      for (Index r = row0; r < row1; ++r) {
        const std::int32_t* at = a.index + a.ptr[r];
        pieces.push_back({r - row0, at, at, a.values + a.ptr[r]});
      }
      Band& band = of_band[b];
      band.values.reserve(a.ptr[row1] - a.ptr[row0]);
      band.columns.reserve(a.ptr[row1] - a.ptr[row0]);
      for (Index s = 0; s < slabs; ++s) {
        for (ColumnRun& p : pieces) {
          p.values += p.end - p.begin;
          p.begin = p.end;
          p.end = std::lower_bound(p.begin, a.index + a.ptr[row0 + p.row + 1], out.slabs[s + 1]);
        }
        for (const SharedColumns& pair : pairing.of(pieces, out.slabs[s], out.slab_rows(s)))
          append(pair, out.slabs[s], band.runs, band.columns, band.values);
        band.ends.push_back(
            {std::ssize(band.runs), std::ssize(band.columns), std::ssize(band.values)});
      }
    }
  });
  PackedRowPairs::StripLocation all{0, 0, 0};
  // Calls f(band, start of its slab, end) for the slabs of all bands in storage order.
  const auto each_part = [&](auto&& f) {
    for (Index s = 0; s < slabs; ++s)
      for (const Band& band : of_band)
        f(band, s ? band.ends[s - 1] : PackedRowPairs::StripLocation{0, 0, 0}, band.ends[s]);
  };
  each_part([&](const Band&, const PackedRowPairs::StripLocation& begin,
                const PackedRowPairs::StripLocation& end) {
    out.first.push_back(all);
    all = {all.run + end.run - begin.run, all.strip + end.strip - begin.strip,
           all.value + end.value - begin.value};
  });
  out.first.push_back(all);
  out.runs = Array<CsrRowPair>::uninitialized(all.run);
  out.columns = Array<std::uint16_t>::uninitialized(all.strip);
  out.values = Array<float>::uninitialized(all.value);
  CsrRowPair* runs = out.runs.mutate();
  std::uint16_t* columns = out.columns.mutate();
  float* values = out.values.mutate();
  each_part([&](const Band& band, const PackedRowPairs::StripLocation& begin,
                const PackedRowPairs::StripLocation& end) {
    const auto copy = [](const auto& from, Index first, Index last, auto*& to) {
      to = std::copy(from.begin() + first, from.begin() + last, to);
    };
    copy(band.runs, begin.run, end.run, runs);
    copy(band.columns, begin.strip, end.strip, columns);
    copy(band.values, begin.value, end.value, values);
  });
  return out;
}

}  // namespace sten
