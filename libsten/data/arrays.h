// Examples from two files of one array each: features and labels, as .npy or idx.
#pragma once
#include <string>

#include "libsten/data/examples.h"

namespace sten {

// The array in a .npy or idx file, told apart by how they begin, in a copy; row-major.
Dense read_array(const std::string& path);

// See make_examples() for the shapes and dtypes. The elements stay in the dtype of the file, so
// that MNIST takes a byte for each.
Examples read_arrays(const std::string& features_path, const std::string& labels_path);

}  // namespace sten
