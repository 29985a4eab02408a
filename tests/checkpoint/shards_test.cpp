// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/checkpoint/weight_names.h"

#include <doctest/doctest.h>

using namespace sten;

TEST_CASE("file names of compressed checkpoints and plain file names map to each other") {
  const std::pair<const char*, const char*> names[] = {
      {"model.safetensors", "model.sten.safetensors"},
      {"model-00001-of-00003.safetensors", "model.sten-00001-of-00003.safetensors"},
      {"model.safetensors.index.json", "model.sten.safetensors.index.json"},
      {"diffusion_model.safetensors", "diffusion_model.sten.safetensors"},
      {"unet/model.safetensors", "unet/model.sten.safetensors"},
      {"a-1-of-b.safetensors/x-00001-of-00002.safetensors",
       "a-1-of-b.safetensors/x.sten-00001-of-00002.safetensors"},
      {"a-1-of-b.sten-c/model.safetensors", "a-1-of-b.sten-c/model.sten.safetensors"},
  };
  for (const auto& [plain, sten] : names) {
    CHECK(sten_name(plain) == sten);
    CHECK(plain_name(sten) == plain);
    CHECK(sten_name(sten) == sten);
    CHECK(plain_name(plain) == plain);
  }
}
