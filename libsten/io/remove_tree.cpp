#include "libsten/io/remove_tree.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sten {
namespace {

constexpr int deepest = 64;  // a directory of our own making is not deeper

// As the system call gives it; opendir() may allocate.
struct Entry {
  unsigned long inode;
  long offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

void remove_at(int directory, const char* name, int depth) noexcept {
  if (unlinkat(directory, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  const int inner = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) return;
  if (depth < deepest) {
    alignas(Entry) char buffer[2048];
    // Until a pass finds nothing: entries may be missed while others are removed.
    for (bool found = true; found;) {
      found = false;
      lseek(inner, 0, SEEK_SET);
      for (long n; (n = syscall(SYS_getdents64, inner, buffer, sizeof(buffer))) > 0;)
        for (long at = 0; at < n;) {
          const char* entry = buffer + at;
          unsigned short length;
          std::memcpy(&length, entry + offsetof(Entry, length), sizeof(length));
          const char* child = entry + offsetof(Entry, name);
          at += length;
          if (std::strcmp(child, ".") == 0 || std::strcmp(child, "..") == 0) continue;
          remove_at(inner, child, depth + 1);
          found |= faccessat(inner, child, F_OK, AT_SYMLINK_NOFOLLOW) != 0;  // it is gone
        }
    }
  }
  close(inner);
  unlinkat(directory, name, AT_REMOVEDIR);
}

}  // namespace

void remove_tree(int directory, const char* name) noexcept { remove_at(directory, name, 0); }

}  // namespace sten
