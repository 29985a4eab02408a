// SPDX-License-Identifier: Apache-2.0
// The modules in a tensor's name.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// A name in lower case, without a final "weight". The last module owns the tensor.
struct ModuleName {
  std::string text;
  std::vector<std::string_view> path;   // parts of the name
  std::string_view own;                 // the last part that is not a number, without "_weight"
  std::vector<std::string_view> words;  // of `own`, without digits at either end
  bool has_number = false;

  explicit ModuleName(std::string_view name);
  // Deleted, since views point to `text`.
  ModuleName(const ModuleName&) = delete;
  ModuleName& operator=(const ModuleName&) = delete;

  bool has_word(std::initializer_list<std::string_view> any) const;
  // Whether the name is that of a linear layer or convolution.
  bool is_layer() const {
    return has_word({"linear", "proj", "project", "projection", "mapping", "conv", "convolution",
                     "dense", "fc", "mlp"});
  }
};

bool is_number(std::string_view part);
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

}  // namespace sten
