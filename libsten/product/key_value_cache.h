// The keys and values of the tokens of one sequence, for the attention of those that follow.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "libsten/base/array.h"
#include "libsten/product/panels.h"

namespace sten {

class KeyValueCache {
 public:
  struct Extents {
    Index heads, width, v_width;  // features of a head's keys, and of its values
    Index tokens;                 // the most that there can be
    friend bool operator==(const Extents&, const Extents&) = default;
  };
  // All memory that is ever needed, that of attend() too.
  explicit KeyValueCache(const Extents& extents);

  const Extents& extents() const { return extents_; }
  Index bytes() const;

  // Keys of heads * width features and values of heads * v_width become those of tokens first,
  // first + 1 and so on, which have to be within extents().tokens.
  void write(Index first, const Activations& k, const Activations& v);
  // softmax(scale * q . k) v of the queries q, which are tokens first, first + 1 and so on: each
  // sees the tokens up to itself. Heads are shared by threads(); bits do not depend on these.
  void attend(Index first, const Activations& q, float scale, const ActivationsOut& y);

 private:
  void attend_head(Index head, Index first, const Activations& q, float scale, float* work,
                   const ActivationsOut& y) const;
  // Of a panel of keys: its first feature.
  Index key_panel(Index head, Index panel) const {
    return (head * panels_ + panel) * extents_.width * panel_width;
  }
  // Of values: a block of panel_width features, a row for each token.
  Index value_block(Index head, Index block) const {
    return (head * blocks_ + block) * panels_ * panel_width * panel_width;
  }

  Extents extents_;
  Index panels_, blocks_;  // of keys, and of a head's features of values
  Array<float> keys_, values_, work_;
};

// Those of a graph's attention, by the nodes' names. Each is made when its node runs first.
struct KeyValueCaches {
  Index tokens = 0;  // the most that there can be
  Index first = 0;   // the first of the tokens that run
  std::map<std::string, KeyValueCache, std::less<>> of{};
};

}  // namespace sten
