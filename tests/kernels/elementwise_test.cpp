// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"
#include "kernels/families.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/kernels/fenced.h"

using namespace sten::kernels;
using namespace sten::testing;

namespace {

using Totals = std::vector<std::int64_t>;
using U32s = std::vector<std::uint32_t>;

template <class T>
std::int64_t size_of(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.size());
}

struct Histogram {
  Totals totals;
  std::int64_t below;

  bool operator==(const Histogram&) const = default;
};

template <class U>
Histogram histogram(const ElementwiseTable& table, const std::vector<U>& x, KeyBins<U> bins) {
  Fenced<U> in(x);
  U32s zeros(static_cast<std::size_t>(bins.count) * histogram_lanes, 0);
  Fenced<std::uint32_t> counts(zeros);
  Histogram h{Totals(bins.count), 0};
  h.below = table.of<U>().histogram(in.data(), size_of(x), bins, counts.data());
  drain_histogram(counts.data(), bins.count, h.totals.data());
  CHECK(counts.values() == zeros);
  return h;
}

template <class U>
struct Between {
  std::vector<U> keys;
  std::int64_t below, inside;

  bool operator==(const Between&) const = default;
};

template <class U>
Between<U> keys_between(const ElementwiseTable& table, const std::vector<U>& x, U first, U last,
                        std::int64_t room) {
  Fenced<U> in(x), keys(std::vector<U>(room, 0));
  const KeysBetween counts =
      table.of<U>().keys_between(in.data(), size_of(x), first, last, keys.data(), room);
  return {keys.values(), counts.below, counts.inside};
}

struct Kept {
  Bytes bits;
  std::int64_t equal;

  bool operator==(const Kept&) const = default;
};

template <class U>
Kept keep_above(const ElementwiseTable& table, const std::vector<U>& x, U boundary,
                std::int64_t ties) {
  Fenced<U> in(x);
  Fenced<std::uint8_t> bits((x.size() + 7) / 8);
  const std::int64_t equal =
      table.of<U>().keep_above(in.data(), size_of(x), boundary, ties, bits.data());
  return {bits.values(), equal};
}

template <class U>
Bytes nonzero_bits(const ElementwiseTable& table, const std::vector<U>& x) {
  Fenced<U> in(x);
  Fenced<std::uint8_t> bits((x.size() + 7) / 8);
  table.of<U>().nonzero_bits(in.data(), size_of(x), bits.data());
  return bits.values();
}

// The results of a table on keys. equals: counts for some keys.
template <class U>
struct Findings {
  std::vector<Histogram> histograms;
  std::vector<Between<U>> between;
  std::vector<std::int64_t> counts;
  std::vector<Kept> kept;
  Bytes nonzero;
};
template <class U>
Findings<U> findings(const ElementwiseTable& table, const std::vector<U>& x,
                     const std::vector<KeyBins<U>>& bins, const std::vector<U>& firsts, U last,
                     const std::vector<std::pair<U, std::int64_t>>& equals) {
  const std::int64_t n = size_of(x);
  Findings<U> f;
  for (const KeyBins<U>& b : bins) f.histograms.push_back(histogram(table, x, b));
  for (const U first : firsts)
    for (const std::int64_t room : {std::int64_t{0}, n / 8, n})
      f.between.push_back(keys_between(table, x, first, last, room));
  Fenced<U> in(x);
  f.counts.push_back(table.of<U>().count_nonzero(in.data(), n));
  for (const auto& [key, equal] : equals) {
    f.counts.push_back(table.of<U>().count_key(in.data(), n, key));
    for (const std::int64_t ties : {std::int64_t{0}, std::int64_t{1}, equal / 2, equal, n + 1})
      f.kept.push_back(keep_above(table, x, key, ties));
  }
  f.nonzero = nonzero_bits(table, x);
  return f;
}

template <class U>
std::vector<U> mask_values(const ElementwiseTable& table, const std::vector<U>& x,
                           const Bytes& mask) {
  Fenced<U> in(x), out(x.size());
  Fenced<std::uint8_t> bits(mask);
  table.of<U>().mask_values(in.data(), bits.data(), size_of(x), out.data());
  return out.values();
}

