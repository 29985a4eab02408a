#include <doctest/doctest.h>

#include <cstdlib>

#include "kernels/nmg_fit.h"
#include "kernels/reference/nmg_fit.h"
#include "libsten/layout/nmg_patterns.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::NmgFormat;
using kernels::NmgStrips;

namespace {

using Patterns = std::vector<std::uint16_t>;

// f(table) for every ISA of this machine, the reference first.
template <class F>
void each_fit(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::NmgFitTable* table = kernels::nmg_fit_for(isa);
    if (table == nullptr) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    f(*table);
  }
}

// A chunk of `rows` x `cols` values, the rest of it padding.
template <class T>
struct Chunk {
  std::shared_ptr<const PatternTable> table;
  Index g, rows, cols;
  std::vector<T> x;

  Chunk(Index n, Index m, Index group)
      : table(PatternTable::get(n, m)), g(group), rows(m), cols(strips()), x(rows * cols) {}
  NmgFormat format() const { return table->format(g); }
  Index strips() const { return table->count() * g; }

  double magnitude(Index r, Index s) const {
    if (r >= rows || s >= cols) return 0;
    const double v = std::abs(static_cast<double>(x[r * cols + s]));
    return std::isnan(v) ? INFINITY : v;
  }
  double score(Index s, Index p) const {
    double sum = 0;
    for (const std::uint16_t r : (*table)[p]) sum += magnitude(r, s);
    return sum;
  }
  double greatest() const {
    double top = 0;
    for (Index s = 0; s < cols; ++s)
      for (Index r = 0; r < rows; ++r) top = std::max(top, magnitude(r, s));
    return top;
  }
  // The greatest of all that are not 0, to the least.
  double spread() const {
    double least = INFINITY;
    for (const T v : x)
      if (v != 0) least = std::min(least, std::abs(static_cast<double>(v)));
    return greatest() / least;
  }
  double kept(const Patterns& of) const {
    double sum = 0;
    for (Index s = 0; s < strips(); ++s) sum += score(s, of[s]);
    return sum;
  }
};

// From values at the end of a page, with the scratch that is asked for and no more.
template <class T>
Patterns fitted(const kernels::NmgFitTable& table, const Chunk<T>& chunk) {
  const NmgFormat format = chunk.format();
  Fenced<std::byte> scratch((table.scratch(format, chunk.rows, chunk.cols) + 63) / 64 * 64);
  Fenced<T> x(chunk.x);
  Fenced<std::uint16_t> of(chunk.strips());
  const NmgStrips<T> in{x.data(), chunk.cols, chunk.rows, chunk.cols};
  if constexpr (sizeof(T) == 4)
    table.exact_f32(format, in, scratch.data(), of.data());
  else
    table.exact_f64(format, in, scratch.data(), of.data());
  return of.values();
}

template <class T>
bool uses_each_pattern_g_times(const Chunk<T>& chunk, const Patterns& of) {
  std::vector<Index> count(chunk.table->count());
  for (const std::uint16_t p : of)
    if (p >= std::ssize(count) || ++count[p] > chunk.g) return false;
  return true;
}

// Whether no exchange of strips in a ring keeps more: the certificate of an optimum. In double; an
// exchange may gain what rounding explains, `noise`.
template <class T>
bool no_ring_gains(const Chunk<T>& chunk, const Patterns& of, double noise) {
  const Index count = chunk.table->count();
  std::vector<double> loss(count * count, INFINITY), score(count);
  for (Index s = 0; s < chunk.strips(); ++s) {
    for (Index p = 0; p < count; ++p) score[p] = chunk.score(s, p);
    for (Index p = 0; p < count; ++p) {
      double& least = loss[of[s] * count + p];
      least = std::min(least, score[of[s]] - score[p]);
    }
  }
  // Bellman and Ford from everywhere at once: distances stop to fall if there is no such ring.
  std::vector<double> distance(count, 0);
  for (Index round = 0; round <= count; ++round) {
    bool fell = false;
    for (Index p = 0; p < count; ++p)
      for (Index q = 0; q < count; ++q)
        if (distance[p] + loss[p * count + q] < distance[q] - noise) {
          distance[q] = distance[p] + loss[p * count + q];
          fell = true;
        }
    if (!fell) return true;
  }
  return false;
}

// The most that any assignment keeps, by trying all of them.
template <class T>
double best_kept(const Chunk<T>& chunk, std::vector<Index>& room, Index s = 0) {
  if (s == chunk.strips()) return 0;
  double best = -1;
  for (Index p = 0; p < chunk.table->count(); ++p) {
    if (room[p] == 0) continue;
    --room[p];
    best = std::max(best, chunk.score(s, p) + best_kept(chunk, room, s + 1));
    ++room[p];
  }
  return best;
}

enum class Kind { normal, ties, zeros, sparse, rows, wide, ordered, kinds };

template <class T>
void fill(Dice& dice, Chunk<T>& chunk, Kind kind) {
  std::vector<double> scale(chunk.rows, 1.0);
  if (kind == Kind::rows)
    for (double& v : scale) v = std::exp(2 * dice.normal());
  for (Index r = 0; r < chunk.rows; ++r)
    for (Index s = 0; s < chunk.cols; ++s) {
      double v = scale[r] * dice.normal();
      if (kind == Kind::ties) v = std::round(v);
      if (kind == Kind::zeros) v = 0;
      if (kind == Kind::sparse && dice.below(6)) v = 0;
      if (kind == Kind::wide) v = std::ldexp(v, static_cast<int>(dice.below(40)) - 20);
      if (kind == Kind::ordered) v = static_cast<double>(r + s);
      chunk.x[r * chunk.cols + s] = static_cast<T>(v);
    }
}

