// Directories that come into being whole or not at all.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "libsten/io/atomic_file.h"
#include "libsten/io/fd.h"
#include "libsten/io/unfinished.h"

namespace sten {

// Built in a hidden directory beside its final place, which it takes at commit() in one rename.
// Without a commit nothing is left behind; only after SIGKILL the hidden one may remain, and the
// next OutputDirectory of the same path removes it.
class OutputDirectory {
 public:
  // Error where it is clear already that nothing can be written there; Error (usage) where the path
  // exists and `force` is false. With force, an old directory stays whole until the commit; a file
  // is not replaced.
  OutputDirectory(const std::string& path, bool force);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // Where to write what will be `relative` in it.
  std::string file(const std::string& relative) const;
  // A new file in it, which messages call by its final path.
  std::unique_ptr<OutputFile> new_file(const std::string& relative) const;
  // A directory in it, and those it lies in, as far as they are missing.
  void make_directory(const std::string& relative, unsigned mode) const;
  // On the disk, and in place under its name. Once; every file in it was synced by its writer.
  void commit();

  const std::string& name() const { return name_; }  // printable

 private:
  void remove_stale() const;
  void make_hidden();
  [[noreturn]] void fail_with(int error) const;

  std::string path_, name_, target_;  // the last component of the path, links followed
  bool replaces_ = false;
  unsigned mode_ = 0;  // of the old directory
  std::string parent_path_;
  Fd parent_;
  std::optional<UnfinishedName> hidden_;
  Fd inside_;  // the hidden directory, locked while this process writes it
};

}  // namespace sten
