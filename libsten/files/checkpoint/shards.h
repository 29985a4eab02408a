// SPDX-License-Identifier: Apache-2.0
// Shards of a checkpoint in a directory, as Hugging Face stores them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sten {

struct ShardIndex {
  std::string directory;
  std::string folder;               // of the files in a pipeline: "unet/"; otherwise empty
  std::vector<std::string> beside;  // other folders of the pipeline with weights
  std::string index;                // name in the directory; empty: one file, no index
  std::vector<std::string> files;   // names in the directory, in natural order
  std::vector<std::pair<std::string, std::string>> weight_map;  // entry -> file; empty: no index
  std::optional<std::uint64_t> total_size;                      // as the index says
  std::string metadata;  // the index's "metadata" object as JSON text; "{}" without one
};

// Finds the files of a checkpoint. `path`: an index of shards, or a directory in which
// find_weights() finds a file or an index. Error with file and item for names that leave the
// directory (by path or link), missing files, names that differ only in case, and a malformed
// index.
ShardIndex find_shards(const std::string& path);

// Whether `path` is a directory or an index, as find_shards() requires.
bool is_sharded(const std::string& path);

// "took unet/ of the pipeline, not vae/"; "" outside of pipelines.
std::string part_taken(const ShardIndex& index);

// Error unless `name`, with links resolved, is in the directory or in the "blobs" folder of a
// Hugging Face cache that the directory belongs to.
void check_inside(const std::string& directory, const std::string& name);

}  // namespace sten
