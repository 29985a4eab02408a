// SPDX-License-Identifier: Apache-2.0
// Fuzz target: safetensors files (header, offsets of the data, layouts in the metadata, payloads).
#include <sys/mman.h>
#include <unistd.h>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/tensors/safetensors.h"
#include "libsten/files/tensors/safetensors_writer.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace sten;

void read_checkpoint(std::string_view file) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, file.data(), file.size()) != static_cast<ssize_t>(file.size())) abort();
  const Checkpoint c = Checkpoint::of(MappedFile::adopt_fd(fd, "input"));
  for (const CheckpointTensor& t : c.tensors()) {
    if (t.bytes() > file.size()) fuzz::broken("a tensor is larger than its file");
    // A small file can claim a large dense tensor.
    if (size_of(t.shape) <= Index{1} << 16) fuzz::accepted([&] { c.load(t).to_dense(); });
  }
}

}  // namespace

// The first byte selects a whole file, or the text of a header with the size of its data.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  std::string file;
  if (in.below(2) == 0) {
    file = in.rest();
  } else {
    const auto bytes = static_cast<std::size_t>(in.byte()) * 4;
    const std::string_view text = in.rest();
    for (int i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> 8 * i & 0xff);
    file += text;
    for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(i % 3);
  }
  const auto bytes = std::as_bytes(std::span(file));
  if (fuzz::accepted([&] {
        const SafetensorsHeader h = parse_safetensors(bytes, "input");
        // A header that was read can be written, and reads back equal.
        const std::string text = safetensors_header_text(h.metadata, h.entries);
        std::string again;
        for (int i = 0; i < 8; ++i) again += static_cast<char>(text.size() >> 8 * i & 0xff);
        again += text;
        again.append(file, h.data_offset);
        const SafetensorsHeader same = parse_safetensors(std::as_bytes(std::span(again)), "again");
        if (same.metadata != h.metadata || same.entries.size() != h.entries.size())
          fuzz::broken("a header is another once written");
        for (std::size_t i = 0; i < h.entries.size(); ++i) {
          const SafetensorsEntry &a = h.entries[i], &b = same.entries[i];
          if (a.name != b.name || a.dtype != b.dtype || a.shape != b.shape || a.begin != b.begin ||
              a.end != b.end)
            fuzz::broken("an entry is another once written");
        }
      }))
    fuzz::accepted([&] { read_checkpoint(file); });
  return 0;
}
