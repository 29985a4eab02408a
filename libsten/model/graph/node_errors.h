// SPDX-License-Identifier: Apache-2.0
// Errors of a model's nodes, with the name of the model's file.
#pragma once
#include <new>
#include <string>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

// Calls f(), which runs the node; its errors, also a lack of memory, name the node. Unsupported
// passes unchanged.
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

// Calls f(); an Error of a node starts with `file()`, unless that is empty.
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
