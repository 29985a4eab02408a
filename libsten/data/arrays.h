// Files of one array, .npy or idx.
#pragma once
#include <string>

#include "libsten/tensor/dense.h"

namespace sten {

// The array in a .npy or idx file, told apart by how they begin, in a copy; row-major, in the dtype
// of the file, so that MNIST takes a byte for each element.
Dense read_array(const std::string& path);

}  // namespace sten
