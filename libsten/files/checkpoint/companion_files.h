// SPDX-License-Identifier: Apache-2.0
// Companion files: configuration, tokenizer and other files that are copied with a checkpoint.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "libsten/files/checkpoint/shards.h"

namespace sten {

struct CompanionFile {
  enum Kind { file, directory, other };  // other: not copied
  std::string name;                      // relative to the index's directory
  Kind kind;
  unsigned mode;  // permission bits
};

// The companions in the index's directory, sorted by name, directories before their files. Excludes
// `left` (as from other_weights()), version control, caches and manifests of outputs. Error for an
// entry that cannot be read, for a link that leaves the directory, and for a link to a directory.
std::vector<CompanionFile> companion_files(const ShardIndex& index,
                                           const std::vector<std::string>& left);

// Files that Hugging Face libraries load beside the weights: configuration of the model and of
// generation, image processor, tokenizer. A checkpoint that is a file has only these companions,
// since other files beside it can be unrelated.
struct CompanionName {
  const char* name;
  bool of_tokenizer;
};
std::span<const CompanionName> companion_names();

// The paths of the companion_names() in `directory` ("": the working directory). Empty without a
// config.json, since the directory is not a model then.
struct NamedCompanion {
  std::string name, path;
  bool of_tokenizer;
};
std::vector<NamedCompanion> named_companions(const std::string& directory);

}  // namespace sten
