// The interface of all outputs: each appears whole or not at all, and several appear together.
#pragma once
#include <span>

namespace sten {

// An output that is written already. Call each of these once, in this order.
class Output {
 public:
  virtual ~Output() = default;
  // Puts it on the disk, ready to take its name. What can fail does so here, before anything is
  // changed.
  virtual void prepare() = 0;
  // Puts it in place. `revocable`: keeps what it replaces until settle().
  virtual void publish(bool revocable) = 0;
  // Undoes publish(), as far as the system allows; what went into a pipe stays there.
  virtual void retract() noexcept = 0;
  // Puts the name on the disk, and removes what it replaced.
  virtual void settle() = 0;
  // Whether it goes into a pipe, a device or a terminal, and cannot be taken back.
  virtual bool is_stream() const = 0;
};

// Commits all of them, or none if one fails: Error. A process that is killed between two of the
// renames leaves only the first in place.
void commit_together(std::span<Output* const> outputs);

}  // namespace sten
