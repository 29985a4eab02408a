// Errors of a model's nodes, which name the file that the model is from.
#pragma once
#include <string_view>

#include "libsten/base/error.h"

namespace sten {

// f(); the text of an Error of a node gets `file()` in front, unless that is empty.
template <class File, class F>
auto with_model_file(File&& file, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (!std::string_view(e.what()).starts_with("node '")) throw;
    const std::string name = file();
    if (name.empty()) throw;
    throw Error(e.fault(), fmt::format("{}: {}", name, e.what()));
  }
}

}  // namespace sten
