// A safetensors file as a map of tensors, for programs that have no graph or module.
#pragma once
#include <map>
#include <string>

#include "libsten/io/checkpoint.h"

namespace sten {

// The same type as NamedValues<Tensor> (graph/graph.h).
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

// All tensors of a checkpoint that Checkpoint::open() takes, each in its layout. Dense ones borrow
// from the mapped file, which nobody may write to while they live; a file may be replaced. Error
// (input) that names file and tensor.
NamedTensors load_tensors(const std::string& path);

// Writes the tensors, in the order of their names and each in its layout, to one safetensors file,
// which appears whole or not at all. Error (input) for names that no file can have; Error (usage) if
// the file exists and `overwrite` is false.
void save_tensors(const std::string& path, const NamedTensors& tensors, bool overwrite = false);

}  // namespace sten
