// Temporary files and directories that have a name, so that a process which is interrupted leaves
// none behind.
#pragma once
#include <sys/types.h>

#include <string>

namespace sten {

// So many runs can write one output at the same time.
inline constexpr int hidden_names = 16;

// ".TARGET.sten-N-HASH", a hidden name beside `target`, by its number; fits NAME_MAX. The hash
// depends on both, so that nobody else's name looks like it by chance.
std::string hidden_name(const std::string& target, int number);
// The one under which an old output stands aside where the file system cannot exchange two names.
std::string backup_name(const std::string& target);

// Takes the lock that says that somebody is still at work on an open file or directory, and which
// ends with the process; held until `fd` is closed. False where another has it, or where `name` in
// `directory` means another one by now.
bool lock_name(int fd, int directory, const char* name);

// Removes what a killed run left under a hidden name; what is locked stays.
void remove_stale(int directory, const std::string& name);

// A name in a directory, known to cleanup_unfinished_outputs() from before the file exists;
// whatever bears it, a directory with all in it too, is removed on destruction.
class UnfinishedName {
 public:
  // `directory` stays open while this lives.
  UnfinishedName(int directory, const std::string& name);
  ~UnfinishedName();
  UnfinishedName(const UnfinishedName&) = delete;
  UnfinishedName& operator=(const UnfinishedName&) = delete;

  const char* c_str() const;
  // The file has another name now, or is not ours: nothing is removed.
  void forget();

 private:
  int slot_;
};

// Does not return where a signal is ending the process: what has been cleaned up stays so. For
// threads that are about to make or rename something.
void wait_if_ending();

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
// nothing half-written left behind, which it says (interrupted.h), unless the process was started
// with the signal ignored.
// SIGPIPE cleans up likewise and keeps its default action, so that writing to a closed pipe ends
// the process quietly.
void install_interrupt_handlers();

}  // namespace sten
