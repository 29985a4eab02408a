// Files mapped into memory for reading.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sten {

// A handle: copies share the map, which lives as long as the last of them and of the owners.
class MappedFile {
 public:
  // A regular file, which may be empty. Error for anything else.
  static MappedFile open(const std::string& path);
  // A regular file that is already open, from its beginning; takes the descriptor over.
  static MappedFile adopt_fd(int fd, std::string name);

  std::span<const std::byte> bytes() const;
  // What error messages call it; printable.
  const std::string& name() const;
  // Keeps the map alive: what an Array that borrows from bytes() holds.
  std::shared_ptr<const void> owner() const { return map_; }

  // Lets go of the memory of the whole pages within [begin, end); reading them again gets them
  // from the file. Bounds resident memory behind a cursor.
  void drop(std::size_t begin, std::size_t end) const;

  // Error if the file was written to since it was mapped. A fault tells only of whole pages that
  // went away; within the last page a shorter file reads as zeros.
  void check_unchanged() const;

  // For reading at any offset; open as long as the map.
  int descriptor() const;
  // Which file it is, under whatever name.
  dev_t device() const;
  ino_t inode() const;

 private:
  struct Map;
  explicit MappedFile(std::shared_ptr<const Map> map) : map_(std::move(map)) {}

  std::shared_ptr<const Map> map_;
};

// For programs: reading a mapped file past an end that has moved is a SIGBUS. It then ends the
// process with one line, "PROGRAM: FILE: the file shrank while it was being read", exit code 1 and
// no unfinished output. Any other SIGBUS keeps its default action.
void install_fault_handler(const char* program);

}  // namespace sten
