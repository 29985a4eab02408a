// SPDX-License-Identifier: Apache-2.0
// sten-prune --reorder: permutes the rows of a weight so that tiles keep more, and undoes the
// permutation in the next layer.
#pragma once
#include <string>
#include <vector>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/core/sparsify/row_permutation.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/programs/plan/tensor_plan.h"

namespace sten {

// FIRST=NEXT: names of two weights. A '*' in FIRST matches any characters; the k-th '*' in NEXT
// stands for the match of the k-th '*' in FIRST. [=] and [*] are literal.
struct ReorderRule {
  std::string text;
  std::vector<std::string> first, next;  // the segments between '*'

  // Parses a rule. Error (usage).
  static ReorderRule parse(const std::string& text);
  // FIRST as a name pattern.
  std::string pattern() const;
  // The name of the next weight for a name that FIRST matches.
  std::string next_of(const std::string& name) const;
};

// The row and column permutations of a checkpoint's tensors. The bias of a first weight is permuted
// with the weight.
class Reordering {
 public:
  Reordering() = default;
  // Error (usage) for rules that do not fit the tensors or contradict each other. `in` must outlive
  // this object.
  Reordering(const std::vector<ReorderRule>& rules, const Checkpoint& in, const std::string& input,
             const std::vector<std::optional<TensorPlan>>& plans);

  // Indices of first weights, sorted so that a weight follows those whose next weight it is.
  const std::vector<std::size_t>& firsts() const { return firsts_; }
  // Sets the permutation of the rows of first weight i.
  void set(std::size_t i, RowPermutation order) { permutations_[i] = std::move(order); }
  const RowPermutation& order(std::size_t i) const { return permutations_[i]; }

  bool moves_rows(std::size_t i) const { return !rows_.empty() && rows_[i] != none; }
  bool moves_columns(std::size_t i) const { return !columns_.empty() && columns_[i] != none; }
  bool moves(std::size_t i) const { return moves_rows(i) || moves_columns(i); }
  std::size_t biases() const { return biases_; }
  // Permutes x, which has tensor i's shape, by the permutations that are set.
  Dense moved(std::size_t i, const Dense& x) const;
  // Permutes the statistics of weight i's inputs like the columns of weight i.
  InputStatistics moved(std::size_t i, InputStatistics inputs) const;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  void check_weight(std::size_t i, const std::string& what) const;
  void add(const std::string& what, std::size_t first, std::size_t next);
  void sort();
  // The permutation of a first weight; nullptr for the identity.
  const std::vector<Index>* permutation_of(std::size_t first) const;

  const Checkpoint* in_ = nullptr;
  std::vector<bool> transposed_;              // per tensor: stored as [in, out]
  std::vector<std::size_t> rows_, columns_;   // per tensor: the weight whose permutation applies
  std::vector<RowPermutation> permutations_;  // per first weight
  std::vector<std::size_t> firsts_;
  std::size_t biases_ = 0;
};

}  // namespace sten
