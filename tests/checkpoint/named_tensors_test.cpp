// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/named_tensors.h"

#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/access.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("save_tensors and load_tensors round-trip names, layouts and values") {
  const TempDir dir;
  const std::string path = dir / "weights.safetensors";
  const Dense w = Dense::of({2, 4}, {1, 0, 3, 0, 0, 6, -7, 0});
  const NamedTensors all{{"w", registry().pack(w, nonzero_mask(w), Spec::parse("nm:n=2,m=4"))},
                         {"ids", tensor_of({2}, std::vector<std::int64_t>{3, -1})}};
  save_tensors(path, all);
  const NamedTensors again = load_tensors(path);
  CHECK(again.size() == 2);
  CHECK(again.at("w").spec().str() == "nm:n=2,m=4");
  CHECK(same_bits(again.at("w").to_dense(), w));
  CHECK(to_vector<std::int64_t>(again.at("ids")) == std::vector<std::int64_t>{3, -1});
}

TEST_CASE(
    "save_tensors replaces a file only with overwrite, and loaded tensors keep their values") {
  const TempDir dir;
  const std::string path = dir / "weights.safetensors";
  save_tensors(path, {{"w", Dense::of({1}, {1})}});
  const NamedTensors first = load_tensors(path);
  CHECK(error_of([&] { save_tensors(path, first); }) ==
        path + ": exists (use overwrite = true to overwrite)");
  save_tensors(path, {{"w", Dense::of({1}, {2})}}, true);
  CHECK(number(first.at("w")) == 1);
  CHECK(number(load_tensors(path).at("w")) == 2);
  CHECK(dir.names() == std::vector<std::string>{"weights.safetensors"});
  CHECK(has(error_of([&] { save_tensors(dir / "x", {{"", Dense::of({1}, {2})}}); }), "x: "));
  CHECK(dir.names().size() == 1);
}
