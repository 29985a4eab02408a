// The fit of one n:m:g chunk after the other, in memory that is taken once per thread.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/nmg_exact.h"
#include "kernels/reference/nmg_greedy.h"
#include "libsten/base/floats.h"
#include "libsten/layout/nmg.h"
#include "libsten/layout/nmg_patterns.h"

namespace sten {

enum class FitMethod { exact, swaps, heuristic, greedy };

// Error for a chunk that is far larger than the tensor: it is fitted as a whole, its padding too, and
// would cost what the tensor does not.
void check_nmg_chunk(const NmgGeometry& geo, const Shape& shape);

// For elements E (floats.h) of a tensor with that geometry. One fit at a time.
template <class E>
class NmgChunkFit {
 public:
  using Bits = typename E::Bits;
  using Score = typename E::Score;

  NmgChunkFit(const NmgGeometry& geo, const PatternTable& table, FitMethod method);
  // The pattern of each strip of a chunk, padding included, [strips]; valid until the next call.
  std::span<const std::uint16_t> fit(const Bits* x, const NmgUnit& unit);

 private:
  void fit_exactly(const Bits* x, const NmgUnit& unit);
  void fit_by_swaps(const Bits* x, const NmgUnit& unit);
  void fit_greedily(const Bits* x, const NmgUnit& unit);
  // The chunk's values, row by row, `stride` apart.
  template <class F>
  void decode(const Bits* x, const NmgUnit& unit, Index stride, F&& f);

  const NmgGeometry& geo_;
  const PatternTable& table_;
  const FitMethod method_;
  std::vector<Score> values_;  // [m, strips], where they do not lie like that in the tensor
  std::vector<std::uint16_t> pattern_of_;
  // Exact and swaps.
  std::unique_ptr<std::byte[]> memory_;
  std::byte* scratch_ = nullptr;
  std::size_t room_ = 0;
  // Greedy and heuristic.
  std::vector<kernels::NmgCandidate<Score>> candidates_;
  std::vector<std::int32_t> fill_, greedy_, members_;
};

// Objects that are made when there is none to be had, and handed on when no longer needed: no more
// than there are threads.
template <class T>
class Pool {
 public:
  // f(object), with one that nobody else uses meanwhile; make() returns a unique_ptr of a new one.
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
