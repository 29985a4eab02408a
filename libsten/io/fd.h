// File descriptors: ownership, whole reads and writes, files without a name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace sten {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "No space left on device"
std::string errno_text(int error);

// All of the data, over interruptions and partial transfers. 0, or the errno of what failed.
int write_all(int fd, std::span<const std::byte> data);
int write_all_at(int fd, std::uint64_t offset, std::span<const std::byte> data);
// EIO where the file ends before the data do.
int read_all_at(int fd, std::uint64_t offset, std::span<std::byte> data);
// At most data.size() bytes into `count`; 0 bytes only at the end.
int read_some(int fd, std::span<std::byte> data, std::size_t& count);

// n bytes from one file to another, within the kernel where it can. 0, or the errno of what failed;
// EIO where the source ends early.
int copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
               std::uint64_t n);

// $TMPDIR, or /tmp.
std::string temporary_directory();
// An empty file in the temporary directory, for reading and writing, that vanishes when it is
// closed. Error that begins with `name`, what the file is for.
Fd nameless_file(const std::string& name);

// The N of "/dev/fd/N", 1 of "/dev/stdout", ...: paths that mean a descriptor of this process.
std::optional<int> descriptor_named(const std::string& path);

}  // namespace sten
