// SPDX-License-Identifier: Apache-2.0
// A safetensors file as a map of tensors, for programs without a graph or module.
#pragma once
#include <map>
#include <string>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// The same type as NamedValues<Tensor> (model/graph/graph.h).
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

// Loads all tensors of a checkpoint that Checkpoint::open() accepts, each in its layout. Dense
// tensors borrow from the mapped file, which must not be written during their lifetime; it may be
// replaced. Error (input) with file and tensor.
NamedTensors load_tensors(const std::string& path);

// Writes the tensors in the order of names, each in its layout, to a safetensors file, which
// appears whole or not at all. Error (input) for invalid names; Error (usage) if the file exists
// and `overwrite` is false.
void save_tensors(const std::string& path, const NamedTensors& tensors, bool overwrite = false);

}  // namespace sten
