// SPDX-License-Identifier: Apache-2.0
// File descriptors: ownership, complete reads and writes, nameless files.
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

// The text of an errno: "No space left on device".
std::string errno_text(int error);

// Writes all data, repeating interrupted and partial writes. Returns 0, or the errno of the failed
// call.
int write_all(int fd, std::span<const std::byte> data);
int write_all_at(int fd, std::uint64_t offset, std::span<const std::byte> data);
// Reads data.size() bytes. Returns 0, or the errno; EIO if the file is shorter.
int read_all_at(int fd, std::uint64_t offset, std::span<std::byte> data);
// Reads at most data.size() bytes; `count` is 0 only at the end of the file.
int read_some(int fd, std::span<std::byte> data, std::size_t& count);

// Copies n bytes between files, in the kernel if possible. Returns 0, or the errno of the failed
// call; EIO if the source is shorter.
int copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
               std::uint64_t n);

// $TMPDIR, or /tmp.
std::string temporary_directory();
// An empty nameless file in the temporary directory, for reading and writing. Error that starts
// with `name`, the purpose of the file.
Fd nameless_file(const std::string& name);

// The descriptor of this process that a path means: N of "/dev/fd/N", 1 of "/dev/stdout".
std::optional<int> descriptor_named(const std::string& path);

}  // namespace sten
