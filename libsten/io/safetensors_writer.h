// Writes a safetensors file as its tensors come, the header last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/base/dtype.h"
#include "libsten/base/shape.h"
#include "libsten/io/atomic_file.h"
#include "libsten/io/safetensors.h"

namespace sten {

// The header's JSON text, without padding; Error where a name or value is not UTF-8. With offsets
// of 2^64 - 1 it is as long as that of any offsets.
std::string safetensors_header_text(
    const std::vector<std::pair<std::string, std::string>>& metadata,
    const std::vector<SafetensorsEntry>& entries);

class SafetensorsWriter {
 public:
  // `out` is empty, outlives the writer and is committed by the caller. `header_bytes` is the room
  // kept for the JSON text: an upper bound makes finish() fast, a smaller number only makes it
  // move the data.
  SafetensorsWriter(OutputFile& out, std::uint64_t header_bytes);

  // The next tensor of the data section.
  void add(std::string name, DType dtype, Shape shape, std::span<const std::byte> data);
  // The same, its bytes being those of `file` from `offset` on.
  void copy(std::string name, DType dtype, Shape shape, const MappedFile& file,
            std::uint64_t offset);

  // `header_order` has every name once.
  void finish(const std::vector<std::pair<std::string, std::string>>& metadata,
              const std::vector<std::string>& header_order);

 private:
  void append(std::string name, DType dtype, Shape shape, std::uint64_t bytes);
  void move_data(std::uint64_t room);

  OutputFile& out_;
  std::uint64_t room_;  // of the header, padded, so that the data section is aligned
  std::uint64_t data_bytes_ = 0;
  std::vector<SafetensorsEntry> entries_;  // in the order of the data
};

}  // namespace sten
