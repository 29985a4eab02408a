// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/extension_note.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/extension.h"

namespace sten {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

// The header of this library in memory: what the machine loads.
const Header& own_header() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&extension_notes), &here) || !here.dli_fbase)
    fail("extensions cannot be loaded: the loader does not know libsten");
  return *static_cast<const Header*>(here.dli_fbase);
}

class File {
 public:
  explicit File(const std::string& path) : name_(printable(path)) {
    struct stat s {};
    if (stat(path.c_str(), &s) != 0) fail("{}: {}", name_, std::strerror(errno));
    if (!S_ISREG(s.st_mode)) fail("{}: not a shared library", name_);
    size_ = static_cast<std::uint64_t>(s.st_size);
    in_.open(path, std::ios::binary);
    if (!in_) fail("{}: {}", name_, std::strerror(errno));
  }
  // Error if the file ends before.
  void check_range(std::uint64_t at, std::uint64_t size) const {
    if (at > size_ || size > size_ - at) fail("{}: the shared library is truncated", name_);
  }
  void read(std::uint64_t at, void* to, std::uint64_t size) {
    check_range(at, size);
    in_.seekg(static_cast<std::streamoff>(at));
    if (!in_.read(static_cast<char*>(to), static_cast<std::streamsize>(size)))
      fail("{}: cannot be read", name_);
  }
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

 private:
  std::string name_;
  std::uint64_t size_ = 0;
  std::ifstream in_;
};

Header header_of(File& file) {
  Header h{};
  const bool has_header = file.size() >= sizeof h;
  if (has_header) file.read(0, &h, sizeof h);
  if (!has_header || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_type != ET_DYN)
    fail("{}: not a shared library", file.name());
  const Header& own = own_header();
  if (h.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || h.e_ident[EI_DATA] != own.e_ident[EI_DATA] ||
      h.e_machine != own.e_machine)
    fail("{}: the shared library is for another machine", file.name());
  if (h.e_phentsize != sizeof(Segment)) fail("{}: not a shared library", file.name());
  return h;
}

// The texts of our notes in the contents of a segment of notes.
void add_texts(std::vector<std::string>& texts, std::string_view notes) {
  const auto padded = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
  std::uint32_t head[3];  // sizes of name and text, type
  while (notes.size() >= sizeof head) {
    std::memcpy(head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    const std::uint64_t text_at = padded(head[0]), end = text_at + padded(head[1]);
    if (end > notes.size()) return;
    if (notes.substr(0, head[0]) == std::string_view("sten", 5) &&
        head[2] == ExtensionNote::type_of_abi) {
      const std::string_view text = notes.substr(text_at, head[1]);
      texts.emplace_back(text.substr(0, text.find('\0')));
    }
    notes.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::string> extension_notes(const std::string& path) {
  File file(path);
  const Header h = header_of(file);
  if (h.e_shoff != 0) file.check_range(h.e_shoff, std::uint64_t{h.e_shnum} * h.e_shentsize);
  std::vector<Segment> segments(h.e_phnum);
  file.read(h.e_phoff, segments.data(), segments.size() * sizeof(Segment));
  std::vector<std::string> texts;
  for (const Segment& s : segments) {
    // The loader maps the segments, and would be killed at the end of the file.
    file.check_range(s.p_offset, s.p_type == PT_LOAD || s.p_type == PT_NOTE ? s.p_filesz : 0);
    if (s.p_type != PT_NOTE) continue;
    constexpr std::uint64_t most = 1 << 20;
    std::string notes(std::min<std::uint64_t>(s.p_filesz, most), '\0');
    file.read(s.p_offset, notes.data(), notes.size());
    add_texts(texts, notes);
  }
  return texts;
}

}  // namespace sten
