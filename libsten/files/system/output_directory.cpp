// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/output_directory.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/output_manifest.h"
#include "libsten/files/system/overwrite.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/system/remove_tree.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

Fd open_directory(int at, const char* name) {
  return Fd(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

bool exists(int at, const std::string& name) {
  return faccessat(at, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// Syncs `path` and the directories below it.
void sync_directories(const fs::path& path) {
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_directory() && !entry.is_symlink()) {
      const Fd inner(open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (inner) fsync(inner.get());
    }
}

bool is_home(const fs::path& path) {
  const auto is = [&](const char* home) {
    std::error_code none;
    return home && *home && fs::equivalent(path, home, none);
  };
  const passwd* user = getpwuid(getuid());
  return is(std::getenv("HOME")) || (user && is(user->pw_dir)) || path.parent_path() == "/home";
}

// Refuses paths that cannot be results of an earlier run, whatever they contain.
void refuse_special(const std::string& name, const fs::path& path) {
  std::error_code none;
  const fs::path here = fs::current_path(none);
  if (path == "/") fail_usage("{}: the root directory is never replaced", name);
  if (!none && path == here) fail_usage("{}: the working directory is never replaced", name);
  if (!none && lies_in(here, path))
    fail_usage("{}: a parent of the working directory is never replaced", name);
  if (is_home(path)) fail_usage("{}: a home directory is never replaced", name);
}

void refuse_foreign(const std::string& name, const std::string& directory) {
  constexpr std::size_t shown = 5;
  auto foreign = foreign_entries(directory, shown + 1);
  if (foreign.empty()) return;
  std::ranges::sort(foreign);
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, foreign.size()); ++i)
    text += (i ? ", " : "") + quote(foreign[i]);
  fail_usage("{}: not replaced, as a run did not write these entries or they changed since: {}{}",
             name, text, foreign.size() > shown ? ", ..." : "");
}

}  // namespace

OutputDirectory::Location OutputDirectory::find_location(const std::string& path, bool force) {
  if (path.empty()) fail_usage("empty output name");
  const std::string name = printable(path);
  const fs::path target = resolved(path);
  Location at;
  struct stat s = {};
  const bool is_present = stat(target.c_str(), &s) == 0;
  if (is_present) {
    if (!S_ISDIR(s.st_mode)) fail_usage("{}: expected a directory, got a file", name);
    refuse_special(name, target);
    if (!force) fail_usage("{}: exists (use {} to overwrite)", name, overwrite_option);
    refuse_foreign(name, target);
    at.old_mode = s.st_mode & 07777;
  }
  at.target = target.filename();
  at.parent_path = target.parent_path();
  at.parent = Fd(open(at.parent_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.parent || faccessat(at.parent.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    fail("{}: directory {}: {}", name, quote(at.parent_path), errno_text(errno));
  return at;
}

void OutputDirectory::check(const std::string& path, bool force) { find_location(path, force); }

OutputDirectory::OutputDirectory(const std::string& path, bool force)
    : path_(path), name_(printable(path)), force_(force), at_(find_location(path, force)) {
  if (settle_stale()) at_ = find_location(path, force);
  make_hidden();
}

std::string OutputDirectory::old_path() const { return fs::path(at_.parent_path) / at_.target; }

// Cleans up after killed runs: removes hidden directories without a lock, and restores an old
// directory that was moved aside. Returns whether it was restored.
bool OutputDirectory::settle_stale() const {
  const int at = at_.parent.get();
  for (int i = 0; i < hidden_names; ++i) remove_stale(at, hidden_name(at_.target, i));
  const std::string backup = backup_name(at_.target);
  if (at_.old_mode) {
    remove_stale(at, backup);
    return false;
  }
  if (!exists(at, backup) || renameat(at, backup.c_str(), at, at_.target.c_str()) != 0)
    return false;
  warn("{}: restored, after a killed run had moved this directory", name_);
  return true;
}

void OutputDirectory::make_hidden() {
  const int at = at_.parent.get();
  for (int i = 0; i < hidden_names; ++i) {
    const std::string name = hidden_name(at_.target, i);
    if (exists(at, name)) continue;
    hidden_.emplace(at, name);
    if (mkdirat(at, name.c_str(), 0777) != 0) {
      const int error = errno;
      hidden_->forget();
      if (error == EEXIST) continue;
      fail("{}: directory {}: {}", name_, quote(at_.parent_path), errno_text(error));
    }
    inside_ = open_directory(at, name.c_str());
    if (inside_ && lock_name(inside_.get(), at, name.c_str())) return;
    hidden_->forget();  // another process took it for stale before it was locked
  }
  fail("{}: {} other runs are writing this directory", name_, hidden_names);
}

std::string OutputDirectory::file(const std::string& relative) const {
  return fs::path(at_.parent_path) / hidden_->c_str() / relative;
}

std::unique_ptr<OutputFile> OutputDirectory::new_file(const std::string& relative) const {
  return std::make_unique<OutputFile>(file(relative), false, fs::path(path_) / relative);
}

void OutputDirectory::make_directory(const std::string& relative, unsigned mode) {
  std::error_code error;
  fs::create_directories(file(relative), error);
  if (error) fail("{}: {}: {}", name_, quote(relative), error.message());
  modes_.emplace_back(relative, mode);
}

void OutputDirectory::commit() {
  Output* self = this;
  commit_together({&self, 1});
}

void OutputDirectory::write_manifest() const {
  const auto out = new_file(output_manifest_name);
  const std::string manifest = make_output_manifest(file(""));
  out->write(std::as_bytes(std::span(manifest)));
  out->commit();
}

void OutputDirectory::prepare() {
  sync_directories(file(""));
  if (at_.old_mode) modes_.emplace(modes_.begin(), "", *at_.old_mode);
  // Nested directories first, since restricted permissions make their contents unreachable.
  for (auto m = modes_.rbegin(); m != modes_.rend(); ++m) {
    const Fd directory(open(file(m->first).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || fchmod(directory.get(), m->second) != 0) fail_with(errno);
    (void)fsync(directory.get());
  }
  if (fsync(inside_.get()) != 0 && errno != EINVAL) fail_with(errno);
}

void OutputDirectory::publish(bool) {
  const int at = at_.parent.get();
  const char *hidden = hidden_->c_str(), *target = at_.target.c_str();
  // Other runs may create or remove their directory at the same time.
  for (int attempts = 0; attempts < 100; ++attempts) {
    if (detail::rename_with(at, hidden, target, RENAME_NOREPLACE) == 0) {
      hidden_->forget();
      published_ = created;
      return;
    }
    if (errno == EINVAL || errno == ENOSYS) {
      // Without RENAME_NOREPLACE, a rename succeeds only onto an empty directory.
      if (!exists(at, target) && renameat(at, hidden, at, target) == 0) {
        hidden_->forget();
        published_ = created;
        return;
      }
      if (!exists(at, target)) fail_with(errno);
    } else if (errno != EEXIST) {
      fail_with(errno);
    }
    if (!force_)
      fail_usage("{}: created by another process meanwhile (use {} to overwrite)", name_,
                 overwrite_option);
    // Checked again, since hours may have passed.
    refuse_foreign(name_, old_path());
    if (detail::rename_with(at, hidden, target, RENAME_EXCHANGE) == 0) {
      published_ = exchanged;
      return check_replaced();
    }
    if (errno == EINVAL || errno == ENOSYS) {
      put_aside_and_replace();
      return check_replaced();
    }
    if (errno == EXDEV)
      fail(
          "{}: the file system cannot move the old directory (a lower overlay layer?); "
          "remove that directory or name another output",
          name_);
    if (errno != ENOENT) fail_with(errno);
  }
  fail("{}: other runs keep replacing this directory", name_);
}

// For file systems without exchange of names. Between two renames the directory is missing, but the
// old one is whole beside it, and the next run restores it.
void OutputDirectory::put_aside_and_replace() {
  const int at = at_.parent.get();
  const std::string backup = backup_name(at_.target);
  const char* target = at_.target.c_str();
  if (renameat(at, target, at, backup.c_str()) != 0) fail_with(errno);
  if (renameat(at, hidden_->c_str(), at, target) != 0) {
    const int error = errno;
    (void)renameat(at, backup.c_str(), at, target);
    fail_with(error);
  }
  hidden_->forget();
  hidden_.emplace(at, backup);
  published_ = put_aside;
}

// Refuses to lose entries that were added at the last moment.
void OutputDirectory::check_replaced() {
  try {
    refuse_foreign(name_, fs::path(at_.parent_path) / hidden_->c_str());
  } catch (const Error&) {
    retract();
    throw;
  }
}

void OutputDirectory::retract() noexcept {
  const int at = at_.parent.get();
  const char* target = at_.target.c_str();
  if (published_ == exchanged) {
    (void)detail::rename_with(at, hidden_->c_str(), target, RENAME_EXCHANGE);
  } else if (published_ == created) {
    remove_tree(at, target);
  } else if (published_ == put_aside) {
    remove_tree(at, target);
    (void)renameat(at, hidden_->c_str(), at, target);
    hidden_->forget();
  }
  published_ = pending;
}

void OutputDirectory::settle() {
  if (fsync(at_.parent.get()) != 0 && errno != EINVAL) fail_with(errno);
  hidden_.reset();  // after an exchange that removes the old directory
}

void OutputDirectory::fail_with(int error) const { fail("{}: {}", name_, errno_text(error)); }

}  // namespace sten
