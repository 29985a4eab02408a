// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/output_name.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string name_error(const std::string& path, Written what) {
  return error_of(Fault::usage, [&] { check_output_name(path, what); });
}

}  // namespace

TEST_CASE("a file extension of another format than the output's is rejected") {
  for (const Written what : {Written::checkpoint, Written::masks}) {
    CHECK(name_error("a/x.safetensors", what).empty());
    CHECK(name_error("x.SAFETENSORS", what).empty());
    CHECK(name_error("x.pt", what).starts_with("x.pt: the name is that of a PyTorch file, "));
    CHECK(name_error("a.b/x.GGUF", what)
              .starts_with("a.b/x.GGUF: the name is that of a GGUF file, "));
    CHECK(name_error("x.safetensors.gz", what).find("compressed data") != std::string::npos);
  }
  CHECK(name_error("x.npy", Written::checkpoint).empty());
  CHECK(name_error("x.npy", Written::masks).find("a NumPy array, but the output is safetensors") !=
        std::string::npos);
  for (const char* name : {"run.pt", "run.safetensors", "run.npy", "a/run.h5//"})
    CHECK(name_error(name, Written::directory).ends_with("is a directory (leave the ending out)"));
}

TEST_CASE("streams and names with an unknown extension or none are accepted") {
  for (const Written what : {Written::checkpoint, Written::masks, Written::directory})
    for (const char* name :
         {"x", ".pt", "x.sparse", "v1.5", "x.pt/y", "a.bin.d", "-", "/dev/stdout"})
      CHECK(name_error(name, what).empty());
}
