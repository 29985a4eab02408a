// The tensors that a pickle of PyTorch describes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libsten/base/dtype.h"
#include "libsten/base/shape.h"
#include "libsten/io/pytorch/pickle.h"

namespace sten {

// Bytes of the file that hold a storage.
struct TorchRecord {
  std::uint64_t begin = 0, end = 0;
};
// PyTorch counts storages, or numbers them by their addresses.
inline constexpr std::size_t max_storage_key_bytes = 256;
using TorchRecords = std::unordered_map<std::string_view, TorchRecord>;  // by the storage's key

struct TorchTensor {
  std::string name;
  DType dtype = DType::F32;
  Shape shape, strides;              // strides in elements, none negative
  std::uint64_t begin = 0, end = 0;  // bytes of the file from the first element to the last
};

struct StateDict {
  std::vector<TorchTensor> tensors;  // in the file's order
  std::vector<std::string> notes;    // what was left out, each without the file's name
};

// A tensor's name is its key; where dicts lie within dicts, the keys joined by dots. Of a trainer's
// file only the model is read: the dict 'state_dict', 'model_state_dict', 'model', 'module' or
// 'params', the first that there is where the outermost dict has no tensor itself. `file_bytes`
// bounds the bytes of one tensor, and of all tensors and names together. Time and memory are linear
// in the pickle's values. Error names the file and the tensor: for tensors that reach beyond their
// storage, storages beyond their record, and tensors that are not plain.
StateDict read_state_dict(const Pickle& pickle, const TorchRecords& records,
                          std::uint64_t file_bytes, const std::string& file_name);

}  // namespace sten
