// SPDX-License-Identifier: Apache-2.0
// Helpers of the fuzz targets. Each NAME_fuzz.cpp is a target: libFuzzer runs it in clang builds
// with sanitizers, and replay_main.cpp runs it on the stored inputs in every build.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "libsten/core/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sten::fuzz {

// Reports a finding by ending the process.
[[noreturn]] inline void broken(const std::string& law) {
  std::fprintf(stderr, "broken: %s\n", law.c_str());
  std::abort();
}

// Whether f succeeds. An Error is the expected result of bad input; any other exception is a
// finding.
template <class F>
bool accepted(F&& f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    if (!*e.what()) broken("an error says nothing");
    for (const char* c = e.what(); *c; ++c)
      if (static_cast<unsigned char>(*c) < 32) broken("an error has a control character");
    return false;
  }
}

// Reads choices from the input's bytes; zeros after their end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // A value in [0, n).
  std::int64_t below(std::int64_t n) { return byte() % n; }
  template <class List>
  auto one_of(const List& list) {
    return list[below(static_cast<std::int64_t>(std::size(list)))];
  }
  std::int64_t number() {
    std::uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v = v << 8 | byte();
    std::int64_t out;
    std::memcpy(&out, &v, sizeof(out));
    return out;
  }
  bool empty() const { return size_ == 0; }
  std::string_view rest() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace sten::fuzz
