// SPDX-License-Identifier: Apache-2.0
// Weights location: the checkpoint in the directory of a model, an adapter or a pipeline.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "libsten/files/checkpoint/weight_names.h"

namespace sten {

struct WeightsLocation {
  std::string folder;               // of a pipeline, in the directory: "unet/"; otherwise empty
  std::string file;                 // in the folder: weights, or an index of shards
  std::vector<std::string> beside;  // other folders of the pipeline with weights: "vae/"

  bool is_index() const { return is_index_name(file); }
};

// Returns the first of these in the directory; ".sten" may precede each ending:
//   model.safetensors, diffusion_pytorch_model.safetensors, the names in Hugging Face libraries;
//   an index of shards, *.safetensors.index.json;
//   adapter_model.safetensors of PEFT;
//   in a pipeline of diffusers, which has a model_index.json, the weights of the module that runs
//     in every step: unet/, transformer/, prior/ or decoder/, else the only folder with weights;
//   the only *.safetensors file;
//   the same of PyTorch: pytorch_model.bin, diffusion_pytorch_model.bin, *.bin.index.json,
//     adapter_model.bin, and the only file *.pt, *.pth or *.ckpt;
//   model.onnx, or the only file *.onnx.
// Warns about an ignored index. Error if none or several are found.
WeightsLocation find_weights(const std::string& directory);

}  // namespace sten
