// SPDX-License-Identifier: Apache-2.0
// Companion files of a batch whose inputs are weight files: config.json, tokenizer and other
// companion_names() are copied to the output directory.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace sten {

class BatchCompanions {
 public:
  // Collects the companions of the inputs that are files. Skips a name that two models have with
  // different bytes; and, without `force`, a name that `directory` has with different bytes.
  BatchCompanions(const std::vector<std::string>& inputs, const std::string& directory, bool force);
  // Error if a file cannot be copied.
  void copy() const;
  // Lines for the report: copied and skipped files.
  std::vector<std::string> notes() const;

 private:
  std::string directory_;
  std::map<std::string, std::string> sources_;  // paths by name
  std::vector<std::string> left_;               // names
};

}  // namespace sten
