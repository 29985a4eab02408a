// SPDX-License-Identifier: Apache-2.0
// Files beside a checkpoint that do not belong to a changed copy: the model's weights in other
// formats, which a loader may prefer, and training results.
#pragma once
#include <string>
#include <vector>

#include "libsten/files/checkpoint/shards.h"

namespace sten {

// Files and folders (with a trailing "/") of the index's directory in natural order, relative to
// it, by name:
//   *.safetensors *.h5 *.msgpack *.gguf *.ggml *.onnx *.onnx_data *.tflite *.ot *.ckpt*
//   *.bin *.pt *.pth *.npz with "model", "weights" or "consolidated" in the name
//   the indices of such files; the folders onnx/ openvino/ coreml/
// Excludes the checkpoints of a run of sten-train, adapters (adapter_*) beside a model, PyTorch and
// safetensors files in a folder with its own config.json, which is another module, and other parts
// of a pipeline.
std::vector<std::string> other_weights(const ShardIndex& index);

// Files that are not copied with a changed checkpoint.
struct LeftBehind {
  std::vector<std::string> weights;  // from other_weights()
  // Results of a run of sten-train: its manifest, metrics, summary, curve and checkpoints, which
  // belong to the previous weights.
  std::vector<std::string> results;

  std::vector<std::string> names() const;
  std::vector<std::string> notes() const;  // a line per kind
};
LeftBehind left_behind(const ShardIndex& index, bool keep_other_weights = false);

}  // namespace sten
