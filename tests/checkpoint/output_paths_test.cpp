// SPDX-License-Identifier: Apache-2.0
// Outputs that are refused because of their location.
#include "libsten/files/checkpoint/output_paths.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "libsten/core/base/error.h"
#include "libsten/files/system/paths.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace fs = std::filesystem;

namespace {

std::string paths_error(const std::vector<NamedPath>& inputs,
                        const std::vector<NamedPath>& outputs) {
  return error_of(Fault::usage, [&] { check_outputs(inputs, outputs); });
}

}  // namespace

TEST_CASE("an output that is or contains an input is rejected, however its path is written") {
  const TempDir dir;
  fs::create_directories(dir / "m/sub");
  dir.write("m/in", "x");
  fs::create_symlink("m", dir / "link");
  fs::create_symlink("m/in", dir / "soft");
  fs::create_hard_link(dir / "m/in", dir / "hard");
  for (const char* name : {"m/in", "m/./in", "m/sub/../in", "link/in", "soft", "hard"}) {
    const std::string out = dir / name;
    CHECK(paths_error({{"", dir / "m/in"}}, {{"-o", out}}) ==
          "-o '" + out + "': the output is the input '" + dir / "m/in" +
              "', and inputs are never written");
  }
  for (const char* name : {"m", "m/", "link", ".", "m/.."})
    CHECK(paths_error({{"--mask", dir / "m/in"}}, {{"-o", dir / name}})
              .ends_with(": the output contains the input --mask '" + dir / "m/in" +
                         "', and inputs are never written"));
  CHECK(paths_error({{"", dir / "m/in"}}, {{"-o", dir / "m/out"}}).empty());
  CHECK(paths_error({{"", dir / "m/in"}}, {{"-o", dir / "mm"}}).empty());
  CHECK(paths_error({{"", dir / "m/in"}}, {{"--out-dir", dir / "m", true}}).empty());
  CHECK(paths_error({{"", "-"}, {"", ""}}, {{"-o", "-"}}).empty());
}

TEST_CASE("an output in an input directory may be a new file, but not replace an existing file") {
  const TempDir dir;
  fs::create_directories(dir / "m/sub");
  dir.write("m/config.json", "x");
  dir.write("m/a.safetensors.index.json", "x");
  for (const char* in : {"m", "m/sub/..", "m/a.safetensors.index.json"}) {
    CHECK(paths_error({{"", dir / in}}, {{"--report", dir / "m/sub/../config.json"}})
              .ends_with("lies in the input '" + dir / in + "', where nothing is replaced"));
    CHECK(paths_error({{"", dir / in}}, {{"--report", dir / "m/new.json"}}).empty());
  }
  CHECK(paths_error({{"", dir / "m/sub"}}, {{"--report", dir / "m/config.json"}}).empty());
}

TEST_CASE("outputs may not be a run's own files, and a state directory may not lie in an input") {
  const TempDir dir;
  fs::create_directories(dir / "m/sub");
  const NamedPath state = {"--state", dir / "s", true,
                           [](const std::string& name) { return name == "mine"; }};
  for (const char* name : {"s/mine", "s/mine/x", "s/sub/../mine/a/b"})
    CHECK(paths_error({}, {state, {"-o", dir / "s/a"}, {"--report", dir / name}})
              .ends_with("' would lie in --state '" + dir / "s" +
                         "', where a run keeps its own files"));
  CHECK(
      paths_error({}, {state, {"-o", dir / "s/yours"}, {"--report", dir / "s/sub/mine"}}).empty());
  for (const char* name : {"m", "m/new", "m/sub/new"})
    CHECK(paths_error({{"", dir / "m"}}, {{"--state", dir / name, true, state.is_own_file}})
              .ends_with("lies in the input '" + dir / "m" + "', where no run keeps its files"));
  CHECK(paths_error({{"", dir / "m/sub"}}, {{"--state", dir / "m", true, state.is_own_file}})
            .empty());
}

TEST_CASE("dangling symlinks resolve to their targets, and symlink loops are rejected") {
  const TempDir dir;
  fs::create_symlink("b", dir / "a");
  fs::create_symlink(dir / "c", dir / "b");
  fs::create_symlink("loop", dir / "loop");
  CHECK(resolved(dir / "a") == resolved(dir / "c"));
  CHECK(paths_error({}, {{"-o", dir / "a"}, {"--mask-out", dir / "c"}})
            .ends_with("are the same file"));
  CHECK_THROWS_AS(resolved(dir / "loop"), Error);
}

TEST_CASE("two outputs with the same path, or one inside the other, are rejected") {
  const TempDir dir;
  const std::string a = dir / "a";
  CHECK(paths_error({}, {{"-o", a}, {"--report", dir / "./a"}}).ends_with("are the same file"));
  CHECK(paths_error({}, {{"-o", a}, {"--report", a + "/report.json"}}) ==
        "--report '" + a + "/report.json' would lie in -o '" + a + "'");
  CHECK(paths_error({}, {{"-o", a}, {"--state", a + "/state", true}}) ==
        "--state '" + a + "/state' would lie in -o '" + a + "'");
  CHECK(paths_error({}, {{"-o", a}, {"--state", a, true}}).ends_with("are the same file"));
  CHECK(paths_error({}, {{"-o", a + "/out"}, {"--state", a, true}}).empty());
  CHECK(paths_error({}, {{"-o", a}, {"--report", a + ".json"}, {"--mask-out", a + "b"}}).empty());
  CHECK(paths_error({}, {{"--json", "-"}, {"-o", "/dev/stdout"}}) ==
        "--json and -o '/dev/stdout' both want standard output");
  CHECK(paths_error({}, {{"--mask-out", "-"}, {"-o", "-"}}) ==
        "--mask-out - and -o - both want standard output");
  CHECK(paths_error({}, {{"-o", "/dev/null"}, {"--report", "/dev/null"}}).empty());
}

TEST_CASE("check_outputs accepts 20,000 distinct inputs and outputs") {
  std::vector<NamedPath> in, out;
  for (int i = 0; i < 20000; ++i) {
    in.push_back({"", "in/m" + std::to_string(i)});
    out.push_back({"", "out/m" + std::to_string(i)});
  }
  CHECK(paths_error(in, out).empty());
}

TEST_CASE("an output path that ends in a slash takes the file name of the input") {
  const TempDir dir;
  dir.write("in.safetensors", "x");
  fs::create_directories(dir / "m");
  const std::string in = dir / "in.safetensors";
  CHECK(output_for(in, "out/") == "out/in.safetensors");
  CHECK(output_for(in, "/") == "/in.safetensors");
  CHECK(output_for("missing.npy", "out/") == "out/missing.npy");
  for (const char* out : {"", "out", "-", "out/x"}) CHECK(output_for(in, out) == out);
  for (const std::string& sharded : {dir / "m", std::string("x/model.safetensors.index.json")})
    CHECK(output_for(sharded, "out/") == "out/");
  for (const char* stream : {"-", "/dev/fd/0"}) {
    try {
      output_for(stream, "out/");
      FAIL("a stream has a name");
    } catch (const Error& e) {
      CHECK(e.fault() == Fault::usage);
    }
  }
}
