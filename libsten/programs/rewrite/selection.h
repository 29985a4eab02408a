// SPDX-License-Identifier: Apache-2.0
// Selection: the tensors of a checkpoint that a program works on.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libsten/core/base/name_pattern.h"
#include "libsten/programs/rewrite/default_selection.h"
#include "libsten/report/report.h"

namespace sten {

struct Patterns {
  std::vector<std::string> include;  // replaces the default selection if not empty
  std::vector<std::string> exclude;
};

struct Selection {
  std::vector<bool> chosen;  // per tensor
  Index count = 0;
  std::vector<bool> unfit;  // per tensor: matched by a pattern of several names, but unfit
  Index skipped = 0;        // number of these
  // Skip reasons per tensor; empty if patterns name the chosen tensors.
  std::vector<SkipReason> why;
};

// The purpose of a rule or flag.
enum class Purpose {
  prune,    // prunable dtypes, rank >= 2
  convert,  // dtypes with addressable elements; by default also sparse tensors
};

// The reason why a tensor is unfit for the purpose; "" if it is fit.
std::string unfit(const TensorInfo& t, Purpose purpose);

// Whether the layout holds tensors of rank below 2, which have no rows and columns.
bool holds_vectors(const Spec& layout);

// An index of a checkpoint's names that finds the matches of a pattern without a linear search, for
// many patterns.
class TensorNames {
 public:
  explicit TensorNames(const Checkpoint& c);
  // `of` and `kind` describe the owner and the kind of the names in messages.
  TensorNames(std::vector<std::string> names, std::string of, std::string kind = "tensors");
  // Calls f(index) for the matches of a pattern, ascending. Error (usage) without a match, starting
  // with `flag` and suggesting the nearest name.
  void for_each_match(const std::string& pattern, const std::string& flag,
                      const std::function<void(std::size_t)>& f) const;
  // Splits lists (pattern_list()) into patterns. A list that is a name of a tensor counts as one
  // pattern.
  std::vector<std::string> listed(const std::vector<std::string>& patterns) const;
  // Whether the patterns choose each tensor, of any kind. Without --include, all are chosen.
  std::vector<bool> chosen(const Patterns& patterns) const;

 private:
  std::vector<std::string> names_;
  std::string of_, kind_;
  std::vector<std::size_t> by_name_;
};

// As TensorNames::for_each_match(), for one pattern.
void for_each_match(const Checkpoint& c, const std::string& pattern, const std::string& flag,
                    const std::function<void(std::size_t)>& f);

// Selects tensors for a purpose. Without --include, applies the default selection; the array of a
// .npy file is always selected. Error (usage) for a pattern without a match, with the nearest name,
// and for the literal name of an unfit tensor.
Selection select_tensors(const Checkpoint& c, const Patterns& patterns, Purpose purpose);

// Column of reports: the name of a weight in an ONNX graph, if the tensor's name differs.
inline const Column module_column{"module", "", Unit::text, true};
// Sets the cells name, module, shape and dtype of a tensor's row.
void add_tensor(const Report& r, std::vector<Cell>& row, const TensorInfo& t);

// For -v: "selected NAME", "selected NAME (MODULE)" per row of a report on tensors.
std::vector<std::string> selected_rows(const Report& r);
// For -v: "left alone NAME: embedding", in natural order of names.
std::vector<std::string> skipped_rows(const Checkpoint& c, const std::vector<SkipReason>& why);

}  // namespace sten
