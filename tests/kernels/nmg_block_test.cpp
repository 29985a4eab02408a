// SPDX-License-Identifier: Apache-2.0
// The exact fit by a block of threads, as on a GPU.
#include <doctest/doctest.h>

#include "kernels/block/checked_block.h"
#include "kernels/block/nmg/nmg_prune.h"
#include "kernels/cuda/backend.h"
#include "kernels/families.h"
#include "kernels/reference/nmg_exact.h"
#include "tests/device/serial_backend.h"
#include "tests/kernels/chunk.h"

using namespace sten;
using namespace sten::testing;
using kernels::NmgStrips;

namespace {

constexpr std::size_t shared_bytes = std::size_t{1} << 20;

template <class T>
NmgStrips<T> strips_of(const Chunk<T>& chunk) {
  return {chunk.x.data(), chunk.cols, chunk.rows, chunk.cols};
}

template <class T>
Patterns reference_fit(const Chunk<T>& chunk) {
  const NmgFormat f = chunk.format();
  std::vector<std::byte> scratch(kernels::nmg_exact_wide_scratch(f, chunk.rows, chunk.cols) + 64);
  void* at = scratch.data();
  std::size_t room = scratch.size();
  auto* aligned = static_cast<std::byte*>(std::align(64, room - 64, at, room));
  Patterns of(chunk.strips());
  if constexpr (sizeof(T) == 4)
    kernels::nmg_exact_reference()->fit_f32(f, strips_of(chunk), aligned, of.data());
  else
    kernels::nmg_exact_reference()->fit_f64(f, strips_of(chunk), aligned, of.data());
  return of;
}

template <class T, class Block>
Patterns fitted_by(Block& block, const Chunk<T>& chunk) {
  Patterns of(chunk.strips());
  const NmgFormat f = chunk.format();
  const kernels::FloatKind kind =
      sizeof(T) == 4 ? kernels::FloatKind::f32 : kernels::FloatKind::f64;
  const kernels::NmgBlockChunk in{chunk.x.data(), kind, 0, chunk.cols, 1, chunk.rows, chunk.cols};
  kernels::NmgExactChunk<Block> fit(block, f);
  const auto found = fit.fit(in);
  block.for_each_thread([&](int t) {
    kernels::each_of(block, t, chunk.strips(), [&](std::int64_t s) { of[s] = found[s]; });
  });
  return of;
}

template <class T>
void check_block_fits(std::uint64_t seed, Index rounds) {
  Dice dice(seed);
  std::vector<std::byte> memory(shared_bytes);
  for (Index round = 0; round < rounds; ++round) {
    const Format f = formats()[static_cast<std::size_t>(round) % formats().size()];
    Chunk<T> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {
      chunk.rows = 1 + dice.below(f.m);
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    const auto kind = static_cast<ChunkValues>(dice.below(static_cast<Index>(ChunkValues::kinds)));
    fill(dice, chunk, kind);
    if (dice.below(8) == 0) chunk.x[dice.below(std::ssize(chunk.x))] = static_cast<T>(INFINITY);
    if (dice.below(8) == 0) chunk.x[dice.below(std::ssize(chunk.x))] = static_cast<T>(NAN);
    const std::string where = fmt::format("round {}: {}:{}:{} {} x {}, kind {}", round, f.n, f.m,
                                          f.g, chunk.rows, chunk.cols, static_cast<int>(kind));
    const Patterns expected = reference_fit(chunk);
    const int threads = dice.one_of<int>({1, 7, 32, 64, 128});
    kernels::SerialBlock serial(threads, memory.data(), memory.size());
    if (fitted_by(serial, chunk) != expected) FAIL_CHECK(where << ": another fit");
    if (chunk.table->count() > 20 || round % 3 != 0) continue;
    kernels::CheckedBlock checked(threads, shared_bytes, seed + static_cast<std::uint64_t>(round));
    if (fitted_by(checked, chunk) != expected) FAIL_CHECK(where << ": another fit when checked");
    if (!checked.reports().empty()) FAIL_CHECK(where << ": " << checked.reports().front());
  }
}

}  // namespace

TEST_CASE("the exact fit of float chunks by a block matches the reference in any thread order") {
  check_block_fits<float>(1, chunks_to_try(1008));
}

TEST_CASE("the exact fit of double chunks by a block matches the reference in any thread order") {
  check_block_fits<double>(2, chunks_to_try(168));
}

TEST_CASE("the exact fit of matrices on a device matches the reference" * cuda_only()) {
  const kernels::cuda::Backend* cuda = kernels::cuda::backend();
  const auto on_device = [&](const auto& host) {
    const std::size_t bytes = host.size() * sizeof host[0];
    const std::shared_ptr<void> data(cuda->memory.allocate(bytes, nullptr),
                                     [=](void* p) { cuda->memory.release(p, nullptr); });
    cuda->memory.upload(data.get(), host.data(), bytes, nullptr);
    return data;
  };
  Dice dice(3);
  for (Index round = 0; round < 100; ++round) {
    const Format f = formats()[static_cast<std::size_t>(round) % formats().size()];
    Chunk<float> chunk(f.n, f.m, f.g);
    const Index rows = 1 + dice.below(5 * f.m), cols = 1 + dice.below(5 * chunk.strips());
    Chunk<float> all(f.n, f.m, f.g);
    all.rows = rows, all.cols = cols;
    all.x.resize(rows * cols);
    fill(dice, all, static_cast<ChunkValues>(dice.below(static_cast<Index>(ChunkValues::kinds))));
    const std::vector<std::uint16_t> patterns(all.table->data(),
                                              all.table->data() + all.table->count() * f.n);
    const auto x = on_device(all.x), p = on_device(patterns);
    NmgFormat format = all.format();
    kernels::BlockMatrix matrix;
    matrix.rows = rows, matrix.cols = cols, matrix.row_stride = cols;
    const Index units = kernels::NmgBlockUnit::count(format, matrix);
    Patterns found(units * all.strips());
    const std::shared_ptr<void> out = on_device(found);
    const NmgFormat device_format{static_cast<const std::uint16_t*>(p.get()),
                                  nullptr,
                                  format.n,
                                  format.m,
                                  format.count,
                                  format.g};
    if (!cuda->nmg.has_room(format, kernels::NmgFitRule::exact)) continue;
    kernels::NmgParts parts;
    parts.pattern_of = static_cast<std::uint16_t*>(out.get());
    cuda->nmg.prune(device_format, matrix, {x.get(), 4, rows * cols}, kernels::FloatKind::f32,
                    kernels::NmgFitRule::exact, parts, nullptr);
    cuda->memory.download(found.data(), out.get(), found.size() * sizeof found[0], nullptr);
    cuda->memory.wait(nullptr);
    for (Index u = 0; u < units; ++u) {
      const Index chunks = (cols + all.strips() - 1) / all.strips();
      const Index row = u / chunks * f.m, col = u % chunks * all.strips();
      chunk.rows = std::min(f.m, rows - row), chunk.cols = std::min(all.strips(), cols - col);
      chunk.x.resize(chunk.rows * chunk.cols);
      for (Index r = 0; r < chunk.rows; ++r)
        std::copy_n(&all.x[(row + r) * cols + col], chunk.cols, &chunk.x[r * chunk.cols]);
      const auto at = found.begin() + u * all.strips();
      if (reference_fit(chunk) != Patterns(at, at + all.strips()))
        FAIL_CHECK("round " << round << ", chunk " << u << ": another fit");
    }
  }
}

TEST_CASE("prices and quotients of the small-pattern-count fit match integer division") {
  Dice dice(4);
  for (Index round = 0; round < 20000; ++round) {
    const auto g = static_cast<std::int32_t>(1 + dice.below(64));
    const auto strips = static_cast<std::int32_t>(dice.below(129));
    const Index gap = dice.below(Index{1} << (1 + dice.below(27)));
    const auto price = static_cast<std::int32_t>(dice.below(1 << 28) - (1 << 27));
    // Also exact quotients, where rounding errors would show.
    const Index some = dice.below(2) ? gap : gap / (10 * g) * (10 * g);
    const double per_g = 1.0 / static_cast<double>(10 * g);
    if (kernels::nmg_next_price_small_pattern_count(price, some, strips, g, per_g) !=
        kernels::nmg_next_price<std::int32_t>(price, some, strips, g))
      FAIL_CHECK(price << ", gap " << some << ", " << strips << " strips of " << g);
    const Index sum = dice.below(Index{1} << (1 + dice.below(34)));
    if (strips > 0 && kernels::nmg_quotient(sum, 1.0 / static_cast<double>(strips)) != sum / strips)
      FAIL_CHECK(sum << " / " << strips);
  }
}