template <class U>
std::vector<U> mask_in_place(const ElementwiseTable& table, const std::vector<U>& x,
                             const Bytes& mask) {
  Fenced<U> out(x);
  Fenced<std::uint8_t> bits(mask);
  table.of<U>().mask_values(out.data(), bits.data(), size_of(x), out.data());
  return out.values();
}

// With room for exactly the kept elements.
template <class U>
std::vector<U> compress(const ElementwiseTable& table, const std::vector<U>& x, const Bytes& mask) {
  Fenced<U> in(x);
  Fenced<std::uint8_t> bits(mask);
  const std::int64_t count = table.count_bits(bits.data(), size_of(x));
  Fenced<U> out(static_cast<std::size_t>(count));
  CHECK(table.of<U>().compress(in.data(), bits.data(), size_of(x), out.data()) == count);
  return out.values();
}

template <class U>
std::vector<U> expand(const ElementwiseTable& table, const std::vector<U>& values,
                      const Bytes& mask, std::int64_t n) {
  Fenced<U> in(values), out(static_cast<std::size_t>(n));
  Fenced<std::uint8_t> bits(mask);
  CHECK(table.of<U>().expand(in.data(), bits.data(), n, out.data()) == size_of(values));
  return out.values();
}

}  // namespace

TEST_CASE("a histogram counts the keys of each bin and the keys below the first bin") {
  // Bins of two keys from 3 on: {3, 4}, {5, 6}. The keys 0, 1, 2, 1 are below; 7, 8, 9 are in no
  // bin.
  const std::vector<std::uint16_t> x{0, 1, 2, 3, 0x8004, 5, 6, 0x8006, 7, 8, 0x8009, 0x8001};
  each_elementwise([&](const ElementwiseTable& table) {
    CHECK(histogram<std::uint16_t>(table, x, {3, 1, 2}) == Histogram{{2, 3}, 4});
  });
}

TEST_CASE("keys_between collects the keys of a range in order and counts the smaller ones") {
  const std::vector<std::uint16_t> x{0, 1, 0x8004, 5, 3, 0x8006, 2, 0x8003};
  each_elementwise([&](const ElementwiseTable& table) {
    using Keys = Between<std::uint16_t>;
    CHECK(keys_between<std::uint16_t>(table, x, 3, 5, 4) == Keys{{4, 5, 3, 3}, 3, 4});
    CHECK(keys_between<std::uint16_t>(table, x, 3, 5, 2) == Keys{{4, 5}, 3, 4});
    CHECK(keys_between<std::uint16_t>(table, x, 0, 0x7fff, 0) == Keys{{}, 0, 8});
  });
}

TEST_CASE("keep_above keeps larger magnitudes and the first of the ties") {
  const Bytes x{5, 0x85, 6, 4, 5, 0x86, 0x80, 5, 7, 5};
  each_elementwise([&](const ElementwiseTable& table) {
    CHECK(keep_above<std::uint8_t>(table, x, 5, 3) == Kept{{0b00110111, 0b01}, 5});
    CHECK(keep_above<std::uint8_t>(table, x, 5, 0) == Kept{{0b00100100, 0b01}, 5});
    CHECK(table.w1.count_key(x.data(), 10, 5) == 5);
    CHECK(table.w1.count_key(x.data(), 10, 0) == 1);
    CHECK(table.w1.count_nonzero(x.data(), 10) == 10);
  });
}

TEST_CASE("mask_values zeroes pruned elements; compress packs kept ones and expand unpacks them") {
  const U32s x{10, 11, 12, 13, 14, 15, 16, 17, 18};
  const U32s kept{11, 14, 17, 18}, masked{0, 11, 0, 0, 14, 0, 0, 17, 18};
  const Bytes bits{0b10010010, 0xff};  // seven spare bits are set, too
  each_elementwise([&](const ElementwiseTable& table) {
    CHECK(table.count_bits(bits.data(), 9) == 4);
    CHECK(mask_values(table, x, bits) == masked);
    CHECK(compress(table, x, bits) == kept);
    CHECK(expand(table, kept, bits, 9) == masked);
    CHECK(nonzero_bits(table, masked) == Bytes{0b10010010, 0b1});
  });
}

