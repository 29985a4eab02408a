// SPDX-License-Identifier: Apache-2.0
// File names that tell the format.
#pragma once
#include <string>
#include <string_view>

namespace sten {

enum class Written { checkpoint, masks, directory };

// Error (usage) if the ending of an output's name (in any case) contradicts the contents:
// safetensors; .npy if a checkpoint is one dense tensor; or a directory, which has no ending of a
// file. Allows streams, and names without an ending or with an unknown one. An ONNX model may also
// be written as .onnx, which the caller checks by is_onnx_name().
void check_output_name(const std::string& path, Written what);

// The name of an input's result: safetensors_name(), or .safetensors for an .onnx or .npy input
// that cannot hold the layout `to`, and sten_name() for the sparse tensors of a .gguf input.
std::string result_name(const std::string& file, bool writes_graph, std::string_view to);

}  // namespace sten
