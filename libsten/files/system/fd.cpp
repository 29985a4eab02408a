// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// Whether to repeat a call that failed with errno. Waits for a pipe that another process made
// non-blocking.
bool again(int fd, short event) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd wait{fd, event, 0};
  return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

template <class Call>
int write_whole(int fd, std::span<const std::byte> data, Call call) {
  while (!data.empty()) {
    const ssize_t n = call(data);
    if (n >= 0) {
      data = data.subspan(static_cast<std::size_t>(n));
    } else if (!again(fd, POLLOUT)) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

std::string errno_text(int error) { return std::generic_category().message(error); }

int write_all(int fd, std::span<const std::byte> data) {
  return write_whole(fd, data, [&](std::span<const std::byte> rest) {
    return write(fd, rest.data(), rest.size());
  });
}

int write_all_at(int fd, std::uint64_t offset, std::span<const std::byte> data) {
  const std::size_t all = data.size();
  return write_whole(fd, data, [&](std::span<const std::byte> rest) {
    return pwrite(fd, rest.data(), rest.size(), static_cast<off_t>(offset + all - rest.size()));
  });
}

int read_all_at(int fd, std::uint64_t offset, std::span<std::byte> data) {
  while (!data.empty()) {
    const ssize_t n = pread(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (n == 0) return EIO;
    if (n > 0) {
      data = data.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    } else if (!again(fd, POLLIN)) {
      return errno;
    }
  }
  return 0;
}

int read_some(int fd, std::span<std::byte> data, std::size_t& count) {
  for (;;) {
    const ssize_t n = read(fd, data.data(), data.size());
    if (n >= 0) {
      count = static_cast<std::size_t>(n);
      return 0;
    }
    if (!again(fd, POLLIN)) return errno;
  }
}

int copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
               std::uint64_t n) {
  constexpr std::uint64_t piece = std::uint64_t{64} << 20;  // bounds the delay of a signal
  while (n > 0) {
    auto in = static_cast<off_t>(from_offset), out = static_cast<off_t>(to_offset);
    const ssize_t moved = copy_file_range(from, &in, to, &out, std::min(n, piece), 0);
    if (moved == 0) return EIO;
    if (moved < 0) {
      if (errno == EINTR) continue;
      if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
      break;  // unsupported between these file systems
    }
    n -= static_cast<std::uint64_t>(moved);
    from_offset += static_cast<std::uint64_t>(moved);
    to_offset += static_cast<std::uint64_t>(moved);
  }
  std::vector<std::byte> buffer(std::min<std::uint64_t>(n, std::uint64_t{1} << 20));
  while (n > 0) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(n, buffer.size()));
    if (const int error = read_all_at(from, from_offset, part)) return error;
    if (const int error = write_all_at(to, to_offset, part)) return error;
    n -= part.size();
    from_offset += part.size();
    to_offset += part.size();
  }
  return 0;
}

std::string temporary_directory() {
  const char* dir = std::getenv("TMPDIR");
  return dir && *dir ? dir : "/tmp";
}

Fd nameless_file(const std::string& name) {
  const std::string dir = temporary_directory();
  Fd file(open(dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {  // unsupported by some file systems; others fail here for a lasting reason
    std::string path = dir + "/sten-XXXXXX";
    file = Fd(mkostemp(path.data(), O_CLOEXEC));
    if (!file)
      fail("{}: no temporary file in {}: {} (set TMPDIR to another directory)", name,
           printable(dir), errno_text(errno));
    unlink(path.c_str());
  }
  return file;
}

std::optional<int> descriptor_named(const std::string& path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    std::int64_t n = 0;
    if (path.starts_with(prefix) &&
        parse_integer(std::string_view(path).substr(prefix.size()), n) && n >= 0 &&
        n <= std::numeric_limits<int>::max())
      return static_cast<int>(n);
  }
  return std::nullopt;
}

}  // namespace sten
