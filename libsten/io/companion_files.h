// The other files of a checkpoint's directory: configuration, tokenizer, whatever is copied with it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "libsten/io/shards.h"

namespace sten {

struct CompanionFile {
  enum Kind { file, directory, other };  // other: neither, and not copied
  std::string name;                      // relative to the index's directory
  Kind kind;
  unsigned mode;  // permission bits
};

// What a copy of the index's directory has besides the checkpoint itself, sorted by name: a
// directory comes before its files. Without `left` (as other_weights() names it), version control,
// caches and records of outputs. Error where an entry cannot be read, where a link leaves the
// directory, and for a link to a directory.
std::vector<CompanionFile> companion_files(const ShardIndex& index,
                                           const std::vector<std::string>& left);

// The files by which Hugging Face's libraries load a model besides its weights: configuration of
// the model and its generation, image processor, tokenizer. A checkpoint that is given as a file has
// these companions alone, for whatever else lies beside it may be anything.
struct CompanionName {
  const char* name;
  bool of_tokenizer;
};
std::span<const CompanionName> companion_names();

// The path of each of companion_names() that `directory` ("" is the working directory) has as a
// file. None without a config.json, for then it is not the directory of a model.
struct NamedCompanion {
  std::string name, path;
  bool of_tokenizer;
};
std::vector<NamedCompanion> named_companions(const std::string& directory);

}  // namespace sten
