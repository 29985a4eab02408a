// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/tensors/tensor_checkpoint.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "libsten/files/checkpoint/checkpoint_writer.h"

namespace sten {
namespace {

// A file that exists only in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string name)
      : name_(std::move(name)), descriptor_(memfd_create("sten", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("{}: memory for a copy not found: {}", name_, std::strerror(errno));
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void write(std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t n = ::write(descriptor_, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail("{}: memory for a copy not found: {}", name_, std::strerror(errno));
      data = data.subspan(static_cast<std::size_t>(n));
    }
  }
  MappedFile map() { return MappedFile::adopt_fd(std::exchange(descriptor_, -1), name_); }

 private:
  std::string name_;
  int descriptor_;
};

// The header of a file of these tensors: its length, then padded text.
std::string header_of(const std::vector<TensorInfo>& contents, const std::vector<Stored>& stored) {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<SafetensorsEntry> entries;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const TensorInfo& t = contents[i];
    if (t.is_sparse())
      metadata.emplace_back(fmt::format("{}{}", layout_key, t.name), layout_text(t));
    for (const Part& p : stored[i].parts) {
      std::string name =
          t.is_sparse() ? fmt::format("{}{}{}", t.name, part_separator, p.name) : t.name;
      entries.push_back({std::move(name), p.dtype, p.shape, at, at + p.bytes.size()});
      at += p.bytes.size();
    }
  }
  std::string text = safetensors_header_text(metadata, entries);
  constexpr std::size_t line = 64;  // aligns the first tensor
  text.append((line - (length_bytes + text.size()) % line) % line, ' ');
  const std::uint64_t length = text.size();
  std::string header(reinterpret_cast<const char*>(&length), length_bytes);
  return header + text;
}

}  // namespace

Checkpoint checkpoint_of(const TensorList& tensors, const std::string& name) {
  std::vector<TensorInfo> contents;
  std::vector<Stored> stored;
  for (const auto& [tensor_name, x] : tensors) {
    contents.push_back({tensor_name, x.dtype(), x.shape(), x.spec()});
    stored.push_back(x.to(Device::cpu).save());
  }
  check_entry_names(contents, name);
  MemoryFile file(name);
  const std::string header = header_of(contents, stored);
  file.write(std::as_bytes(std::span(header)));
  for (const Stored& s : stored)
    for (const Part& p : s.parts) file.write(p.bytes);
  return Checkpoint::of(file.map());
}

TensorInfo single(const Tensor& x, Purpose purpose) {
  TensorInfo t{"tensor", x.dtype(), x.shape(), x.spec()};
  const std::string why = unfit(t, purpose);
  if (!why.empty()) fail_usage("tensor: {}", why);
  return t;
}

std::vector<std::size_t> matching_names(const std::vector<std::string>& names,
                                        const std::string& pattern, const std::string& what,
                                        const std::string& kind, const std::string& of) {
  std::vector<std::size_t> found;
  TensorNames(names, of, kind).for_each_match(pattern, what, [&](std::size_t i) {
    found.push_back(i);
  });
  return found;
}

}  // namespace sten
