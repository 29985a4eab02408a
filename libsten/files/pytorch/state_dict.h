// SPDX-License-Identifier: Apache-2.0
// The tensors in a pickle of PyTorch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"
#include "libsten/files/pytorch/pickle.h"

namespace sten {

// The bytes of a storage in the file.
struct TorchRecord {
  std::uint64_t begin = 0, end = 0;
};
// PyTorch's keys are indices or addresses of storages.
inline constexpr std::size_t max_storage_key_bytes = 256;
using TorchRecords = std::unordered_map<std::string_view, TorchRecord>;  // by the storage's key

struct TorchTensor {
  std::string name;
  DType dtype = DType::F32;
  Shape shape, strides;              // strides in elements, none negative
  std::uint64_t begin = 0, end = 0;  // range of the file from the first element to the last
};

struct StateDict {
  std::vector<TorchTensor> tensors;  // in the file's order
  std::vector<std::string> notes;    // on skipped entries, without the file's name
};

// Reads the tensors, named by their keys, or in nested dicts by keys joined with dots. Of a
// trainer's file, reads only the model: the first existing dict of 'state_dict',
// 'model_state_dict', 'model', 'module' and 'params', if the outermost dict has no tensor.
// `file_bytes` bounds the bytes of each tensor, and of all tensors and names together. Time and
// memory are linear in the number of values. Error with file and tensor for tensors beyond their
// storage, storages beyond their record, and tensors that are not plain.
StateDict read_state_dict(const Pickle& pickle, const TorchRecords& records,
                          std::uint64_t file_bytes, const std::string& file_name);

}  // namespace sten
