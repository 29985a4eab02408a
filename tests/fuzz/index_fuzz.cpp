// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the index of a sharded checkpoint.
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "libsten/core/base/log.h"
#include "libsten/files/checkpoint/shards.h"
#include "tests/fuzz/fuzz.h"

namespace {

// A directory with two shards, and a file outside of it; removed at exit.
const std::string& directory() {
  static const std::string path = [] {
    std::string base = (std::filesystem::temp_directory_path() / "sten-fuzz-XXXXXX").string();
    if (!mkdtemp(base.data())) abort();
    std::filesystem::create_directories(base + "/model");
    for (const char* name : {"/model/a.safetensors", "/model/b.safetensors", "/out.safetensors"})
      std::ofstream(base + name) << "x";
    static std::string made = base;
    std::atexit([] { std::filesystem::remove_all(made); });
    return base + "/model";
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  static const bool quiet = [] { return set_log_sink([](const std::string&) {}), true; }();
  static_cast<void>(quiet);
  const std::string path = directory() + "/model.safetensors.index.json";
  {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  fuzz::accepted([&] {
    const ShardIndex index = find_shards(directory());
    for (const std::string& file : index.files) {
      const auto inside = std::filesystem::weakly_canonical(directory() + "/" + file);
      if (inside.parent_path() != std::filesystem::canonical(directory()))
        fuzz::broken("a shard outside the directory: " + file);
    }
  });
  return 0;
}
