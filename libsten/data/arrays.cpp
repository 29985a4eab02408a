// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/arrays.h"

#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/data/idx.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/row_major.h"

namespace sten {
namespace {

Dense npy_array(const MappedFile& file) {
  const NpyHeader header = parse_npy(file.bytes(), file.name());
  const auto data = file.bytes().subspan(header.data_offset);
  Array<std::byte> copy = Array<std::byte>::uninitialized(data.size());
  if (!data.empty()) std::memcpy(copy.mutate(), data.data(), data.size());
  const Values values(header.dtype, std::move(copy));
  return {header.shape, header.fortran_order
                            ? row_major(values, header.shape, column_major(header.shape))
                            : values};
}

}  // namespace

Dense read_array(const std::string& path) {
  const MappedFile file = open_data(path);
  const auto bytes = file.bytes();
  if (!is_npy(bytes) && !is_idx(bytes)) {
    const std::string_view kind = foreign_kind(bytes);
    if (!kind.empty()) fail("{}: expected a .npy or idx file, got {}", file.name(), kind);
    fail("{}: expected a .npy or idx file (an idx file starts with 00 00)", file.name());
  }
  Dense x = is_npy(bytes) ? npy_array(file) : parse_idx(bytes, file.name());
  file.check_unchanged();
  return x;
}

}  // namespace sten
