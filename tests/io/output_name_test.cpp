#include "libsten/files/checkpoint/output_name.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"

using namespace sten;

namespace {

std::string name_refusal(const std::string& path, Written what) {
  try {
    check_output_name(path, what);
    return "";
  } catch (const Error& e) {
    CHECK(e.fault() == Fault::usage);
    return e.what();
  }
}

}  // namespace

TEST_CASE("an ending that says another kind of file than what is written is refused") {
  for (const Written what : {Written::checkpoint, Written::masks}) {
    CHECK(name_refusal("a/x.safetensors", what).empty());
    CHECK(name_refusal("x.SAFETENSORS", what).empty());
    CHECK(name_refusal("x.pt", what).starts_with("x.pt: the name is that of a PyTorch file, "));
    CHECK(name_refusal("a.b/x.GGUF", what)
              .starts_with("a.b/x.GGUF: the name is that of a GGUF file, "));
    CHECK(name_refusal("x.safetensors.gz", what).find("compressed data") != std::string::npos);
  }
  CHECK(name_refusal("x.npy", Written::checkpoint).empty());
  CHECK(
      name_refusal("x.npy", Written::masks).find("a NumPy array, but the output is safetensors") !=
      std::string::npos);
  for (const char* name : {"run.pt", "run.safetensors", "run.npy", "a/run.h5//"})
    CHECK(
        name_refusal(name, Written::directory).ends_with("is a directory (leave the ending out)"));
}

TEST_CASE("names without an ending, with one that says nothing, and streams are free") {
  for (const Written what : {Written::checkpoint, Written::masks, Written::directory})
    for (const char* name :
         {"x", ".pt", "x.sparse", "v1.5", "x.pt/y", "a.bin.d", "-", "/dev/stdout"})
      CHECK(name_refusal(name, what).empty());
}
