// SPDX-License-Identifier: Apache-2.0
// The fit of n:m:g chunks, one at a time, with memory that is reused.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/nmg_exact.h"
#include "kernels/reference/nmg_greedy.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {

enum class FitMethod { exact, swaps, heuristic, greedy };

// Error for a chunk that is far larger than the tensor: chunks are fitted with their padding, which
// would take excessive time and memory.
void check_nmg_chunk(const NmgGeometry& geo, const Shape& shape);

// For elements E (floats.h) of a tensor of this geometry. Fits one chunk at a time.
template <class E>
class NmgChunkFit {
 public:
  using Bits = typename E::Bits;
  using Score = typename E::Score;

  NmgChunkFit(const NmgGeometry& geo, const PatternTable& table, FitMethod method);
  // The pattern of each strip [strips] of a chunk, including padding; valid until the next call.
  std::span<const std::uint16_t> fit(const Bits* x, const NmgUnit& unit);

 private:
  void fit_exactly(const Bits* x, const NmgUnit& unit);
  void fit_by_swaps(const Bits* x, const NmgUnit& unit);
  void fit_greedily(const Bits* x, const NmgUnit& unit);
  // The values of the chunk, row by row, at distance `stride`.
  template <class F>
  void decode(const Bits* x, const NmgUnit& unit, Index stride, F&& f);

  const NmgGeometry& geo_;
  const PatternTable& table_;
  const FitMethod method_;
  std::vector<Score> values_;  // [m, strips], unless the tensor has them in this order
  std::vector<std::uint16_t> pattern_of_;
  // For exact and swaps.
  std::unique_ptr<std::byte[]> memory_;
  std::byte* scratch_ = nullptr;
  std::size_t room_ = 0;
  // For greedy and heuristic.
  std::vector<kernels::NmgCandidate<Score>> candidates_;
  std::vector<std::int32_t> fill_, greedy_, members_;
};

// A pool of objects: makes one if none is free, hence at most as many as threads.
template <class T>
class Pool {
 public:
  // Calls f(object) with exclusive use of an object; make() returns a new one as unique_ptr.
  template <class Make, class F>
  void with(Make&& make, F&& f) {
    std::unique_ptr<T> object;
    {
      const std::lock_guard hold(lock_);
      if (!free_.empty()) {
        object = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!object) object = make();
    f(*object);
    const std::lock_guard hold(lock_);
    free_.push_back(std::move(object));
  }

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace sten
