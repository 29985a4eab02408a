// SPDX-License-Identifier: Apache-2.0
// F1 of classes or entities.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/tensor/dense.h"
#include "libsten/data/examples.h"

namespace sten {

// Counts of a class, or of all entities.
struct F1Counts {
  Index hits = 0, predicted = 0, labelled = 0;

  F1Counts& operator+=(const F1Counts& more);
};

// classes   the mean over classes that are predicted or labelled ("macro" in scikit-learn)
// entities  spans of words by tags B-x, I-x and O, over all types: a hit has the same type, start
// and
//           end, as in conlleval and seqeval
enum class F1Kind : std::uint8_t { classes, entities };
inline const char* name_of(F1Kind k) {
  return k == F1Kind::classes ? "macro F1" : "F1 of entities";
}

class F1Scorer {
 public:
  // `names`: of labels; for entities, each is O, or B- or I- and a type.
  explicit F1Scorer(std::vector<std::string> names);

  F1Kind kind() const { return kind_; }
  // logits [..., T, classes] and labels [..., T]. Spans end at the end of a row of T. Positions
  // with ignored_label are in no span.
  std::vector<F1Counts> counts(const Dense& logits, const Dense& labels) const;

 private:
  struct Tag {
    bool is_inside = false, begins = false;
    std::string type;
  };
  std::vector<F1Counts> count_classes(const std::vector<Index>& got,
                                      const std::vector<Index>& wanted) const;
  std::vector<std::vector<Index>> spans(const std::vector<Index>& tags) const;

  Index classes_;
  F1Kind kind_ = F1Kind::classes;
  std::vector<Tag> tags_;
};

// none if nothing was counted.
std::optional<double> f1_of(const std::vector<F1Counts>& counts);

}  // namespace sten
