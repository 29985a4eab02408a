// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/fd.h"

namespace sten {
namespace {

MappedFile open_stdin() {
  const std::string name = "standard input";
  if (isatty(STDIN_FILENO)) fail_usage("{}: expected a file or a pipe, got a terminal", name);
  struct stat s;
  if (fstat(STDIN_FILENO, &s) != 0) fail("{}: {}", name, errno_text(errno));
  if (S_ISDIR(s.st_mode)) fail("{}: is a directory", name);
  // "< FILE" needs no copy if nobody has read from it.
  if (S_ISREG(s.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    const int copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) fail("{}: {}", name, errno_text(errno));
    return MappedFile::adopt_fd(copy, name);
  }
  return spool(STDIN_FILENO, name);
}

}  // namespace

MappedFile spool(int fd, const std::string& name) {
  Fd file = nameless_file(name);
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::size_t n = 0;;) {
    if (const int error = read_some(fd, buffer, n)) fail("{}: {}", name, errno_text(error));
    if (n == 0) break;
    if (const int error = write_all(file.get(), std::span(buffer).first(n)))
      fail("{}: temporary copy in {}: {} (set TMPDIR to another directory)", name,
           printable(temporary_directory()), errno_text(error));
  }
  return MappedFile::adopt_fd(file.release(), name);
}

MappedFile open_input(const std::string& path) {
  if (path.empty()) fail_usage("empty input name");
  if (path == "-") return open_stdin();
  const std::string name = printable(path);
  struct stat s;
  if (stat(path.c_str(), &s) != 0) fail("{}: {}", name, errno_text(errno));
  if (S_ISBLK(s.st_mode) || S_ISCHR(s.st_mode))
    fail("{}: expected a file or a pipe, got a device", name);
  if (S_ISFIFO(s.st_mode)) {
    const Fd pipe(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pipe) fail("{}: {}", name, errno_text(errno));
    return spool(pipe.get(), name);
  }
  if (S_ISSOCK(s.st_mode)) {
    // A socket cannot be opened by name, but an inherited descriptor can be read.
    const std::optional<int> fd = descriptor_named(path);
    if (!fd) fail("{}: expected a file or a pipe, got a socket", name);
    return spool(*fd, name);
  }
  return MappedFile::open(path);
}

}  // namespace sten
