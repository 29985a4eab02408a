// Which tensors of a checkpoint a program works on.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libsten/base/name_pattern.h"
#include "libsten/report/report.h"
#include "libsten/run/default_selection.h"

namespace sten {

struct Patterns {
  std::vector<std::string> include;  // replaces the rule of spared() if not empty
  std::vector<std::string> exclude;
};

struct Selection {
  std::vector<bool> chosen;  // by number in Checkpoint::tensors()
  Index count = 0;
  Index skipped = 0;  // matched by a pattern that names many, but not fit for it
  // Why the others are not chosen, by number too; empty where patterns name those that are.
  std::vector<SkipReason> why;
};

// What a rule or flag names.
enum class Purpose {
  prune,    // dtypes with a magnitude, rank >= 2
  convert,  // any dtype whose elements have an address; sparse tensors are chosen by default too
};

// Why a tensor is not fit for the purpose; "" if it is.
std::string unfit(const TensorInfo& t, Purpose purpose);

// The names of a checkpoint, in an order that finds those of a pattern without a look at all: for
// many patterns.
class TensorNames {
 public:
  explicit TensorNames(const Checkpoint& c);
  // In messages `of` is what has them, and `kind` what they are names of.
  TensorNames(std::vector<std::string> names, std::string of, std::string kind = "tensors");
  // f(number of a tensor) for those the pattern matches, ascending. Error (usage) that begins with
  // `flag` and suggests the nearest name if there are none.
  void for_each_match(const std::string& pattern, const std::string& flag,
                      const std::function<void(std::size_t)>& f) const;
  // Each pattern of each list (pattern_list()); what is a name as it stands is one.
  std::vector<std::string> listed(const std::vector<std::string>& patterns) const;
  // Those that the patterns choose, whatever the tensors are; all without --include.
  std::vector<bool> chosen(const Patterns& patterns) const;

 private:
  std::vector<std::string> names_;
  std::string of_, kind_;
  std::vector<std::size_t> by_name_;
};

// The same for one pattern.
void for_each_match(const Checkpoint& c, const std::string& pattern, const std::string& flag,
                    const std::function<void(std::size_t)>& f);

// Without --include the rule of spared(), and the array of a .npy file. Error (usage) for a pattern
// that matches nothing, with the nearest name; for a literal name of a tensor that is not fit for
// the purpose.
Selection select_tensors(const Checkpoint& c, const Patterns& patterns, Purpose purpose);

// Of reports on tensors: what an ONNX graph calls the weight, where its name does not say it.
inline const Column module_column{"module", "", Unit::text, true};
void add_module(const Report& r, std::vector<Cell>& row, const TensorInfo& t);

// For -v: "selected NAME", "selected NAME (MODULE)", for each row of a report on tensors.
std::vector<std::string> selected_rows(const Report& r);
// For -v: "left alone NAME: embedding", in natural order of names.
std::vector<std::string> skipped_rows(const Checkpoint& c, const std::vector<SkipReason>& why);

}  // namespace sten
