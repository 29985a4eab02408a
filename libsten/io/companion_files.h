// The other files of a checkpoint's directory: configuration, tokenizer, whatever is copied with it.
#pragma once
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

}  // namespace sten
