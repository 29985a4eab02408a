// SPDX-License-Identifier: Apache-2.0
// Atomic output directories.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/unfinished.h"

namespace sten {

// A directory that is built under a hidden name and takes its final name at commit(), in one
// rename. Without a commit, nothing is left; after SIGKILL, the next OutputDirectory of the same
// path removes the hidden directory.
//
// A run can replace a directory that has an output manifest, unless entries are missing from the
// manifest or were changed.
class OutputDirectory final : public Output {
 public:
  // Error if the path cannot be written. Error (usage) if the path exists and `force` is false.
  // With `force`, Error (usage) for a file, the root, a home directory, a directory that is or
  // contains the working directory, and one with foreign entries, which the message names. The old
  // directory stays whole until the commit.
  OutputDirectory(const std::string& path, bool force);
  // Makes the same checks and creates nothing.
  static void check(const std::string& path, bool force);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // The path at which to write the file `relative`.
  std::string file(const std::string& relative) const;
  // Creates a file, whose name in messages is its final path.
  std::unique_ptr<OutputFile> new_file(const std::string& relative) const;
  // Creates a directory and its missing parents. `mode`: permission bits, set at commit().
  void make_directory(const std::string& relative, unsigned mode);

  // Writes the output manifest of all entries; see output_manifest.h.
  void write_manifest() const;

  // Syncs the directory and gives it its name. Call once, after each file is synced.
  void commit();
  void prepare() override;
  void publish(bool revocable) override;
  void retract() noexcept override;
  void settle() override;
  bool is_stream() const override { return false; }

  const std::string& name() const { return name_; }  // printable

 private:
  struct Location {
    std::string target, parent_path;  // the last component of the path, with links resolved
    Fd parent;
    std::optional<unsigned> old_mode;  // of the existing directory
  };
  static Location find_location(const std::string& path, bool force);

  bool settle_stale() const;
  void make_hidden();
  void put_aside_and_replace();
  void check_replaced();
  std::string old_path() const;
  [[noreturn]] void fail_with(int error) const;

  std::string path_, name_;
  bool force_;
  Location at_;
  std::vector<std::pair<std::string, unsigned>> modes_;  // of directories inside
  std::optional<UnfinishedName> hidden_;  // after an exchange, the name of the old directory
  Fd inside_;                             // the hidden directory, locked while it is written
  enum { pending, created, exchanged, put_aside } published_ = pending;
};

}  // namespace sten
