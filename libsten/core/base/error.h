// SPDX-License-Identifier: Apache-2.0
// Error, the only exception that the library throws; its fault says who has to act.
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace sten {

// Exit codes of the programs.
enum class Fault {
  input = 1,  // a file or the machine is at fault
  usage = 2,  // the caller asked for something that makes no sense
  check = 3,  // a check that the caller asked for failed
};

class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

// A valid request that this implementation cannot serve. Operator implementations throw Unsupported
// for tensors that their layouts alone do not rule out; the dispatcher then computes densely.
class Unsupported : public Error {
 public:
  explicit Unsupported(const std::string& what) : Error(Fault::usage, what) {}
};

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw Error(Fault::input, fmt::format(text, std::forward<A>(args)...));
}
template <class... A>
[[noreturn]] void fail_usage(fmt::format_string<A...> text, A&&... args) {
  throw Error(Fault::usage, fmt::format(text, std::forward<A>(args)...));
}
template <class... A>
[[noreturn]] void fail_unsupported(fmt::format_string<A...> text, A&&... args) {
  throw Unsupported(fmt::format(text, std::forward<A>(args)...));
}
template <class... A>
[[noreturn]] void fail_check(fmt::format_string<A...> text, A&&... args) {
  throw Error(Fault::check, fmt::format(text, std::forward<A>(args)...));
}

}  // namespace sten
