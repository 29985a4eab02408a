// Names that say what is in a file.
#pragma once
#include <string>
#include <string_view>

namespace sten {

enum class Written { checkpoint, masks, directory };

// Error (usage) where the ending of an output's name, in whatever case, says something else than
// what is written: safetensors, or .npy where a checkpoint is one dense tensor; or a directory,
// which has no ending of a file. Names without an ending, or with one that says nothing, are free;
// so are streams.
// Of an ONNX model a checkpoint may be one again: is_onnx_name() is for those who know.
void check_output_name(const std::string& path, Written what);

// What the result of an input file is called: safetensors_name(), which is .safetensors also where
// an .onnx or .npy file cannot hold tensors in the layout `to`.
std::string result_name(const std::string& file, bool writes_graph, std::string_view to);

// Whether the ending is .onnx, in whatever case; no stream has one.
bool is_onnx_name(const std::string& path);

}  // namespace sten
