#include "libsten/io/output_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/io/remove_tree.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

Fd open_directory(int at, const char* name) {
  return Fd(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// Directories below and including `path`: their entries reach the disk.
void sync_directories(const fs::path& path) {
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_directory() && !entry.is_symlink()) {
      const Fd inner(open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (inner) fsync(inner.get());
    }
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& path, bool force)
    : path_(path), name_(printable(path)) {
  std::error_code error;
  if (path.empty()) fail_usage("the name of an output is empty");
  fs::path target = path;
  if (fs::exists(target)) target = fs::canonical(target);
  // "out/" means out.
  if (target.filename().empty()) target = target.parent_path();
  target_ = target.filename();
  if (target_.empty() || target_ == "." || target_ == "..")
    fail("{}: is no name for a new directory", name_);
  parent_path_ = target.parent_path().empty() ? "." : target.parent_path().string();
  parent_ = Fd(open(parent_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_) fail("{}: directory {}: {}", name_, quote(parent_path_), errno_text(errno));
  struct stat s = {};
  if (fstatat(parent_.get(), target_.c_str(), &s, 0) == 0) {
    if (!S_ISDIR(s.st_mode)) fail_usage("{}: is a file, and the output will be a directory", name_);
    if (!force) fail_usage("{}: exists; --force replaces it", name_);
    replaces_ = true;
    mode_ = s.st_mode & 07777;
  }
  remove_stale();
  make_hidden();
}

// What a killed process left: hidden directories of this path that nobody has locked.
void OutputDirectory::remove_stale() const {
  const std::string prefix = hidden_prefix(target_);
  std::vector<std::string> stale;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(fdopendir(dup(parent_.get())), closedir);
  if (!all) return;
  rewinddir(all.get());
  while (const dirent* entry = readdir(all.get()))
    if (std::string_view(entry->d_name).starts_with(prefix)) stale.emplace_back(entry->d_name);
  for (const std::string& name : stale) {
    const Fd inner = open_directory(parent_.get(), name.c_str());
    if (inner && flock(inner.get(), LOCK_EX | LOCK_NB) == 0)
      remove_tree(parent_.get(), name.c_str());
  }
}

void OutputDirectory::make_hidden() {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    hidden_.emplace(parent_.get(), target_);
    if (mkdirat(parent_.get(), hidden_->c_str(), 0777) != 0) {
      const int error = errno;
      hidden_->forget();
      if (error == EEXIST) continue;
      fail("{}: directory {}: {}", name_, quote(parent_path_), errno_text(error));
    }
    inside_ = open_directory(parent_.get(), hidden_->c_str());
    // Another process may have taken it for a stale one before the lock was there.
    if (!inside_ || flock(inside_.get(), LOCK_EX | LOCK_NB) != 0 ||
        faccessat(parent_.get(), hidden_->c_str(), F_OK, 0) != 0)
      continue;
    if (replaces_ && fchmod(inside_.get(), mode_) != 0) fail_with(errno);
    return;
  }
  fail("{}: no name for a temporary directory is free", name_);
}

std::string OutputDirectory::file(const std::string& relative) const {
  return fs::path(parent_path_) / hidden_->c_str() / relative;
}

std::unique_ptr<OutputFile> OutputDirectory::new_file(const std::string& relative) const {
  return std::make_unique<OutputFile>(file(relative), false, fs::path(path_) / relative);
}

void OutputDirectory::make_directory(const std::string& relative, unsigned mode) const {
  const fs::path path = file(relative);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("{}: {}: {}", name_, quote(relative), error.message());
  chmod(path.c_str(), mode);
}

void OutputDirectory::commit() {
  sync_directories(file(""));
  if (fsync(inside_.get()) != 0 && errno != EINVAL) fail_with(errno);
  const int at = parent_.get();
  const char* hidden = hidden_->c_str();
  const char* target = target_.c_str();
  if (!replaces_) {
    if (renameat2(at, hidden, at, target, RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST)
        fail_usage("{}: was created by another process meanwhile; --force replaces it", name_);
      if (errno != EINVAL && errno != ENOSYS) fail_with(errno);
      // A rename onto a directory succeeds only if that is empty.
      if (renameat(at, hidden, at, target) != 0) fail_with(errno);
    }
    hidden_->forget();
  } else if (renameat2(at, hidden, at, target, RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) fail_with(errno);
    // A file system without exchange: between two renames there is no directory of that name, but
    // the old one is whole beside it.
    UnfinishedName old(at, target_);
    if (renameat(at, target, at, old.c_str()) != 0) fail_with(errno);
    if (renameat(at, hidden, at, target) != 0) {
      const int error = errno;
      if (renameat(at, old.c_str(), at, target) == 0) old.forget();
      fail_with(error);
    }
    hidden_->forget();
  }
  if (fsync(at) != 0 && errno != EINVAL) fail_with(errno);
  hidden_.reset();  // after an exchange that removes the old directory
}

void OutputDirectory::fail_with(int error) const { fail("{}: {}", name_, errno_text(error)); }

}  // namespace sten
