// Weight files beside a checkpoint: the same model in other forms, which a loader may take in its
// place.
#pragma once
#include <string>
#include <vector>

#include "libsten/io/shards.h"

namespace sten {

// Of the index's directory, in natural order: files relative to it, and folders with a "/" at the
// end. By their names:
//   *.safetensors *.h5 *.msgpack *.gguf *.ggml *.onnx *.onnx_data *.tflite *.ot *.ckpt*
//   *.bin *.pt *.pth *.npz with "model", "weights" or "consolidated" in the name
//   the indices of such files; the folders onnx/ openvino/ coreml/
// Adapters (adapter_*) are none beside a model. Nor are the PyTorch and safetensors files of a folder
// with a config.json of its own, which is another module, and what is in other parts of a pipeline.
std::vector<std::string> other_weights(const ShardIndex& index);

// The one line that says so; empty where nothing stays behind.
std::string left_behind(const std::vector<std::string>& names);

}  // namespace sten
