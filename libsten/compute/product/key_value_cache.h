// SPDX-License-Identifier: Apache-2.0
// KV cache: keys and values of the earlier tokens of sequences, for attention.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "libsten/compute/product/attention_extents.h"
#include "libsten/compute/product/cached_rows.h"
#include "libsten/core/base/array.h"

namespace sten {

// A token's place in the caches.
struct CachedToken {
  Index sequence, position;
};

class KeyValueCache {
 public:
  struct Extents {
    Index heads, width, v_width;  // heads of keys and values; features of each
    Index tokens;                 // maximum number of tokens per sequence
    Index sequences = 1;
    Index group = 1;           // heads of queries that share a head of keys and values
    DType dtype = DType::F32;  // of stored keys and values: F32 or BF16
    friend bool operator==(const Extents&, const Extents&) = default;
  };
  // Allocates all memory, including that of attend().
  explicit KeyValueCache(const Extents& extents);

  const Extents& extents() const { return extents_; }
  Index bytes() const;

  // Stores keys of heads * width and values of heads * v_width features, one per token of `at`,
  // whose positions must be below extents().tokens.
  void write(std::span<const CachedToken> at, const Activations& k, const Activations& v);
  // Computes softmax(cap(scale * q . k)) v for the queries q of the tokens `at`; each sees the
  // stored tokens of its sequence up to itself, or the last ones of a window. Of `a`, only scale,
  // soft_cap and window are used. Heads are divided among threads(); deterministic for every number
  // of threads.
  void attend(std::span<const CachedToken> at, const Activations& q, const AttentionExtents& a,
              const ActivationsOut& y);

 private:
  // Runs heads [first, first + count) of queries, which share a head of keys and values.
  void attend_heads(Index first, Index count, std::span<const CachedToken> at, const Activations& q,
                    const AttentionExtents& a, float* work, const ActivationsOut& y) const;
  // The first row of a panel of keys, which has one row per feature and one column per token.
  Index key_row(Index sequence, Index head, Index panel) const {
    return ((sequence * extents_.heads + head) * panels_ + panel) * key_rows_;
  }
  // The first row of a block of values: panel_width features, one row per token.
  Index value_row(Index sequence, Index head, Index block) const {
    return ((sequence * extents_.heads + head) * blocks_ + block) * panels_ * panel_width;
  }

  Extents extents_;
  Index panels_, blocks_;  // of keys; blocks of the features of a head's values
  Index key_rows_;         // of a panel: an even number
  CachedRows keys_, values_;
  Array<float> work_;
};

// KV caches of a graph's attention nodes, by name. Each is made when its node first runs.
struct KeyValueCaches {
  Index tokens = 0;  // maximum number of tokens per sequence
  Index sequences = 1;
  std::vector<CachedToken> run;  // the tokens of the current run
  std::map<std::string, KeyValueCache, std::less<>> of{};
};

}  // namespace sten
