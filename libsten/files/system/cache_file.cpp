// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/mmap.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
constexpr const char *key = "sten_cache", *remedy = "STEN_CACHE names another directory";

bool is_ours(const nlohmann::ordered_json& document) {
  if (!document.is_object()) return false;
  if (const auto at = document.find(key); at != document.end()) return *at == 1;
  return document.contains("schema") && document.contains("seconds");
}

// None if the directory does not exist.
Fd open_directory(const std::string& path) {
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    if (errno == ENOENT || errno == ENOTDIR) return directory;
    fail("{}: {}", printable(path), errno_text(errno));
  }
  struct stat s = {};
  if (fstat(directory.get(), &s) != 0) fail("{}: {}", printable(path), errno_text(errno));
  if (s.st_uid != geteuid())
    fail("{}: expected a directory of this user, got one of user {} ({})", printable(path),
         s.st_uid, remedy);
  if ((s.st_mode & S_IWOTH) != 0)
    fail("{}: expected a directory that others cannot write to, got mode {:o} (chmod o-w, or {})",
         printable(path), s.st_mode & 07777U, remedy);
  return directory;
}

// None if the file does not exist.
Fd open_file(const Fd& directory, const std::string& path) {
  // O_NONBLOCK, since opening a pipe would wait for its writer.
  Fd file(openat(directory.get(), fs::path(path).filename().c_str(),
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const auto refuse = [&](const std::string& got) {
    fail("{}: expected a cache of sten, got {} (remove the file, or {})", printable(path), got,
         remedy);
  };
  if (!file) {
    if (errno == ENOENT) return file;
    if (errno == ELOOP) refuse("a symbolic link");
    fail("{}: {}", printable(path), errno_text(errno));
  }
  struct stat s = {};
  if (fstat(file.get(), &s) != 0) fail("{}: {}", printable(path), errno_text(errno));
  if (S_ISDIR(s.st_mode)) refuse("a directory");
  if (!S_ISREG(s.st_mode)) refuse("a pipe or device");
  if (s.st_uid != geteuid()) refuse(fmt::format("a file of user {}", s.st_uid));
  return file;
}

}  // namespace

std::optional<nlohmann::ordered_json> CacheFile::read() const {
  const Fd directory = open_directory(fs::path(path_).parent_path());
  Fd open = directory ? open_file(directory, path_) : Fd();
  if (!open) return {};
  const MappedFile file = MappedFile::adopt_fd(open.release(), printable(path_));
  if (file.bytes().size() > most_bytes)
    fail("{}: expected at most {} bytes, got {} (remove the file, or {})", file.name(), most_bytes,
         file.bytes().size(), remedy);
  std::optional<nlohmann::ordered_json> document;
  try {
    document = parse_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                          file.name(), Fault::input);
  } catch (const Error&) {
  }
  if (!document || !is_ours(*document))
    fail("{}: expected a cache of sten, got a file without \"{}\": 1 (remove the file, or {})",
         file.name(), key, remedy);
  return document;
}

void CacheFile::write(const nlohmann::ordered_json& document) const {
  const std::string directory = fs::path(path_).parent_path();
  std::error_code error;
  // As in the XDG Base Directory Specification.
  if (fs::create_directories(directory, error))
    fs::permissions(directory, fs::perms::owner_all, error);
  if (error) fail("{}: {}", printable(directory), error.message());
  (void)read();
  nlohmann::ordered_json all = {{key, 1}};
  all.update(document);
  const std::string text = dump_json(all, 1) + "\n";
  OutputFile out(path_, true, "", FinalLink::refuse);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace sten
