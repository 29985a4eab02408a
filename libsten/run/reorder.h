// sten-prune --reorder: rows of a weight in the order in which tiles keep most, which the next layer
// absorbs.
#pragma once
#include <string>
#include <vector>

#include "libsten/calibrate/layer.h"
#include "libsten/io/checkpoint.h"
#include "libsten/run/tensor_plan.h"
#include "libsten/sparsify/row_permutation.h"

namespace sten {

// FIRST=NEXT: names of two weights. A '*' of FIRST is any run of characters, and the k-th of NEXT stands
// for what the k-th of FIRST matched. [=] and [*] are the characters themselves.
struct ReorderRule {
  std::string text;
  std::vector<std::string> first, next;  // what stands between the '*'

  // Error (usage).
  static ReorderRule parse(const std::string& text);
  // FIRST as a pattern of names.
  std::string pattern() const;
  // The name of the next weight, for a name that FIRST matches.
  std::string next_of(const std::string& name) const;
};

// Which tensors of a checkpoint are put in another order. The bias of a first weight goes along.
class Reordering {
 public:
  Reordering() = default;
  // Error (usage) for rules that do not go with the tensors or with each other; `treatments` as
  // PruneRequest has them. The checkpoint outlives this.
  Reordering(const std::vector<std::string>& rules, const Checkpoint& in, const std::string& input,
             const std::vector<std::optional<TensorPlan>>& plans);

  // Numbers of first weights, each behind those whose next weight it is.
  const std::vector<std::size_t>& firsts() const { return firsts_; }
  // Of the rows of first weight i.
  void set(std::size_t i, RowPermutation order) { permutations_[i] = std::move(order); }
  const RowPermutation& order(std::size_t i) const { return permutations_[i]; }

  bool moves_rows(std::size_t i) const { return !rows_.empty() && rows_[i] != none; }
  bool moves_columns(std::size_t i) const { return !columns_.empty() && columns_[i] != none; }
  bool moves(std::size_t i) const { return moves_rows(i) || moves_columns(i); }
  std::size_t biases() const { return biases_; }
  // x, of tensor i's shape, by the orders that are set.
  Dense moved(std::size_t i, const Dense& x) const;
  // What goes into weight i, in the order of its columns.
  InputStatistics moved(std::size_t i, InputStatistics inputs) const;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  void check_weight(std::size_t i, const std::string& what) const;
  void add(const std::string& what, std::size_t first, std::size_t next);
  void sort();
  // By number of a first weight; nullptr where they are to stay.
  const std::vector<Index>* permutation_of(std::size_t first) const;

  const Checkpoint* in_ = nullptr;
  std::vector<bool> transposed_;              // by number of a tensor: it is stored [in, out]
  std::vector<std::size_t> rows_, columns_;   // by number of a tensor: whose order they have
  std::vector<RowPermutation> permutations_;  // by number of a first weight
  std::vector<std::size_t> firsts_;
  std::size_t biases_ = 0;
};

}  // namespace sten
