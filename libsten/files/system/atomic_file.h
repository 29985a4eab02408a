// SPDX-License-Identifier: Apache-2.0
// Atomic outputs: files that appear whole or not at all.
#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "libsten/files/system/direct_write.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/mmap.h"
#include "libsten/files/system/output.h"
#include "libsten/files/system/unfinished.h"

namespace sten {

// Whether an output under the name of a symbolic link writes the target, or is an error.
enum class FinalLink { follow, refuse };

// A file that is written without a name, or under a hidden one beside its final name, which it
// takes at commit(). Without a commit, nothing is left; an old file stays whole until then. Pipes,
// devices and standard output ("-") get the data at commit().
class OutputFile final : public Output {
 public:
  // Error if the path cannot be written. Error (usage) if the file exists and `force` is false, and
  // if binary data would go to a terminal. `shown`: the name in messages instead of the path.
  OutputFile(const std::string& path, bool force, const std::string& shown = "",
             FinalLink link = FinalLink::follow);
  ~OutputFile() override = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends data.
  void write(std::span<const std::byte> data);
  // Writes at an offset; a gap before `offset` reads as zeros.
  void write_at(std::uint64_t offset, std::span<const std::byte> data);
  // Copies n bytes of the input at `from` to `offset`.
  void copy_at(std::uint64_t offset, const MappedFile& input, std::uint64_t from, std::uint64_t n);
  // Starts writing the range to the disk, to shorten commit().
  void start_writeback(std::uint64_t offset, std::uint64_t n) const;
  // Reads data that were written.
  void read_at(std::uint64_t offset, std::span<std::byte> data) const;
  std::uint64_t size() const { return size_; }

  // Syncs the file and gives it its name. Call once, after the last write.
  void commit();
  void prepare() override;
  void publish(bool revocable) override;
  void retract() noexcept override;
  void settle() override;
  bool is_stream() const override { return static_cast<bool>(through_); }

  // The name in messages; printable.
  const std::string& name() const { return name_; }

 private:
  void send_to(Fd to);
  void open_to_replace(const std::string& path, const struct stat& old);
  void open_temporary(const std::string& path, std::optional<unsigned> mode);
  int write_data(std::uint64_t offset, std::span<const std::byte> data);
  void copy_through();
  void name_data();
  void create();
  void replace(bool revocable);
  [[noreturn]] void fail_with(int error) const;
  [[noreturn]] void fail_exists(const char* when) const;

  std::string name_;
  bool force_ = false;
  FinalLink link_;
  Fd data_;                            // all data are written here first
  std::uint64_t size_ = 0;             // of data_
  std::optional<DirectWrite> direct_;  // to data_, from the first large write on
  Fd through_;                         // a pipe or device that gets a copy at commit(), or
  Fd directory_;                       // the directory and the name in it,
  std::string target_;                 // which data_ gets
  // Temporary name of data_, if it needs one; after an exchange, the name of the old file.
  std::optional<UnfinishedName> temporary_;
  enum { pending, created, replaced, exchanged } published_ = pending;
  bool committed_ = false;
};

// Error (usage) if `output` is the mapped file of `input`, by any path or link: inputs are never
// written.
void refuse_same_file(const std::string& output, const MappedFile& input);

namespace detail {
// For tests: emulate a file system without nameless files, or without exchange of names.
inline bool named_temporaries_only = false;
inline bool no_exchange = false;
// renameat2() with this emulation.
int rename_with(int directory, const char* from, const char* to, unsigned flags);
}  // namespace detail

}  // namespace sten
