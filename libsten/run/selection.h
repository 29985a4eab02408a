// Which tensors of a checkpoint a program works on.
#pragma once
#include <string>
#include <vector>

#include "libsten/io/checkpoint.h"

namespace sten {

// Globs on the whole name, or "re:" and a regular expression (RE2 syntax) on the whole name.
struct Patterns {
  std::vector<std::string> include;  // replaces the rule on names if not empty
  std::vector<std::string> exclude;
};

struct Selection {
  std::vector<bool> chosen;  // by number in Checkpoint::tensors()
  Index count = 0;
  Index skipped = 0;  // matched by a pattern that names many, but not fit for it
};

// The rule without patterns: floating point, rank >= 2, a name that ends in "weight" and has none
// of embed|wte|wpe|lm_head|norm|.ln_ (case-insensitive).
bool is_weight(const TensorInfo& t);

enum class Purpose {
  prune,    // dtypes with a magnitude, rank >= 2
  convert,  // any dtype whose elements have an address; sparse tensors are chosen by default too
};

// Error (usage) for a pattern that matches nothing, with the nearest name; for a literal name of a
// tensor that is not fit for the purpose; and where no tensor is chosen at all.
Selection select_tensors(const Checkpoint& c, const Patterns& patterns, Purpose purpose);

}  // namespace sten
