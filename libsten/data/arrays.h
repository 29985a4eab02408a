// SPDX-License-Identifier: Apache-2.0
// Files of one array: .npy or idx.
#pragma once
#include <string>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Reads a copy of the array in a .npy or idx file, detected by its first bytes. The copy is
// row-major, in the dtype of the file: MNIST takes a byte per element.
Dense read_array(const std::string& path);

}  // namespace sten
