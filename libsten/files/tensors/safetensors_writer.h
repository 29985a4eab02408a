// SPDX-License-Identifier: Apache-2.0
// Writer of safetensors files, tensor by tensor, with the header last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/tensors/safetensors.h"

namespace sten {

// The JSON text of a header, without padding. Error for a name or value that is not UTF-8. With
// offsets of 2^64 - 1, it is at least as long as with any offsets.
std::string safetensors_header_text(
    const std::vector<std::pair<std::string, std::string>>& metadata,
    const std::vector<SafetensorsEntry>& entries);

class SafetensorsWriter {
 public:
  // `out`: empty; must outlive the writer; committed by the caller. `header_bytes`: the room for
  // the JSON text; if it is too small, finish() moves the data.
  SafetensorsWriter(OutputFile& out, std::uint64_t header_bytes);

  // Adds the next tensor of the data section.
  void add(std::string name, DType dtype, Shape shape, std::span<const std::byte> data);
  // Adds a tensor whose bytes are those of `file` at `offset`.
  void copy(std::string name, DType dtype, Shape shape, const MappedFile& file,
            std::uint64_t offset);

  // Writes the header. `header_order`: every name once.
  void finish(const std::vector<std::pair<std::string, std::string>>& metadata,
              const std::vector<std::string>& header_order);

 private:
  void append(std::string name, DType dtype, Shape shape, std::uint64_t bytes);
  void move_data(std::uint64_t room);

  OutputFile& out_;
  std::uint64_t room_;  // of the padded header, so that the data section is aligned
  std::uint64_t data_bytes_ = 0;
  std::vector<SafetensorsEntry> entries_;  // in the order of the data
};

}  // namespace sten