struct Format {
  Index n, m, g;
};

const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      {1, 1, 3},  {2, 2, 5},   {1, 2, 1},  {1, 2, 16}, {1, 2, 100}, {1, 3, 4},  {2, 3, 1},
      {2, 3, 16}, {1, 4, 1},   {1, 4, 4},  {1, 4, 16}, {3, 4, 7},   {2, 4, 1},  {2, 4, 2},
      {2, 4, 4},  {2, 4, 16},  {1, 5, 3},  {2, 5, 4},  {3, 5, 2},   {4, 5, 8},  {1, 6, 2},
      {3, 6, 1},  {3, 6, 4},   {2, 6, 5},  {1, 8, 2},  {1, 8, 8},   {7, 8, 3},  {2, 8, 2},
      {3, 8, 1},  {4, 8, 1},   {6, 8, 1},  {1, 10, 1}, {1, 10, 3},  {1, 10, 4}, {2, 10, 1},
      {1, 16, 2}, {15, 16, 1}, {1, 17, 3}, {1, 20, 4}, {1, 33, 1},  {1, 64, 1}, {2, 12, 1}};
  return all;
}

// As many as the environment asks for, in all.
Index chunks_to_try(Index few) {
  const char* asked = std::getenv("STEN_FIT_CHUNKS");
  return asked ? std::atoll(asked) : few;
}

}  // namespace

TEST_CASE("the worked case keeps 47 of 62, the most that is possible") {
  Chunk<float> chunk(2, 4, 1);
  chunk.x = {1, -2, 3, 0, 5, -6, 4, 1, -1, 2, 0, 2, -3, 5, 2, 7, -1, 1, 2, 0, 6, -1, 4, 3};
  each_fit([&](const kernels::NmgFitTable& table) {
    const Patterns of = fitted(table, chunk);
    CHECK(uses_each_pattern_g_times(chunk, of));
    CHECK(chunk.kept(of) == 47);
  });
}

TEST_CASE("the certificate sees that a greedy fit is not the best") {
  Dice dice(3);
  Chunk<float> chunk(2, 4, 4);
  fill(dice, chunk, Kind::normal);
  const Index strips = chunk.strips();
  std::vector<float> x(chunk.x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::abs(chunk.x[i]);
  const kernels::NmgChunk<float> c{x.data(), chunk.table->data(), 2, 4, 6, 4};
  std::vector<kernels::NmgPair<float>> pairs(6 * strips);
  std::vector<std::int32_t> fill(6), of(strips);
  kernels::nmg_fit_greedy(c, pairs.data(), fill.data(), of.data());
  CHECK(!no_ring_gains(chunk, Patterns(of.begin(), of.end()), chunk.greatest() * 0x1p-22));
}

TEST_CASE("no exchange of strips keeps more than the exact fit, and every ISA finds the same one") {
  Dice dice(1);
  const Index rounds = chunks_to_try(500);
  for (Index round = 0; round < rounds; ++round) {
    const Format& f = formats()[round % std::ssize(formats())];
    const auto kind = static_cast<Kind>(dice.below(static_cast<Index>(Kind::kinds)));
    Chunk<float> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {  // padding
      chunk.rows = 1 + dice.below(f.m);
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    fill(dice, chunk, kind);
    const std::string where = fmt::format("round {}: {}:{}:{} {} x {}, kind {}", round, f.n, f.m,
                                          f.g, chunk.rows, chunk.cols, static_cast<int>(kind));
    std::optional<Patterns> reference;
    each_fit([&](const kernels::NmgFitTable& table) {
      const Patterns of = fitted(table, chunk);
      if (!reference) {
        reference = of;
        if (!uses_each_pattern_g_times(chunk, of)) FAIL_CHECK(where << ": not g of each");
        // Far apart, values are told apart in 64 bits.
        const double noise = kind == Kind::wide && chunk.spread() > 0x1p25 ? 0x1p-45 : 0x1p-22;
        if (!no_ring_gains(chunk, of, chunk.greatest() * noise)) FAIL_CHECK(where);
      }
      if (of != *reference) FAIL_CHECK(where << ": another fit");
    });
  }
}

TEST_CASE("the exact fit keeps what the best of all assignments keeps") {
  Dice dice(2);
  for (int round = 0; round < 300; ++round) {
    const Format f = dice.one_of<Format>({{1, 2, 1},
                                          {1, 2, 3},
                                          {1, 3, 2},
                                          {2, 3, 2},
                                          {1, 4, 1},
                                          {1, 4, 2},
                                          {2, 4, 1},
                                          {1, 6, 1},
                                          {3, 4, 1}});
    Chunk<double> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    fill(dice, chunk, static_cast<Kind>(dice.below(static_cast<Index>(Kind::kinds))));
    for (double& v : chunk.x) v = static_cast<float>(v);
    Chunk<float> narrow(f.n, f.m, f.g);
    narrow.cols = chunk.cols;
    narrow.x.assign(chunk.x.begin(), chunk.x.end());
    std::vector<Index> room(chunk.table->count(), f.g);
    const double best = best_kept(chunk, room);
    each_fit([&](const kernels::NmgFitTable& table) {
      CHECK(chunk.kept(fitted(table, chunk)) == doctest::Approx(best).epsilon(1e-14));
      CHECK(chunk.kept(fitted(table, narrow)) == doctest::Approx(best).epsilon(1e-8));
    });
  }
}