TEST_CASE_TEMPLATE("counts and selections of keys match the reference under every ISA", U,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  std::mt19937_64 random(sizeof(U));
  constexpr KeyBins<U> all = all_key_bins<U>();
  constexpr U greatest = greatest_key<U>;
  for (const std::int64_t n : elementwise_sizes) {
    CAPTURE(n);
    // For few elements, many bins would dominate the time.
    const std::int32_t many = n < 4096 ? 1 << 8 : 1 << 16;
    for (const std::vector<U>& x : random_elements<U>(n, random)) {
      const U some = n == 0 ? U{3} : magnitude_key(x[random() % x.size()]);
      const U prefix = static_cast<U>(some >> all.shift << all.shift);
      const KeyBins<U> narrow{some, 1, 4}, most{1, all.shift, many};
      const KeyBins<U> within{prefix, 0, all.shift == 0 ? 9 : many};
      Fenced<U> in(x);
      std::vector<std::pair<U, std::int64_t>> equals;
      for (const U key : {some, U{0}, static_cast<U>(greatest - 1), greatest})
        equals.emplace_back(key, elementwise_reference()->of<U>().count_key(in.data(), n, key));
      const auto of = [&](const ElementwiseTable& table) {
        return findings<U>(table, x, {all, narrow, most, within}, {U{0}, prefix, some}, some,
                           equals);
      };
      const Findings<U> expected = of(*elementwise_reference());
      each_elementwise([&](const ElementwiseTable& table) {
        if (&table == elementwise_reference()) return;
        const Findings<U> found = of(table);
        CHECK(found.histograms == expected.histograms);
        CHECK(found.between == expected.between);
        CHECK(found.counts == expected.counts);
        CHECK(found.kept == expected.kept);
        CHECK(found.nonzero == expected.nonzero);
      });
    }
  }
}

TEST_CASE_TEMPLATE("masking, packing and unpacking match the reference under every ISA", U,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  std::mt19937_64 random(sizeof(U));
  for (const std::int64_t n : elementwise_sizes) {
    CAPTURE(n);
    const std::vector<U> x = random_elements<U>(n, random)[0];
    for (const Bytes& mask : random_masks(n, random)) {
      const std::vector<U> masked = mask_values(*elementwise_reference(), x, mask);
      const std::vector<U> kept = compress(*elementwise_reference(), x, mask);
      CHECK(expand(*elementwise_reference(), kept, mask, n) == masked);
      each_elementwise([&](const ElementwiseTable& table) {
        CHECK(mask_values(table, x, mask) == masked);
        CHECK(mask_in_place(table, x, mask) == masked);
        CHECK(compress(table, x, mask) == kept);
        CHECK(expand(table, kept, mask, n) == masked);
      });
    }
  }
}

TEST_CASE("elementwise kernels accept empty arrays with null pointers") {
  each_elementwise([&](const ElementwiseTable& table) {
    const std::uint32_t* x = nullptr;
    std::uint32_t* out = nullptr;
    std::uint8_t* bits = nullptr;
    CHECK(table.count_bits(bits, 0) == 0);
    CHECK(table.w4.histogram(x, 0, all_key_bins<std::uint32_t>(), out) == 0);
    CHECK(table.w4.histogram(x, 0, {1, 0, 1}, out) == 0);
    CHECK(table.w4.keys_between(x, 0, 0, 9, out, 0).inside == 0);
    CHECK(table.w4.count_key(x, 0, 0) == 0);
    CHECK(table.w4.count_nonzero(x, 0) == 0);
    CHECK(table.w4.keep_above(x, 0, 0, 0, bits) == 0);
    table.w4.nonzero_bits(x, 0, bits);
    table.w4.mask_values(x, bits, 0, out);
    CHECK(table.w4.compress(x, bits, 0, out) == 0);
    CHECK(table.w4.expand(x, bits, 0, out) == 0);
    CHECK(table.f32.sum_magnitudes(x, bits, 0).all == 0);
    CHECK(table.f32.first_not_finite(x, 0) == 0);
  });
}
