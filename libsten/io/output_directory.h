// Directories that come into being whole or not at all.
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

// Built in a hidden directory beside its final place, which it takes at commit() in one rename.
// Without a commit nothing is left behind; only after SIGKILL the hidden one may remain, and the
// next OutputDirectory of the same path removes it.
//
// One with a record of what is in it can be replaced by a later run: an old directory with entries
// that its record does not have, or has otherwise, stays.
class OutputDirectory final : public Output {
 public:
  // Error where it is clear already that nothing can be written there. Error (usage) where the path
  // exists and `force` is false; and with force where it is a file, the working directory, the
  // root, a home directory, or one that the working directory lies in, or has foreign entries,
  // which the message names. The old directory stays whole until the commit.
  OutputDirectory(const std::string& path, bool force);
  // The same checks, and nothing is made.
  static void check(const std::string& path, bool force);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // Where to write what will be `relative` in it.
  std::string file(const std::string& relative) const;
  // A new file in it, which messages call by its final path.
  std::unique_ptr<OutputFile> new_file(const std::string& relative) const;
  // A directory in it, and those it lies in, as far as they are missing; it has its mode, a set of
  // permission bits, from the commit on.
  void make_directory(const std::string& relative, unsigned mode);

  // Of all that is in it by now; output_record.h.
  void write_record() const;

  // On the disk, and in place under its name. Once; every file in it was synced by its writer.
  void commit();
  void prepare() override;
  void publish(bool revocable) override;
  void retract() noexcept override;
  void settle() override;
  bool is_stream() const override { return false; }

  const std::string& name() const { return name_; }  // printable

 private:
  struct Place {
    std::string target, parent_path;  // the last component of the path, links followed
    Fd parent;
    std::optional<unsigned> old_mode;  // of the directory there is
  };
  static Place find_place(const std::string& path, bool force);

  bool settle_stale() const;
  void make_hidden();
  void put_aside_and_replace();
  void check_replaced();
  std::string old_path() const;
  [[noreturn]] void fail_with(int error) const;

  std::string path_, name_;
  bool force_;
  Place at_;
  std::vector<std::pair<std::string, unsigned>> modes_;  // of directories in it
  std::optional<UnfinishedName> hidden_;                 // after an exchange, the old one's name
  Fd inside_;  // the hidden directory, locked while this process writes it
  enum { pending, created, exchanged, put_aside } published_ = pending;
};

}  // namespace sten
