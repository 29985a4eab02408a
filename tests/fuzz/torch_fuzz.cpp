// SPDX-License-Identifier: Apache-2.0
// Fuzz target: files of torch.save().
#include "libsten/files/pytorch/torch_file.h"
#include "libsten/files/tensors/row_major.h"
#include "libsten/files/tensors/safetensors.h"
#include "tests/fuzz/fuzz.h"

// The first byte selects a whole file, or a pickle with a storage "0" of 64 bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  using namespace std::string_view_literals;
  fuzz::Bytes in(data, size);
  std::string file;
  if (in.below(2) == 0) {
    file = in.rest();
  } else {
    file =
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02"sv;
    file += in.rest();
    file +=
        ".\x80\x02]U\x01"
        "0a.\x40\0\0\0\0\0\0\0"sv;
    file.append(64 * 8, 'x');
  }
  fuzz::accepted([&] {
    const auto bytes = std::as_bytes(std::span(file));
    if (!is_torch_file(bytes)) return;
    for (const TorchTensor& t : read_torch_file(bytes, "input").tensors) {
      if (t.begin > t.end || t.end > file.size()) fuzz::broken("a tensor is not in the file");
      const auto width = static_cast<std::uint64_t>(width_of(t.dtype));
      if ((t.end - t.begin) % width != 0) fuzz::broken("a tensor has half an element");
      if (byte_size(t.dtype, t.shape) > std::max<std::uint64_t>(file.size(), 1 << 16))
        fuzz::broken("a tensor is larger than the file");
      auto copy = Array<std::byte>::uninitialized(t.end - t.begin);
      if (copy.size()) std::memcpy(copy.mutate(), file.data() + t.begin, copy.size());
      const Values values(t.dtype, std::move(copy));
      if (row_major(values, t.shape, t.strides).size() != checked_size(t.shape))
        fuzz::broken("the order of elements changes how many they are");
    }
  });
  return 0;
}
