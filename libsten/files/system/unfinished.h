// SPDX-License-Identifier: Apache-2.0
// Unfinished files: named temporary files and directories, which are removed if the process is
// interrupted.
#pragma once
#include <sys/types.h>

#include <string>

namespace sten {

// Limit of concurrent runs that write the same output.
inline constexpr int hidden_names = 16;

// The hidden name number `number` beside `target`: ".TARGET.sten-N-HASH", within NAME_MAX. The hash
// of both avoids clashes with other files.
std::string hidden_name(const std::string& target, int number);
// The name of an old output that is moved aside, on file systems without exchange of names.
std::string backup_name(const std::string& target);

// Locks an open file or directory that is being written; the lock ends when `fd` is closed. False
// if another process holds the lock, or if `name` in `directory` is another file by now.
bool lock_name(int fd, int directory, const char* name);

// Removes a hidden name left by a killed run, unless it is locked.
void remove_stale(int directory, const std::string& name);

// A name in a directory, registered with cleanup_unfinished_outputs() before the file exists. The
// destructor removes the file, or the directory and its contents.
class UnfinishedName {
 public:
  // `directory` must stay open during the lifetime of this object.
  UnfinishedName(int directory, const std::string& name);
  ~UnfinishedName();
  UnfinishedName(const UnfinishedName&) = delete;
  UnfinishedName& operator=(const UnfinishedName&) = delete;

  const char* c_str() const;
  // Unregisters: the file has another name now, or belongs to another process.
  void forget();

 private:
  int slot_;
};

// Blocks forever if a signal is ending the process, so that removed outputs stay removed. Called
// before creating or renaming a file.
void wait_if_ending();
// From now on, wait_if_ending() blocks. Async-signal-safe.
void set_ending() noexcept;

// Removes all registered names. Async-signal-safe, for handlers that end the process.
void cleanup_unfinished_outputs() noexcept;

}  // namespace sten
