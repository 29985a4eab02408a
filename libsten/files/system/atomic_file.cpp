// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/overwrite.h"

namespace sten {
namespace {

constexpr mode_t permissions = 0777;

std::string name_of_output(const std::string& path) {
  return path == "-" ? "standard output" : printable(path);
}

// The path with links resolved, whether the target exists or not.
std::filesystem::path follow_links(std::filesystem::path path) {
  std::error_code error;
  // The kernel's limit of links.
  for (int i = 0; i < 40; ++i) {
    const std::filesystem::path to = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / to;
  }
  return path;
}

std::string path_of(const Fd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

// Opens a nameless file in the directory. None if the file system cannot name the file later, or
// /proc is missing (errno: EOPNOTSUPP), or after another error.
Fd open_nameless(const Fd& directory, mode_t mode) {
  errno = EOPNOTSUPP;
  if (detail::named_temporaries_only) return Fd();
  Fd file(openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  if (file && access(path_of(file).c_str(), F_OK) != 0) {
    errno = EOPNOTSUPP;
    return Fd();
  }
  return file;
}

bool means_unsupported(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == ENOENT || error == EINVAL;
}

int give_name(const Fd& file, const Fd& directory, const char* name) {
  return linkat(AT_FDCWD, path_of(file).c_str(), directory.get(), name, AT_SYMLINK_FOLLOW);
}

}  // namespace

OutputFile::OutputFile(const std::string& path, bool force, const std::string& shown,
                       FinalLink link)
    : name_(shown.empty() ? name_of_output(path) : printable(shown)), force_(force), link_(link) {
  if (path.empty()) fail_usage("empty output name");
  const std::optional<int> descriptor = path == "-" ? STDOUT_FILENO : descriptor_named(path);
  struct stat s = {};
  if (descriptor) {
    send_to(Fd(fcntl(*descriptor, F_DUPFD_CLOEXEC, 0)));
  } else if ((link_ == FinalLink::follow ? stat : lstat)(path.c_str(), &s) != 0) {
    if (errno != ENOENT) fail_with(errno);
    open_temporary(path, std::nullopt);
  } else if (S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode)) {
    send_to(Fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY)));
  } else if (S_ISDIR(s.st_mode)) {
    fail("{}: is a directory", name_);
  } else if (!S_ISREG(s.st_mode)) {
    fail("{}: expected a file or a pipe", name_);
  } else if (!force_) {
    fail_exists("exists");
  } else {
    open_to_replace(path, s);
  }
}

void OutputFile::send_to(Fd to) {
  if (!to) fail_with(errno);
  if ((fcntl(to.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) fail("{}: not open for writing", name_);
  if (isatty(to.get())) fail_usage("{}: binary output cannot be written to a terminal", name_);
  through_ = std::move(to);
  data_ = nameless_file(name_);
}

void OutputFile::open_to_replace(const std::string& path, const struct stat& old) {
  open_temporary(path, old.st_mode & permissions);
  // Readers of the old file can read the new one. Only root can change the owner.
  const auto give = [&](uid_t owner) { return fchown(data_.get(), owner, old.st_gid) == 0; };
  [[maybe_unused]] const bool given = give(old.st_uid) || give(static_cast<uid_t>(-1));
}

// `mode`: of the file to be replaced; none: as the umask decides.
void OutputFile::open_temporary(const std::string& path, std::optional<unsigned> mode) {
  const std::filesystem::path target =
      link_ == FinalLink::follow ? follow_links(path) : std::filesystem::path(path);
  target_ = target.filename();
  if (target_.empty()) fail("{}: expected a file name, got a directory name", name_);
  const std::string parent = target.parent_path().empty() ? "." : target.parent_path();
  directory_ = Fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A directory that may be written but not read can be used, though not synced.
  if (!directory_ && errno == EACCES)
    directory_ = Fd(open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) fail("{}: directory {}: {}", name_, quote(parent), errno_text(errno));

  const mode_t creation = mode ? 0600 : 0666;
  for (int i = 0; i < hidden_names; ++i) remove_stale(directory_.get(), hidden_name(target_, i));
  data_ = open_nameless(directory_, creation);
  for (int i = 0; i < hidden_names && !data_ && (i > 0 || means_unsupported(errno)); ++i) {
    const std::string name = hidden_name(target_, i);
    if (faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
    temporary_.emplace(directory_.get(), name);
    data_ = Fd(openat(directory_.get(), temporary_->c_str(),
                      O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, creation));
    if (data_ && lock_name(data_.get(), directory_.get(), temporary_->c_str())) break;
    if (data_) errno = EEXIST;  // another process took the file for a stale one
    const int error = errno;
    data_ = Fd();
    temporary_->forget();
    errno = error;
    if (error != EEXIST) break;
  }
  if (!data_) fail("{}: directory {}: {}", name_, quote(parent), errno_text(errno));
  if (mode && fchmod(data_.get(), *mode) != 0) fail_with(errno);
}

void OutputFile::fail_with(int error) const {
  // Mapped pages of the input are gone.
  if (error == EFAULT) fail("{}: the input shrank during the run", name_);
  fail("{}: {}", name_, errno_text(error));
}

void OutputFile::fail_exists(const char* when) const {
  fail_usage("{}: {} (use {} to overwrite)", name_, when, overwrite_option);
}

void OutputFile::write(std::span<const std::byte> data) { write_at(size_, data); }

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> data) {
  assert(!committed_);
  if (const int error = write_data(offset, data)) {
    if (through_ && error != EFAULT)
      fail("{}: temporary copy in {}: {} (set TMPDIR to another directory)", name_,
           printable(temporary_directory()), errno_text(error));
    fail_with(error);
  }
  if (!data.empty()) size_ = std::max<std::uint64_t>(size_, offset + data.size());
}

// Returns 0, or the errno of the failed call.
int OutputFile::write_data(std::uint64_t offset, std::span<const std::byte> data) {
  const int to = data_.get();
  if (data.size() < DirectWrite::least || through_) return write_all_at(to, offset, data);
  if (!direct_) direct_.emplace(to);
  const auto [skipped, bytes] = direct_->write_at(offset, data);
  if (const int error = write_all_at(to, offset, data.first(skipped))) return error;
  return write_all_at(to, offset + skipped + bytes, data.subspan(skipped + bytes));
}

void OutputFile::copy_at(std::uint64_t offset, const MappedFile& input, std::uint64_t from,
                         std::uint64_t n) {
  assert(!committed_);
  if (const int error = copy_range(input.descriptor(), from, data_.get(), offset, n)) {
    input.check_unchanged();  // EIO: the input ended early
    fail_with(error);
  }
  if (n > 0) size_ = std::max(size_, offset + n);
}

void OutputFile::start_writeback(std::uint64_t offset, std::uint64_t n) const {
  // Some file systems ignore this hint; then fsync does all of the work.
  if (!through_)
    (void)sync_file_range(data_.get(), static_cast<off_t>(offset), static_cast<off_t>(n),
                          SYNC_FILE_RANGE_WRITE);
}

void OutputFile::read_at(std::uint64_t offset, std::span<std::byte> data) const {
  assert(offset + data.size() <= size_);
  if (const int error = read_all_at(data_.get(), offset, data)) fail_with(error);
}

void OutputFile::commit() {
  Output* self = this;
  commit_together({&self, 1});
}

void OutputFile::prepare() {
  assert(!committed_);
  committed_ = true;
  if (through_) return;
  if (fsync(data_.get()) != 0 && errno != EINVAL) fail_with(errno);
  if (force_) name_data();
}

void OutputFile::publish(bool revocable) {
  if (through_)
    copy_through();
  else
    force_ ? replace(revocable) : create();
}

void OutputFile::retract() noexcept {
  const int at = directory_.get();
  if (published_ == exchanged)
    (void)detail::rename_with(at, temporary_->c_str(), target_.c_str(), RENAME_EXCHANGE);
  if (published_ == created) unlinkat(at, target_.c_str(), 0);
}

void OutputFile::settle() {
  if (through_) return;
  temporary_.reset();  // after an exchange that removes the old file
  // EBADF, EINVAL: the file system cannot sync directories.
  if (fsync(directory_.get()) != 0 && errno != EBADF && errno != EINVAL) fail_with(errno);
}

void OutputFile::copy_through() {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < size_;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size_ - at));
    read_at(at, piece);
    if (const int error = write_all(through_.get(), piece)) fail_with(error);
    at += piece.size();
  }
}

