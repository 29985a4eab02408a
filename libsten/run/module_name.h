// A tensor's name as the modules it lies in.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// A name in lower case, without its last part where that is "weight": modules, the last of which
// has the tensor.
struct ModuleName {
  std::string text;
  std::vector<std::string_view> path;   // its parts
  std::string_view own;                 // the last that is not a number, without "_weight"
  std::vector<std::string_view> words;  // of `own`, without the digits at their ends
  bool has_number = false;

  explicit ModuleName(std::string_view name);
  // Deleted: the views are of its own text.
  ModuleName(const ModuleName&) = delete;
  ModuleName& operator=(const ModuleName&) = delete;

  bool has_word(std::initializer_list<std::string_view> any) const;
  // A layer that maps vectors, whatever it is for.
  bool is_layer() const {
    return has_word({"linear", "proj", "project", "projection", "mapping", "conv", "convolution",
                     "dense", "fc", "mlp"});
  }
};

bool is_number(std::string_view part);
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

}  // namespace sten
