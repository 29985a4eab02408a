// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/tensor_name.h"

#include <doctest/doctest.h>

#include "libsten/files/checkpoint/checkpoint_writer.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("why_no_name gives the reason why a tensor name is invalid") {
  for (const char* name : {"w", "a/b.weight", "..a", "a..", "слой", "::", "__metadata__x"})
    CHECK(why_no_name(name) == "");
  CHECK(why_no_name(std::string(4096, 'n')) == "");
  CHECK(why_no_name("") == "the name is empty");
  CHECK(why_no_name(std::string(4097, 'n')) == "the name has 4097 bytes, more than 4096");
  CHECK(why_no_name("a\nb") == "the name holds control characters");
  CHECK(why_no_name("/a") == "the name is an absolute path");
  for (const char* name : {"..", "../a", "a/..", "a/../b"})
    CHECK(why_no_name(name) == "the name is a path that leaves its directory");
  CHECK(why_no_name("__metadata__") == "the name is that of a file's metadata");
}

TEST_CASE("check_entry_names rejects invalid names of tensors and of their parts") {
  const auto refused = [](const std::string& name, const char* layout) {
    return error_of([&] { check_entry_names({{name, DType::F32, {2, 2}, Spec(layout)}}, "f"); });
  };
  CHECK(refused("a", "csr") == "");
  CHECK(refused("..", "dense") == "f: '..': the name is a path that leaves its directory");
  CHECK(refused("..", "csr") == "f: '..': the name is a path that leaves its directory");
  CHECK(refused("", "csr") == "f: '': the name is empty");
  CHECK(refused(std::string(4089, 'n'), "dense") == "");
  CHECK(has(refused(std::string(4089, 'n'), "bitmask"), "the name has 4097 bytes"));
}
