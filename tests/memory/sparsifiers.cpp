// The memory column of the paper's Table 1, by counting what is allocated. A program of its own,
// since it replaces operator new.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "tests/support/laws.h"

namespace {

std::atomic<std::int64_t> in_use = 0, peak = 0;

// Before each block, in as many bytes as its alignment needs: how many were asked for.
std::size_t header(std::size_t align) { return std::max(align, std::size_t{16}); }

void* take(std::size_t n, std::size_t align) {
  const std::size_t h = header(align), bytes = (h + n + h - 1) / h * h;
  auto* p = static_cast<char*>(std::aligned_alloc(h, bytes));
  if (!p) throw std::bad_alloc();
  std::memcpy(p, &n, sizeof n);
  const std::int64_t now = in_use += static_cast<std::int64_t>(n);
  for (std::int64_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) continue;
  return p + h;
}

void release(void* data, std::size_t align) {
  if (!data) return;
  char* p = static_cast<char*>(data) - header(align);
  std::size_t n;
  std::memcpy(&n, p, sizeof n);
  in_use -= static_cast<std::int64_t>(n);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return take(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
  return take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p, 1); }
void operator delete(void* p, std::size_t) noexcept { release(p, 1); }
void operator delete(void* p, std::align_val_t a) noexcept {
  release(p, static_cast<std::size_t>(a));
}
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
  release(p, static_cast<std::size_t>(a));
}

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

// Bytes that selecting from `elements` takes at its peak, without the mask.
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

TEST_CASE("the counter sees what an array and a vector take") {
  const std::int64_t before = in_use;
  const Array<std::uint8_t> a(100000);
  const std::vector<double> v(1000);
  CHECK(in_use - before >= 108000);
  CHECK(in_use - before < 108200);
}

TEST_CASE("a streaming sparsifier needs the same few bytes for any tensor") {
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::streaming) continue;
    CAPTURE(entry.name);
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F8_E5M2}) {
      CHECK(scratch(entry.spec, dtype, small) <= 1024);
      CHECK(scratch(entry.spec, dtype, large) == scratch(entry.spec, dtype, small));
    }
  }
}

TEST_CASE("a blocking sparsifier needs memory in proportion to its block, for any tensor") {
  // A value, whether it stays, and its place in an order.
  constexpr std::int64_t most = 8 + 1 + 8;
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::blocking) continue;
    CAPTURE(entry.name);
    for (const Index block : {4, 64, 256, 4096})
      for (const Index axis : {0, 1})
        for (const DType dtype : {DType::F64, DType::F32, DType::BF16}) {
          Spec spec = entry.spec;
          spec.set("m", block).set("n", block / 2).set("axis", axis);
          CAPTURE(spec.str());
          // A block ends with its line, and lines are longer in the larger tensor on axis 0.
          const Index line = axis ? 256 : large / 256;
          CHECK(scratch(spec, dtype, small) <= most * block + 1024);
          CHECK(scratch(spec, dtype, large) <= most * std::min(block, line) + 1024);
          if (block <= 256) CHECK(scratch(spec, dtype, large) == scratch(spec, dtype, small));
        }
  }
}

TEST_CASE("a materializing sparsifier needs no more than a few copies of the tensor") {
  // Histograms of 16 bits, a bracket of the boundary, and ranks of 8 bytes.
  constexpr std::int64_t fixed = std::int64_t{4} << 20;
  for (const auto& entry : registry().sparsifiers()) {
    if (registry().sparsifier(entry.spec).kind() != Kind::materializing) continue;
    CAPTURE(entry.name);
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
      CHECK(scratch(entry.spec, dtype, large) <= 16 * large + fixed);
  }
}
