// F1: how well classes, or entities, are found.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// Of a class, or of all entities.
struct F1Counts {
  Index hits = 0, predicted = 0, labelled = 0;

  F1Counts& operator+=(const F1Counts& more);
};

// classes   the mean over classes that are predicted or labelled, as scikit-learn's "macro"
// entities  of spans of words that tags B-x, I-x and O mark, of all types together: one is found where
//           its type, begin and end are, as conlleval and seqeval count
enum class F1Kind : std::uint8_t { classes, entities };
inline const char* name_of(F1Kind k) {
  return k == F1Kind::classes ? "macro F1" : "F1 of entities";
}

class F1Scorer {
 public:
  // By what labels are called; of entities where each is O, or B- or I- and a type.
  explicit F1Scorer(std::vector<std::string> names);

  F1Kind kind() const { return kind_; }
  // logits [..., T, classes] and labels [..., T]; spans end with a row of T, and places of
  // ignored_label are in none of either.
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

// none where nothing was counted.
std::optional<double> f1_of(const std::vector<F1Counts>& counts);

}  // namespace sten
