// SPDX-License-Identifier: Apache-2.0
// The paper's conversion from dense to n:m:g, as a baseline: its greedy fit with std::sort (section
// 5.2), with values and indices written, on one thread.
#pragma once
#include <vector>

#include "kernels/reference/nmg_greedy.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {

class PaperGreedy {
 public:
  // x: F32; nmg: a spec of n:m:g.
  PaperGreedy(const Dense& x, const Spec& nmg);
  // Whether the (strip, pattern) candidates of a chunk fit 1 GB; the baseline is pointless beyond.
  static bool is_feasible(const NmgGeometry& geometry);

  void run();
  const std::vector<float>& values() const { return values_; }        // as in Nmg
  const std::vector<std::uint16_t>& index() const { return index_; }  // as in Nmg, 16 bits each

 private:
  void convert(Index unit);

  Dense x_;
  NmgGeometry geometry_;
  std::shared_ptr<const PatternTable> table_;
  std::vector<float> values_, magnitudes_;
  std::vector<std::uint16_t> index_;
  std::vector<kernels::NmgCandidate<float>> candidates_;
  std::vector<std::int32_t> fill_, pattern_of_;
};

}  // namespace sten
