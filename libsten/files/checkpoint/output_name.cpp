// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/output_name.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/paths.h"

namespace sten {
namespace {

struct Ending {
  const char *ending, *of;
};
constexpr Ending endings[] = {
    {".safetensors", "a safetensors file"},
    {".npy", "a NumPy array"},
    {".npz", "a NumPy archive"},
    {".pt", "a PyTorch file"},
    {".pth", "a PyTorch file"},
    {".bin", "a PyTorch file"},
    {".ckpt", "a PyTorch or TensorFlow checkpoint"},
    {".pkl", "a Python pickle"},
    {".pickle", "a Python pickle"},
    {".onnx", "an ONNX model"},
    {".h5", "an HDF5 file"},
    {".hdf5", "an HDF5 file"},
    {".keras", "a Keras model"},
    {".gguf", "a GGUF file"},
    {".ggml", "a GGML file"},
    {".msgpack", "a Flax file"},
    {".pb", "a TensorFlow graph"},
    {".tflite", "a TensorFlow Lite model"},
    {".zip", "an archive"},
    {".tar", "an archive"},
    {".gz", "compressed data"},
    {".xz", "compressed data"},
    {".zst", "compressed data"},
    {".json", "a report"},
    {".csv", "a report"},
    {".md", "a report"},
    {".html", "a report"},
    {".svg", "a picture"},
};

}  // namespace

std::string result_name(const std::string& file, bool writes_graph, std::string_view to) {
  const bool dense = to == "dense";
  const std::string name = safetensors_name(file, writes_graph && dense);
  if (!dense && is_gguf_name(file)) return sten_name(name);
  if (dense || !name.ends_with(".npy")) return name;
  return name.substr(0, name.rfind('.')) + ".safetensors";
}

void check_output_name(const std::string& path, Written what) {
  const std::string ending = ending_of(path);
  const bool fits = (ending == ".safetensors" && what != Written::directory) ||
                    (ending == ".npy" && what == Written::checkpoint);
  if (fits || is_stream(path)) return;
  for (const Ending& e : endings)
    if (ending == e.ending)
      fail_usage("{}: the name is that of {}, but the output is {}", printable(path), e.of,
                 what == Written::directory ? "a directory (leave the ending out)"
                 : what == Written::masks
                     ? "safetensors (use the ending .safetensors)"
                     : "safetensors (use the ending .safetensors, or .npy for one dense tensor)");
}

}  // namespace sten
