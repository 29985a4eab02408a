// Which files of a directory are the checkpoint, as HuggingFace lays it out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sten {

struct ShardIndex {
  std::string directory;
  std::string folder;               // of a pipeline, where in it the files lie: "unet/"; else empty
  std::vector<std::string> beside;  // other folders of the pipeline that have weights
  std::string index;                // its name in the directory; empty: one file, no index
  std::vector<std::string> files;   // names in the directory, in natural order
  std::vector<std::pair<std::string, std::string>> weight_map;  // entry -> file; empty: no index
  std::optional<std::uint64_t> total_size;                      // what the index claims
  std::string metadata;  // the index's "metadata" object as JSON text; "{}" without one
};

// `path` is a directory, in which find_weights() finds a file or an index of shards, or such an
// index. Error names file and item: names that leave the directory, by path or by link, missing
// files, names that differ by case alone, and text that is not an index.
ShardIndex find_shards(const std::string& path);

// Whether `path` is a directory or the name of an index, and so what find_shards() is for.
bool is_sharded(const std::string& path);

// "took unet/ of the pipeline, not vae/"; "" outside of pipelines.
std::string part_taken(const ShardIndex& index);

// Error unless `name`, links followed, lies in the directory, or is a link into the "blobs" folder
// of a HuggingFace cache that the directory belongs to.
void check_inside(const std::string& directory, const std::string& name);

// The name under which a file with compressed tensors appears, since other tools would load it
// under its usual one and initialise what they miss anew: model-00001-of-00002.safetensors is
// model.sten-00001-of-00002.safetensors; and back. Both are names of safetensors files.
std::string sten_name(const std::string& file);
std::string plain_name(const std::string& file);
// What the tensors of a file of torch.save() are called as safetensors: pytorch_model.bin is
// model.safetensors, and x.pt is x.safetensors; without its graph x.onnx is, too. Any other name
// stays.
std::string safetensors_name(const std::string& file, bool writes_graph = true);

}  // namespace sten
