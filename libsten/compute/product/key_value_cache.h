// KV cache: keys and values of the earlier tokens of sequences, for attention.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "libsten/compute/product/attention_extents.h"
#include "libsten/compute/product/panels.h"
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
    Index group = 1;  // heads of queries that share a head of keys and values
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
  void attend_head(Index head, std::span<const CachedToken> at, const Activations& q,
                   const AttentionExtents& a, float* work, const ActivationsOut& y) const;
  // Offset of the first feature of a panel of keys.
  Index key_panel(Index sequence, Index head, Index panel) const {
    return ((sequence * extents_.heads + head) * panels_ + panel) * extents_.width * panel_width;
  }
  // Offset of a block of values: panel_width features, one row per token.
  Index value_block(Index sequence, Index head, Index block) const {
    return ((sequence * extents_.heads + head) * blocks_ + block) * panels_ * panel_width *
           panel_width;
  }

  Extents extents_;
  Index panels_, blocks_;  // of keys; blocks of the features of a head's values
  Array<float> keys_, values_, work_;
};

// KV caches of a graph's attention nodes, by name. Each is made when its node first runs.
struct KeyValueCaches {
  Index tokens = 0;  // maximum number of tokens per sequence
  Index sequences = 1;
  std::vector<CachedToken> run;  // the tokens of the current run
  std::map<std::string, KeyValueCache, std::less<>> of{};
};

}  // namespace sten
