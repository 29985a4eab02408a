// SPDX-License-Identifier: Apache-2.0
// Companion files of a batch whose inputs are weight files: config.json, tokenizer and other
// companion_names() are copied to the output directory.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/files/system/mmap.h"

namespace sten {

class BatchCompanions {
 public:
  // Collects the companions of the inputs that are files. Skips a name that two models have with
  // different bytes; and, without `force`, a name that `directory` has with different bytes. With a
  // `dtype`, config.json gets it. Error if config.json is not JSON.
  BatchCompanions(const std::vector<std::string>& inputs, const std::string& directory, bool force,
                  std::optional<DType> dtype);
  // Error if a file cannot be copied.
  void copy() const;
  // Lines for the report: copied and skipped files.
  std::vector<std::string> notes() const;

 private:
  struct Source {
    std::string path;
    std::string text{};  // instead of the file's, unless empty
    std::span<const std::byte> bytes(const MappedFile& file) const;
  };
  std::string directory_;
  std::map<std::string, Source> sources_;  // by name
  std::vector<std::string> left_;          // names
};

}  // namespace sten
