// Temporary files and directories that have a name, so that a process which is interrupted leaves
// none behind.
#pragma once
#include <sys/types.h>

#include <string>

namespace sten {

// ".TARGET.sten-", what hidden names beside `target` begin with; fits NAME_MAX with what follows.
std::string hidden_prefix(const std::string& target);

// A hidden name beside `target` in a directory, known to cleanup_unfinished_outputs() from before
// the file exists; whatever bears it, a directory with all in it too, is removed on destruction.
class UnfinishedName {
 public:
  // ".TARGET.sten-XXXXXX", a new one each time. `directory` stays open while this lives.
  UnfinishedName(int directory, const std::string& target);
  ~UnfinishedName();
  UnfinishedName(const UnfinishedName&) = delete;
  UnfinishedName& operator=(const UnfinishedName&) = delete;

  const char* c_str() const;
  // The file has another name now, or is not ours: nothing is removed.
  void forget();

 private:
  int slot_;
};

// While it lives, a process group that is sent SIGTERM when this process is interrupted.
class EndsWithUs {
 public:
  explicit EndsWithUs(pid_t group);
  ~EndsWithUs();
  EndsWithUs(const EndsWithUs&) = delete;
  EndsWithUs& operator=(const EndsWithUs&) = delete;
};

// Removes them all. Async-signal-safe: for handlers that end the process.
void cleanup_unfinished_outputs() noexcept;

// For programs: SIGINT, SIGTERM and SIGHUP end the process with 128 + the signal's number and
// nothing half-written left behind, unless the process was started with the signal ignored.
// SIGPIPE cleans up likewise and keeps its default action, so that writing to a closed pipe ends
// the process quietly.
void install_interrupt_handlers();

}  // namespace sten
