// SPDX-License-Identifier: Apache-2.0
// Names of files with weights: the formats that endings tell, and the names of results.
#pragma once
#include <string>
#include <string_view>

namespace sten {

// The ending of a file name in lower case, such as ".npy"; "" without one.
std::string ending_of(const std::string& path);

inline constexpr std::string_view index_ending = ".safetensors.index.json";
inline constexpr std::string_view torch_index_ending = ".bin.index.json";
// Whether the name is that of an index of shards.
bool is_index_name(std::string_view file);
// Whether the name is that of a torch.save() file.
bool is_torch_name(std::string_view file);
// Whether the ending is .onnx, in any case; false for streams.
bool is_onnx_name(const std::string& path);
// Whether the ending is .gguf, in any case; false for streams.
bool is_gguf_name(const std::string& path);

// Converts between the usual name of a file and its name with sparse tensors:
// model-00001-of-00002.safetensors and model.sten-00001-of-00002.safetensors. Under the usual name,
// other tools would load the file and initialize the tensors that they miss.
std::string sten_name(const std::string& file);
std::string plain_name(const std::string& file);
// The safetensors name of an input: model.safetensors for pytorch_model.bin and x.gguf, and
// x.safetensors for x.pt and, if no graph is written, x.onnx. Other names are unchanged.
std::string safetensors_name(const std::string& file, bool writes_graph = true);

}  // namespace sten
