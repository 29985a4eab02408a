// Files beside a checkpoint that are not of a changed copy: the same model in other forms, which a
// loader may take in its place, and results of its training.
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
// Without what is in the checkpoints of a run of sten-train.
// Adapters (adapter_*) are none beside a model. Nor are the PyTorch and safetensors files of a folder
// with a config.json of its own, which is another module, and what is in other parts of a pipeline.
std::vector<std::string> other_weights(const ShardIndex& index);

// What a copy of the index's directory with other weights leaves behind.
struct LeftBehind {
  std::vector<std::string> weights;  // as other_weights() names them
  // Of a run of sten-train, where the directory has its record: record, metrics, summary, curve and
  // checkpoints, which are of the weights before.
  std::vector<std::string> results;

  std::vector<std::string> names() const;
  std::vector<std::string> notes() const;  // a line of each kind
};
LeftBehind left_behind(const ShardIndex& index, bool keep_other_weights = false);

}  // namespace sten
