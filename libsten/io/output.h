// What all outputs have: they come into being whole or not at all, and several of them together.
#pragma once
#include <span>

namespace sten {

// Written already; the calls in this order, each once.
class Output {
 public:
  virtual ~Output() = default;
  // On the disk, and ready to take its name: what can fail has, before anything is changed.
  virtual void prepare() = 0;
  // In place. `revocable`: what it replaces is kept until settle().
  virtual void publish(bool revocable) = 0;
  // As before publish(), as far as the system allows; what went into a pipe stays there.
  virtual void retract() noexcept = 0;
  // The name is on the disk, and what it replaced is gone.
  virtual void settle() = 0;
  // Whether it goes into a pipe, a device or a terminal, and cannot be taken back.
  virtual bool is_stream() const = 0;
};

// All of them, or none where one fails: Error. A process that is killed between two of the renames
// leaves the first alone.
void commit_together(std::span<Output* const> outputs);

}  // namespace sten
