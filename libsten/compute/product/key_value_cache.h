// KV cache: keys and values of the earlier tokens of a sequence, for attention.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "libsten/compute/product/panels.h"
#include "libsten/core/base/array.h"

namespace sten {

class KeyValueCache {
 public:
  struct Extents {
    Index heads, width, v_width;  // features per head of keys and of values
    Index tokens;                 // maximum number of tokens
    friend bool operator==(const Extents&, const Extents&) = default;
  };
  // Allocates all memory, including that of attend().
  explicit KeyValueCache(const Extents& extents);

  const Extents& extents() const { return extents_; }
  Index bytes() const;

  // Stores keys of heads * width and values of heads * v_width features as tokens first, first + 1,
  // ..., which must be below extents().tokens.
  void write(Index first, const Activations& k, const Activations& v);
  // Computes softmax(scale * q . k) v for the queries q of tokens first, first + 1, ...; each sees
  // the tokens up to itself. Heads are divided among threads(); deterministic for every number of
  // threads.
  void attend(Index first, const Activations& q, float scale, const ActivationsOut& y);

 private:
  void attend_head(Index head, Index first, const Activations& q, float scale, float* work,
                   const ActivationsOut& y) const;
  // Offset of the first feature of a panel of keys.
  Index key_panel(Index head, Index panel) const {
    return (head * panels_ + panel) * extents_.width * panel_width;
  }
  // Offset of a block of values: panel_width features, one row per token.
  Index value_block(Index head, Index block) const {
    return (head * blocks_ + block) * panels_ * panel_width * panel_width;
  }

  Extents extents_;
  Index panels_, blocks_;  // of keys; blocks of the features of a head's values
  Array<float> keys_, values_, work_;
};

// KV caches of a graph's attention nodes, by name. Each is made when its node first runs.
struct KeyValueCaches {
  Index tokens = 0;  // maximum number of tokens
  Index first = 0;   // the first token of the current run
  std::map<std::string, KeyValueCache, std::less<>> of{};
};

}  // namespace sten
