// SPDX-License-Identifier: Apache-2.0
// Fuzz target: headers of .npy files.
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/row_major.h"
#include "tests/fuzz/fuzz.h"

// The first byte selects a whole file, or the text of a header with the size of its data.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  fuzz::Bytes in(data, size);
  std::string file;
  const auto mode = in.below(4);
  if (mode == 0) {
    file = in.rest();
  } else {
    const std::size_t bytes = in.byte();
    const std::string_view text = in.rest();
    file = std::string("\x93NUMPY") + static_cast<char>(mode) + '\0';
    for (int i = 0; i < (mode == 1 ? 2 : 4); ++i)
      file += static_cast<char>(text.size() >> 8 * i & 0xff);
    file += text;
    file.append(bytes, 'x');
  }
  fuzz::accepted([&] {
    const auto bytes = std::as_bytes(std::span(file));
    const NpyHeader h = parse_npy(bytes, "input");
    if (h.data_offset > file.size()) fuzz::broken("the data begin behind the file");
    if (width_of(h.dtype) == 0) return;
    const Index n = checked_size(h.shape);
    if (static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(width_of(h.dtype)) !=
        file.size() - h.data_offset)
      fuzz::broken("the elements are not the rest of the file");
    auto copy = Array<std::byte>::uninitialized(file.size() - h.data_offset);
    if (copy.size()) std::memcpy(copy.mutate(), file.data() + h.data_offset, copy.size());
    const Values values(h.dtype, std::move(copy));
    if (h.fortran_order && row_major(values, h.shape, column_major(h.shape)).size() != n)
      fuzz::broken("the order of elements changes how many they are");
  });
  return 0;
}
