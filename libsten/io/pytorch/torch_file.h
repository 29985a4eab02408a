// Files of torch.save(): .pt, .pth, .bin, .ckpt.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/io/pytorch/state_dict.h"

namespace sten {

// Whether a file is one of torch.save(), of any version, or another zip archive.
bool is_torch_file(std::span<const std::byte> file);

// Reads the zip archive that PyTorch has written since 1.6, or the file of before, and calls
// nothing. `file_name` begins messages. Error for what state_dict.h says, for storages beyond the
// file, compressed records, TorchScript programs and big-endian files.
StateDict read_torch_file(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
