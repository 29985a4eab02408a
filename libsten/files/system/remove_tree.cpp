// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/remove_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sten {
namespace {

// As the system call returns it; opendir() may allocate.
struct Entry {
  unsigned long inode;
  long offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// Calls f(name) for the entries of an open directory. May miss entries while f removes some.
template <class F>
void for_each_name(int directory, F&& f) noexcept {
  alignas(Entry) char buffer[2048];
  lseek(directory, 0, SEEK_SET);
  for (long n; (n = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0;)
    for (long at = 0; at < n;) {
      const char* entry = buffer + at;
      unsigned short length;
      std::memcpy(&length, entry + offsetof(Entry, length), sizeof(length));
      const char* name = entry + offsetof(Entry, name);
      at += length;
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) f(name);
    }
}

// Removes a file, a link or an empty directory.
bool remove_leaf(int directory, const char* name) noexcept {
  if (unlinkat(directory, name, 0) == 0) return true;
  return (errno == EISDIR || errno == EPERM) && unlinkat(directory, name, AT_REMOVEDIR) == 0;
}

// Opens a directory for reading and gives the owner all rights to its entries.
int open_to_empty(int directory, const char* name) noexcept {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int inner = openat(directory, name, flags);
  if (inner < 0 && errno == EACCES && fchmodat(directory, name, S_IRWXU, 0) == 0)
    inner = openat(directory, name, flags);
  if (inner >= 0) fchmod(inner, S_IRWXU);
  return inner;
}

// Names for moved directories: "sten-0", "sten-1", ...
class Names {
 public:
  const char* next() noexcept {
    char digits[20];
    int n = 0;
    for (unsigned long k = count_++; n == 0 || k > 0; k /= 10) digits[n++] = char('0' + k % 10);
    char* to = text_ + 5;
    while (n > 0) *to++ = digits[--n];
    *to = 0;
    return text_;
  }

 private:
  unsigned long count_ = 0;
  char text_[32] = "sten-";
};

}  // namespace

// Opens at most two directories at a time, at any depth: directories two levels down are moved up
// by one level.
void remove_tree(int directory, const char* name) noexcept {
  if (remove_leaf(directory, name)) return;
  const int top = open_to_empty(directory, name);
  if (top < 0) return;
  Names names;
  const auto move_up = [&](int from, const char* child) {
    const char* to = names.next();
    while (faccessat(top, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) to = names.next();
    // Moving a directory can require write permission for it.
    if (renameat(from, child, top, to) == 0) return true;
    return fchmodat(from, child, S_IRWXU, 0) == 0 && renameat(from, child, top, to) == 0;
  };
  for (bool found = true; found;) {
    found = false;
    for_each_name(top, [&](const char* child) {
      if (remove_leaf(top, child)) {
        found = true;
        return;
      }
      const int inner = open_to_empty(top, child);
      if (inner < 0) return;
      for_each_name(inner, [&](const char* grandchild) {
        found |= remove_leaf(inner, grandchild) || move_up(inner, grandchild);
      });
      close(inner);
      found |= unlinkat(top, child, AT_REMOVEDIR) == 0;
    });
  }
  close(top);
  unlinkat(directory, name, AT_REMOVEDIR);
}

}  // namespace sten
