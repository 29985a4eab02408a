// SPDX-License-Identifier: Apache-2.0
// The memory column of the paper's Table 1, by counting allocations.
#include <doctest/doctest.h>

#include <map>

#include "tests/memory/counter.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr Index small = Index{1} << 16, large = Index{1} << 20;

const Dense& input(DType dtype, Index elements) {
  static std::map<std::pair<DType, Index>, Dense> made;
  const auto [at, fresh] = made.try_emplace({dtype, elements});
  Dice dice(1);
  if (fresh) at->second = any_bits(dice, dtype, {elements / 256, 256});
  return at->second;
}

// Peak bytes of a selection from `elements`, without the mask.
std::int64_t scratch(const Spec& spec, DType dtype, Index elements) {
  const Dense& x = input(dtype, elements);
  const Dense scores = Dense::zeros(DType::F32, x.extents);
  const Mask had = Mask::all(x.extents);
  const Sparsifier own = registry().sparsifier(Spec::parse("threshold:at=0.5"));
  const Sparsifier s = registry().sparsifier(spec);
  const Threads one(1);
  const Hints hints{&had, &scores, &own};
  s.select(x, hints);  // tables that are made once
  const std::int64_t before = in_use;
  peak = before;
  const Mask m = s.select(x, hints);
  return peak - before - static_cast<std::int64_t>(m.bits.size());
}

}  // namespace

TEST_CASE("the allocation counter counts the bytes of an array and a vector") {
  const std::int64_t before = in_use;
  const Array<std::uint8_t> a(100000);
  const std::vector<double> v(1000);
  CHECK(in_use - before >= 108000);
  CHECK(in_use - before < 108200);
}

TEST_CASE("a streaming sparsifier needs at most 1 KiB of scratch, independent of the tensor size") {
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::streaming) continue;
    CAPTURE(entry.name);
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F8_E5M2}) {
      CHECK(scratch(entry.spec, dtype, small) <= 1024);
      CHECK(scratch(entry.spec, dtype, large) == scratch(entry.spec, dtype, small));
    }
  }
}

TEST_CASE("a blocking sparsifier needs scratch in proportion to its block, not to the tensor") {
  // A value, its mask bit, and its index in an order.
  constexpr std::int64_t most = 8 + 1 + 8;
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::blocking) continue;
    CAPTURE(entry.name);
    if (!entry.spec.has("m")) {  // blocks of another extent
      CHECK(scratch(entry.spec, DType::F32, large) == scratch(entry.spec, DType::F32, small));
      continue;
    }
    for (const Index block : {4, 64, 256, 4096})
      for (const Index axis : {0, 1})
        for (const DType dtype : {DType::F64, DType::F32, DType::BF16}) {
          Spec spec = entry.spec;
          spec.set("m", block).set("n", block / 2).set("axis", axis);
          CAPTURE(spec.str());
          // A block ends at the end of its row or column, and the larger tensor has longer columns.
          const Index line = axis ? 256 : large / 256;
          CHECK(scratch(spec, dtype, small) <= most * block + 1024);
          CHECK(scratch(spec, dtype, large) <= most * std::min(block, line) + 1024);
          if (block <= 256) CHECK(scratch(spec, dtype, large) == scratch(spec, dtype, small));
        }
  }
}

TEST_CASE("a materializing sparsifier needs at most 16 bytes per element plus 4 MiB of scratch") {
  // Histograms of 16 bits, a bracket of the boundary, and ranks of 8 bytes.
  constexpr std::int64_t fixed = std::int64_t{4} << 20;
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::materializing) continue;
    CAPTURE(entry.name);
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
      CHECK(scratch(entry.spec, dtype, large) <= 16 * large + fixed);
  }
}
