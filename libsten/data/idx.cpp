// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/idx.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/tensors/safetensors.h"

namespace sten {
namespace {

static_assert(std::endian::native == std::endian::little);

DType dtype_of(unsigned type, const std::string& name) {
  switch (type) {
    case 0x08:
      return DType::U8;
    case 0x09:
      return DType::I8;
    case 0x0b:
      return DType::I16;
    case 0x0c:
      return DType::I32;
    case 0x0d:
      return DType::F32;
    case 0x0e:
      return DType::F64;
    default:
      fail("{}: unknown idx type {:#04x}", name, type);
  }
}

template <class U>
U swapped(U v) {
  if constexpr (sizeof(U) == 2) return __builtin_bswap16(v);
  if constexpr (sizeof(U) == 4) return __builtin_bswap32(v);
  if constexpr (sizeof(U) == 8) return __builtin_bswap64(v);
  return v;
}

template <class U>
U big_endian(const std::byte* at) {
  U v;
  std::memcpy(&v, at, sizeof(U));
  return swapped(v);
}

}  // namespace

bool is_idx(std::span<const std::byte> file) {
  return file.size() >= 4 && file[0] == std::byte{0} && file[1] == std::byte{0};
}

Dense parse_idx(std::span<const std::byte> file, const std::string& file_name) {
  const std::string name = printable(file_name);
  if (file.size() < 4) fail("{}: {} bytes are too few for an idx file", name, file.size());
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(file[i]); };
  if (!is_idx(file)) {
    const std::string_view kind = foreign_kind(file);
    if (!kind.empty()) fail("{}: expected an idx file, got {}", name, kind);
    fail("{}: not an idx file: expected the first bytes 00 00, got {:02x} {:02x}", name, byte(0),
         byte(1));
  }
  const DType dtype = dtype_of(byte(2), name);
  const std::size_t rank = byte(3), start = 4 + 4 * rank;
  if (rank > max_rank) fail("{}: {} axes are more than {}", name, rank, max_rank);
  if (file.size() < start)
    fail("{}: truncated: {} bytes are too few for the extents of {} axes", name, file.size(), rank);
  Dense x;
  for (std::size_t d = 0; d < rank; ++d)
    x.extents.push_back(big_endian<std::uint32_t>(&file[4 + 4 * d]));
  std::uint64_t bytes = 0;
  try {
    bytes = byte_size(dtype, x.extents);
  } catch (const Error& error) {
    fail("{}: {}", name, error.what());
  }
  const std::uint64_t data = file.size() - start;
  if (bytes > data)
    fail("{}: truncated: shape {} of {} needs {} bytes, got {}", name, to_string(x.extents),
         name_of(dtype), bytes, data);
  if (bytes < data)
    fail("{}: {} extra bytes after the {} bytes of shape {} of {}", name, data - bytes, bytes,
         to_string(x.extents), name_of(dtype));
  x.values = Values::uninitialized(dtype, size_of(x.extents));
  with_width(x.values.width(), [&]<class U>(U) {
    const auto out = x.values.mutate<U>();
    const std::byte* at = file.data() + start;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = big_endian<U>(at + i * sizeof(U));
  });
  return x;
}

}  // namespace sten
