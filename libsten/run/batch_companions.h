// Companions of models that a batch reads as files: config.json, tokenizer and the others of
// companion_names(), which the directory of its outputs gets.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace sten {

class BatchCompanions {
 public:
  // Of the inputs that are files. A name that two models have with different bytes stays behind. So
  // does, without `force`, one that `directory` has with different bytes.
  BatchCompanions(const std::vector<std::string>& inputs, const std::string& directory, bool force);
  // Error.
  void copy() const;
  // Lines for the report: what is copied, and what stays behind.
  std::vector<std::string> notes() const;

 private:
  std::string directory_;
  std::map<std::string, std::string> sources_;  // paths by name
  std::vector<std::string> left_;               // names
};

}  // namespace sten