// Gives the file its name if the name is free, in one atomic step.
void OutputFile::create() {
  const char* target = target_.c_str();
  int result;
  if (!temporary_) {
    result = give_name(data_, directory_, target);
  } else {
    const int at = directory_.get();
    result = detail::rename_with(at, temporary_->c_str(), target, RENAME_NOREPLACE);
    if (result == 0) {
      temporary_->forget();
    } else if (errno == EINVAL || errno == ENOSYS) {  // NFS, where links are used instead
      result = linkat(at, temporary_->c_str(), at, target, 0);
    }
  }
  if (result != 0) {
    if (errno == EEXIST) fail_exists("created by another process meanwhile");
    fail_with(errno);
  }
  published_ = created;
}

// Gives the data a hidden name until they get the output's name.
void OutputFile::name_data() {
  const int at = directory_.get();
  (void)flock(data_.get(), LOCK_EX | LOCK_NB);  // so that nobody takes it for stale
  for (int i = 0; i < hidden_names && !temporary_; ++i) {
    const std::string name = hidden_name(target_, i);
    if (faccessat(at, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
    temporary_.emplace(at, name);
    if (give_name(data_, directory_, temporary_->c_str()) == 0) return;
    const int error = errno;
    temporary_->forget();  // the name belongs to another process
    temporary_.reset();
    if (error != EEXIST) fail_with(error);
  }
  if (!temporary_) fail("{}: {} other runs are writing this file", name_, hidden_names);
}

void OutputFile::replace(bool revocable) {
  const int at = directory_.get();
  const char *from = temporary_->c_str(), *to = target_.c_str();
  if (revocable) {
    // Either way no file is lost: none exists, or both are exchanged.
    if (detail::rename_with(at, from, to, RENAME_NOREPLACE) == 0) {
      published_ = created;
      temporary_->forget();
      return;
    }
    if (detail::rename_with(at, from, to, RENAME_EXCHANGE) == 0) {
      published_ = exchanged;
      return;
    }
  }
  if (renameat(at, from, at, to) != 0) fail_with(errno);
  published_ = replaced;
  temporary_->forget();
}

int detail::rename_with(int directory, const char* from, const char* to, unsigned flags) {
  wait_if_ending();
  if (no_exchange && (flags & RENAME_EXCHANGE)) {
    errno = EINVAL;
    return -1;
  }
  return renameat2(directory, from, directory, to, flags);
}

void refuse_same_file(const std::string& output, const MappedFile& input) {
  const std::optional<int> descriptor = output == "-" ? STDOUT_FILENO : descriptor_named(output);
  struct stat s;
  if ((descriptor ? fstat(*descriptor, &s) : stat(output.c_str(), &s)) != 0) return;
  if (S_ISREG(s.st_mode) && s.st_dev == input.device() && s.st_ino == input.inode())
    fail_usage("{}: the output is the input, and inputs are never written", name_of_output(output));
}

}  // namespace sten
