// Which file of a directory is the checkpoint: a model's, an adapter's, or one of a pipeline's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

inline constexpr std::string_view index_ending = ".safetensors.index.json";
inline constexpr std::string_view torch_index_ending = ".bin.index.json";
// Whether a file is called as indices of shards are.
bool is_index_name(std::string_view file);
// Whether a file is called as those of torch.save() are.
bool is_torch_name(std::string_view file);

struct WeightsLocation {
  std::string folder;               // in the directory, of a pipeline: "unet/"; else empty
  std::string file;                 // in the folder: the weights, or an index of shards
  std::vector<std::string> beside;  // other folders of the pipeline that have weights: "vae/"

  bool is_index() const { return is_index_name(file); }
};

// The first of these that the directory has; ".sten" may stand before the ending of each:
//   model.safetensors, diffusion_pytorch_model.safetensors, as HuggingFace's libraries call them;
//   an index of shards, *.safetensors.index.json;
//   adapter_model.safetensors of PEFT;
//   in a pipeline of diffusers, known by its model_index.json, the weights of what it runs in every
//     step: the folder unet/, transformer/, prior/ or decoder/, else the only one with weights;
//   its only *.safetensors file;
//   the same of PyTorch: pytorch_model.bin, diffusion_pytorch_model.bin, *.bin.index.json,
//     adapter_model.bin, and the only file *.pt, *.pth or *.ckpt;
//   model.onnx, or the only file *.onnx.
// A warning says that an index is not read. Error where there is none, or several of a kind.
WeightsLocation find_weights(const std::string& directory);

}  // namespace sten
