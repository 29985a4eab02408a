// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/calibration_cache.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "libsten/training/trainer/model_walk.h"
#include "tests/support/small_bert.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const CalibrationIdentity identity{"m", "d", "o"};

struct Interrupted {};

// A calibration of a small BERT's encoder by least squares.
struct Calibration {
  Graph graph = bert(small_bert(), {.mask = true});
  NamedValues<Tensor> weights = bert_weights(graph, "dense", 8);
  std::vector<NamedValues<Tensor>> batches = {bert_values(2, 6, true), bert_values(2, 9, true)};

  // Throws Interrupted before layer `stop`. Returns the number of layers that it pruned.
  int run(CalibrationCache& cache, int stop, bool targets) const {
    int pruned = 0;
    prune_along({graph, batches, cache, [&](const std::string& name) { return weights.at(name); },
                 [](const std::string& name) { return name.starts_with("bert.encoder.layer."); },
                 true, targets,
                 [&](const std::string& name, const InputStatistics& inputs) {
                   if (pruned == stop) throw Interrupted();
                   ++pruned;
                   CalibratedOptions half;
                   half.method = "sparsegpt";
                   half.structure = Spec::parse("magnitude:sparsity=0.5");
                   CalibratedLayer layer = prune_layer(weights.at(name).to_dense(), inputs, half);
                   cache.layers().add(name, layer, true);
                   return layer.weights;
                 }});
    cache.advance(WalkPoint{graph.nodes().size()});
    return pruned;
  }
};

std::vector<std::byte> bytes_of(CalibrationCache& cache, const Calibration& c,
                                const std::string& name) {
  TensorInfo t;
  t.name = name;
  t.shape = c.weights.at(name).shape();
  const CalibratedLayer layer = cache.layers().read(t);
  const auto& bytes = layer.weights.values.bytes();
  return {bytes.data(), bytes.data() + bytes.size()};
}

}  // namespace

TEST_CASE("a calibration interrupted before any layer resumes to bit-identical weights") {
  const Calibration c;
  const TempDir dir;
  bool targets = true;
  SUBCASE("targets: the dense model's outputs") {}
  SUBCASE("targets: outputs on the pruned model's inputs") { targets = false; }
  CalibrationCache whole(dir / "whole", identity, c.batches.size());
  REQUIRE(c.run(whole, -1, targets) == 12);
  for (int stop = 0; stop < 12; ++stop) {
    CAPTURE(stop);
    const std::string path = dir / std::to_string(stop);
    {
      CalibrationCache cache(path, identity, c.batches.size());
      CHECK_THROWS_AS(c.run(cache, stop, targets), Interrupted);
    }
    CalibrationCache cache(path, identity, c.batches.size());
    const int rest = c.run(cache, -1, targets);
    // The layers before the last point are not pruned again.
    CHECK(rest <= 12 - stop + 4);
    REQUIRE(cache.layers().records().size() == 12);
    for (const auto& [name, record] : cache.layers().records())
      CHECK(bytes_of(cache, c, name) == bytes_of(whole, c, name));
    cache.clear();
    CHECK(!std::filesystem::exists(path));
  }
}

TEST_CASE("a calibration cache loads stored activations, and reopens at the last resumable point") {
  using enum WalkedModel;
  const TempDir dir;
  const Dense x = Dense::of({2, 2}, {1, -2, 3, 4.5}), y = Dense::of({2, 2}, {0, 1, 0, 2});
  for (const bool can_resume : {true, false}) {
    const std::string path = dir / (can_resume ? "a" : "b");
    {
      CalibrationCache cache(path, identity, 1);
      cache.store(pruned, 0, {{5, x}});
      cache.advance(WalkPoint{1, 16, 2});
      cache.begin_dense();
      cache.store(pruned, 0, {{7, y}});
      cache.store(dense, 0, {{8, x}});
      CHECK(cache.load(pruned, 0).contains(5));
      CHECK(cache.load(dense, 0).contains(5));
      cache.advance(can_resume ? std::optional(WalkPoint{3, 32, 2, 1}) : std::nullopt);
      const BatchActivations in_pruned = cache.load(pruned, 0), in_dense = cache.load(dense, 0);
      REQUIRE(in_pruned.size() == 1);
      REQUIRE(in_dense.size() == 1);
      CHECK(same_bits(y, in_pruned.at(7).as<Dense>()));
      CHECK(same_bits(x, in_dense.at(8).as<Dense>()));
    }
    const CalibrationCache cache(path, identity, 1);
    CHECK(cache.begin().node == (can_resume ? 3 : 1));
    CHECK(cache.begin().most_bytes == (can_resume ? 32 : 16));
    CHECK(cache.begin().dense_node.has_value() == can_resume);
    CHECK(cache.load(pruned, 0).contains(can_resume ? 7 : 5));
    // The dense model begins where it was before its last step.
    CHECK(cache.load(dense, 0).contains(5) == can_resume);
  }
}

TEST_CASE("advancing past points that cannot be resumed preserves the last resumable point") {
  using enum WalkedModel;
  const TempDir dir;
  const auto at = [](float x) { return BatchActivations{{5, Dense::of({1}, {x})}}; };
  const auto value = [](const CalibrationCache& cache) {
    return cache.load(pruned, 0).at(5).as<Dense>().values.as<float>()[0];
  };
  {
    CalibrationCache cache(dir / "cache", identity, 2);
    for (int point = 0; point < 6; ++point) {
      cache.store(pruned, 0, at(static_cast<float>(point)));
      if (point > 0) CHECK(value(cache) == point - 1);
      cache.advance(point == 0 ? std::optional(WalkPoint{1, 1, 1}) : std::nullopt);
      CHECK(value(cache) == point);
    }
  }
  CalibrationCache cache(dir / "cache", identity, 2);
  CHECK(cache.begin().node == 1);
  CHECK(value(cache) == 0);
  cache.clear();
  CHECK(!std::filesystem::exists(dir / "cache"));
}

TEST_CASE("a cache of another calibration or a directory with other files is rejected") {
  const TempDir dir;
  const std::string path = dir / "cache";
  { const CalibrationCache cache(path, identity, 1); }
  const auto refusal_of = [&](const CalibrationIdentity& other) -> std::string {
    try {
      const CalibrationCache cache(path, other, 1);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  CHECK(refusal_of({"x", "d", "o"}) ==
        path +
            ": contains a different calibration: expected the same model (remove "
            "the directory, or name another directory)");
  CHECK(refusal_of({"m", "x", "o"}) ==
        path +
            ": contains a different calibration: expected the same data (remove the "
            "directory, or name another directory)");
  std::ofstream(path + "/state.json") << "{}";
  CHECK(refusal_of(identity) == path +
                                    "/state.json: expected the state of a calibration (remove the "
                                    "directory, or name another directory)");
  std::ofstream(path + "/notes.txt") << "x";
  CHECK(refusal_of(identity) ==
        path + ": expected an empty directory or a calibration cache, found 'notes.txt'");
}
