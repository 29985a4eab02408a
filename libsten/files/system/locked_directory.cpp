// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/locked_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

Fd locked_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("{}: {}", printable(path), error.message());
  Fd lock(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) fail("{}: {}", printable(path), errno_text(errno));
  // A child that a killed process forked holds the lock until it runs its program.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > patience)
      fail_usage("{}: another process uses this directory", printable(path));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return lock;
}

void check_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  // The nearest existing parent.
  while (!error && !std::filesystem::exists(std::filesystem::symlink_status(at, error)) &&
         at.has_relative_path()) {
    at = at.parent_path();
    error.clear();
  }
  if (error) fail("{}: {}", printable(path), error.message());
  const Fd directory(open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory || faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    fail("{}: directory {}: {}", printable(path), quote(at.string()), errno_text(errno));
}

}  // namespace sten
