// SPDX-License-Identifier: Apache-2.0
// Memory-mapped files for reading.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sten {

// A handle; copies and owners share the map.
class MappedFile {
 public:
  // Maps a regular file, which may be empty. Error for other files.
  static MappedFile open(const std::string& path);
  // Maps an open regular file from its start; takes ownership of the descriptor.
  static MappedFile adopt_fd(int fd, std::string name);

  std::span<const std::byte> bytes() const;
  // The name in messages; printable.
  const std::string& name() const;
  // An owner that keeps the map alive, for arrays that borrow from bytes().
  std::shared_ptr<const void> owner() const { return map_; }

  // Releases the memory of the whole pages in [begin, end); later reads load them from the file.
  // Bounds the resident memory of sequential reads.
  void drop(std::size_t begin, std::size_t end) const;

  // Error if the file changed since it was mapped. Faults occur only for whole missing pages; in
  // the last page, a shortened file reads as zeros.
  void check_unchanged() const;

  // For reads at any offset; open as long as the map.
  int descriptor() const;
  // Identity of the file, independent of its name.
  dev_t device() const;
  ino_t inode() const;

 private:
  struct Map;
  explicit MappedFile(std::shared_ptr<const Map> map) : map_(std::move(map)) {}

  std::shared_ptr<const Map> map_;
};

// For programs. Reading a mapped file past its new end raises SIGBUS; the handler then ends the
// process with exit code 1 and the line "PROGRAM: FILE: the file shrank while it was being read",
// and removes unfinished outputs. Other SIGBUS keep their default action.
void install_fault_handler(const char* program);

}  // namespace sten
