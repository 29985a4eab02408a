// SPDX-License-Identifier: Apache-2.0
// Interface of atomic outputs: each appears whole or not at all, and several can appear together.
#pragma once
#include <span>

namespace sten {

// A written output that is ready for commit. Call each of these functions once, in this order.
class Output {
 public:
  virtual ~Output() = default;
  // Syncs the data. Reports errors before anything is replaced.
  virtual void prepare() = 0;
  // Gives the output its name. `revocable`: keeps the replaced file until settle().
  virtual void publish(bool revocable) = 0;
  // Undoes publish() as far as possible; data in a pipe stay there.
  virtual void retract() noexcept = 0;
  // Syncs the name, and removes the replaced file.
  virtual void settle() = 0;
  // Whether the output goes to a pipe, a device or a terminal, and cannot be undone.
  virtual bool is_stream() const = 0;
};

// Commits all outputs, or none after an Error. A process that is killed between the renames leaves
// the first outputs in place.
void commit_together(std::span<Output* const> outputs);

}  // namespace sten
