// Directories that appear whole or not at all.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsten/io/atomic_file.h"
#include "libsten/io/fd.h"
#include "libsten/io/unfinished.h"

namespace sten {

// Built as a hidden directory beside its final place, which it takes at commit() in one rename.
// Without a commit nothing is left behind. Only after SIGKILL may the hidden directory remain, and
// the next OutputDirectory of the same path removes it.
//
// A later run can replace a directory that has a record of its contents. It leaves an old directory
// alone whose entries are not, or not in this form, in the record.
class OutputDirectory final : public Output {
 public:
  // Error if it is clear already that nothing can be written there. Error (usage) if the path
  // exists and `force` is false; and with force, if it is a file, the root, a home directory, or a
  // directory that is or contains the working directory, or if it has foreign entries, which the
  // message names. The old directory stays whole until the commit.
  OutputDirectory(const std::string& path, bool force);
  // Makes the same checks, and creates nothing.
  static void check(const std::string& path, bool force);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // The path at which to write the file that will be `relative` in it.
  std::string file(const std::string& relative) const;
  // A new file in it, which messages call by its final path.
  std::unique_ptr<OutputFile> new_file(const std::string& relative) const;
  // Makes a directory in it, and missing parents of that. From the commit on it has its mode, a set
  // of permission bits.
  void make_directory(const std::string& relative, unsigned mode);

  // Records everything that is in it by now; see output_manifest.h.
  void write_manifest() const;

  // Puts it on the disk, and in place under its name. Call it once, after each file's writer has
  // synced the file.
  void commit();
  void prepare() override;
  void publish(bool revocable) override;
  void retract() noexcept override;
  void settle() override;
  bool is_stream() const override { return false; }

  const std::string& name() const { return name_; }  // printable

 private:
  struct Location {
    std::string target, parent_path;  // the last component of the path, links followed
    Fd parent;
    std::optional<unsigned> old_mode;  // of the directory there is
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
  std::vector<std::pair<std::string, unsigned>> modes_;  // of directories in it
  std::optional<UnfinishedName> hidden_;                 // after an exchange, the old one's name
  Fd inside_;  // the hidden directory, locked while this process writes it
  enum { pending, created, exchanged, put_aside } published_ = pending;
};

}  // namespace sten
