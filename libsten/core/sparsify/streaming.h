// SPDX-License-Identifier: Apache-2.0
// Streaming sparsifiers, which decide on each value alone.
#pragma once
#include <cmath>

#include "libsten/core/base/random.h"
#include "libsten/core/base/spec.h"

namespace sten {

// Keeps every value: the default for dense results.
struct KeepAll {
  static constexpr const char* name = "keep-all";
  static constexpr SpecDoc doc{"keep-all", "everything"};
  bool keep(auto, Index) const { return true; }
};

struct RandomFraction {
  static constexpr const char* name = "random";
  static constexpr SpecDoc doc{"random:fraction=0.5,seed=7",
                               "each value with probability `1 - fraction`; the choice for value i "
                               "depends on seed and i only"};
  double fraction = 0.5;
  std::uint64_t seed = 0;
  bool keep(auto, Index i) const {
    return random_uniform(seed, static_cast<std::uint64_t>(i)) >= fraction;
  }
  static RandomFraction make(const Spec& spec);
};

// `at` is rounded to the precision in which x is ranked, like numpy.
struct Threshold {
  static constexpr const char* name = "threshold";
  static constexpr SpecDoc doc{
      "threshold:at=0.01",
      "all but values with `abs(x) < at`, with `at` rounded to float32 except for F64"};
  double at = 0;
  template <class T>
  bool keep(T v, Index) const {
    return !(std::abs(v) < static_cast<T>(at));
  }
  static Threshold make(const Spec& spec);
};

// Keeps the positions of a tensor that was pruned before.
struct NonZero {
  static constexpr const char* name = "nonzero";
  static constexpr SpecDoc doc{"nonzero", "all values but 0"};
  bool keep(auto v, Index) const { return v != 0; }
};

struct Relu {
  static constexpr const char* name = "relu";
  static constexpr SpecDoc doc{"relu", "values above 0"};
  bool keep(auto v, Index) const { return v > 0; }
};

// The value of `key`. Error (usage) unless it is in [0, 1].
double fraction_of(const Spec& spec, std::string_view key);

}  // namespace sten
