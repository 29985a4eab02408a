// SPDX-License-Identifier: Apache-2.0
// Reader of torch.save() files: .pt, .pth, .bin, .ckpt.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/files/pytorch/state_dict.h"

namespace sten {

// Whether the file was written by any version of torch.save(), or is another zip archive.
bool is_torch_file(std::span<const std::byte> file);

// Reads the zip archive of PyTorch 1.6 and later, or the earlier format, as data: never calls
// anything. `file_name` starts messages. Error as in state_dict.h, and for storages beyond the
// file, compressed records, TorchScript programs and big-endian files.
StateDict read_torch_file(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
