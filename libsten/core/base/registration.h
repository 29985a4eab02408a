// SPDX-License-Identifier: Apache-2.0
// What an extension registers while load_extension() (core/dispatch/load_extension.h) runs its
// initializers. They must not throw, since dlopen() cannot pass on an exception.
#pragma once
#include <exception>
#include <set>
#include <string>
#include <string_view>

namespace sten {

class Registration {
 public:
  // Records what this thread registers until the end of the scope.
  Registration();
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // The first error; empty if there is none.
  const std::string& error() const { return error_; }

  // The tables ask before they add a name. `kind`: such as "layout". False if an extension is being
  // loaded and the name exists: its entry must stay, and the error is recorded.
  static bool admits(std::string_view kind, std::string_view name, bool exists);
  // Whether the extension that is being loaded has added the name.
  static bool has_added(std::string_view kind, std::string_view name);
  // False if no extension is being loaded.
  static bool record_error(const std::string& what);

 private:
  std::set<std::string, std::less<>> added_;
  std::string error_;
};

// Calls f(). While an extension is loaded, an exception is recorded, and the result is false.
template <class F>
bool register_by(F&& f) {
  try {
    f();
    return true;
  } catch (const std::exception& e) {
    if (!Registration::record_error(e.what())) throw;
    return false;
  }
}

}  // namespace sten
