// Errors of a model's nodes, which name the file that the model is from.
#pragma once
#include <new>
#include <string>
#include <string_view>

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {

// f(), which runs the node of that name: what it throws names the node, a lack of memory too. An
// Unsupported passes unchanged.
template <class F>
auto with_node_name(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("node {}: {}", quote(name), e.what()));
  } catch (const std::bad_alloc&) {
    fail("node {}: out of memory", quote(name));
  }
}

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
