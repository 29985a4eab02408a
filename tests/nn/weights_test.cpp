// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/weights.h"

#include <doctest/doctest.h>

#include "libsten/model/nn/mlp.h"
#include "tests/support/bad_input.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A graph of weights alone.
Graph weights_only(std::vector<Weight> w) { return Graph({{}, std::move(w), {}, {}}); }

Graph tied() {
  return weights_only({{"table", {3, 2}, Spec("zeros"), {"decoder", "other"}}, {"bias", {3}}});
}

}  // namespace

TEST_CASE("saved weights round trip, sparse weights in their layout") {
  const TempDir dir;
  const Graph g = mlp({8, 12, 4});
  NamedValues<Tensor> w = initial_weights(g, 4);
  const Sparsifier by = registry().sparsifier(Spec::parse("magnitude:sparsity=0.5"));
  w.at("layers.0.weight") = sparsify(w.at("layers.0.weight"), by, Spec("csr"));
  save_weights(g, w, dir / "model.safetensors");
  const Checkpoint file = Checkpoint::open(dir / "model.safetensors");
  CHECK(file.tensors().at(1).name == "layers.0.bias");
  const NamedValues<Tensor> back = load_weights(g, file);
  CHECK(back.size() == 4);
  for (const auto& one : w) {
    CHECK(back.at(one.first).spec() == one.second.spec());
    CHECK(same_bits(back.at(one.first).to_dense(), one.second.to_dense()));
  }
  CHECK(has(error_of([&] { save_weights(g, w, dir / "model.safetensors"); }), "exists"));
  save_weights(g, w, dir / "model.safetensors", true);
}

TEST_CASE("LowWeights loads F16 as F32 in its layout, and BF16 unchanged or widened") {
  const TempDir dir;
  const auto of = [](DType dtype, std::vector<std::uint16_t> bits) {
    Dense x{{2, 2}, Values::uninitialized(dtype, 4)};
    std::ranges::copy(bits, x.values.mutate<std::uint16_t>().begin());
    return x;
  };
  const Dense half = of(DType::F16, {0x3c00, 0, 0xc000, 0x0001});  // 1, 0, -2, 2^-24
  const Dense low = of(DType::BF16, {0x3f80, 0, 0, 0x4000});
  const Graph g = weights_only({{"half", {2, 2}}, {"low", {2, 2}}, {"sparse", {2, 2}}});
  save_weights(g,
               {{"half", half},
                {"low", low},
                {"sparse", registry().pack(half, nonzero_mask(half), Spec("csr"))}},
               dir / "m.safetensors");
  const Checkpoint file = Checkpoint::open(dir / "m.safetensors");
  CHECK(has(error_of([&] { load_weights(g, file); }), "half is F16, expected F32"));
  const NamedValues<Tensor> w = load_weights(g, file, {}, {}, LowWeights::unchanged);
  CHECK(same_bits(w.at("half").to_dense(), Dense::of({2, 2}, {1, 0, -2, 0x1p-24f})));
  CHECK(w.at("sparse").layout() == "csr");
  CHECK(same_bits(w.at("sparse").to_dense(), w.at("half").to_dense()));
  CHECK(same_bits(w.at("low").to_dense(), low));
  const NamedValues<Tensor> wide = load_weights(g, file, {}, {}, LowWeights::widened);
  CHECK(same_bits(wide.at("half").to_dense(), w.at("half").to_dense()));
  CHECK(same_bits(wide.at("low").to_dense(), Dense::of({2, 2}, {1, 0, 0, 2})));
  CHECK(wide.at("sparse").layout() == "csr");
}

TEST_CASE("a one-line error counts the tensors that do not fit the model and names the first") {
  const TempDir dir;
  const std::string path = dir / "model.safetensors";
  const Tensor f64 = Dense::zeros(DType::F64, {4});
  save_weights(weights_only({{"layers.0.weight", {6, 9}},
                             {"layers.1.weight", {3, 6}},
                             {"layers.1.bias", {3}},
                             {"layers.2.bias", {4}},
                             {"extra", {1}},
                             {"unused.extra", {1}}}),
               {{"layers.0.weight", Dense::zeros(DType::F32, {6, 9})},
                {"layers.1.weight", Dense::zeros(DType::F32, {3, 6})},
                {"layers.1.bias", Dense::zeros(DType::F32, {3})},
                {"layers.2.bias", f64},
                {"extra", Dense::zeros(DType::F32, {1})},
                {"unused.extra", Dense::zeros(DType::F32, {1})}},
               path);
  const Checkpoint file = Checkpoint::open(path);
  const std::string why = error_of([&] { load_weights(mlp({8, 6, 3, 4}), file, {"unused.*"}); });
  CAPTURE(why);
  CHECK(held(65, why == path + ": 5 tensors do not fit the model: "
                               "layers.0.weight is [6, 9], expected [6, 8]; "
                               "layers.0.bias is missing; "
                               "layers.2.weight is missing; "
                               "layers.2.bias is F64, expected F32; and 1 more"));
  const std::string unlisted = error_of([&] { load_weights(mlp({8, 6, 4}), file); });
  CAPTURE(unlisted);
  CHECK(!has(unlisted, "\n"));
}

TEST_CASE("saving rejects weights that do not fit the model") {
  const TempDir dir;
  CHECK(error_of([&] {
          save_weights(tied(), {{"table", Dense::zeros(DType::F32, {2, 3})}}, dir / "x");
        }) == "'" + dir / "x" +
                  "': 2 tensors do not fit the model: table is "
                  "[2, 3], expected [3, 2]; bias is missing");
}

TEST_CASE("a shared weight loads under any of its names, and its copies must be equal") {
  const TempDir dir;
  const Tensor bias = f32({3}, {1, 2, 3}), table = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto load = [&](NamedValues<Tensor> saved) {
    std::vector<Weight> all;
    for (const auto& [name, value] : saved) all.push_back({name, value.shape()});
    save_weights(weights_only(all), saved, dir / "m.safetensors", true);
    return load_weights(tied(), Checkpoint::open(dir / "m.safetensors"));
  };
  CHECK(
      same_bits(load({{"other", table}, {"bias", bias}}).at("table").to_dense(), table.to_dense()));
  CHECK(load({{"table", table}, {"other", table}, {"bias", bias}}).size() == 2);
  const Tensor another = f32({3, 2}, {1, 2, 3, 4, 5, 7});
  CHECK(has(error_of([&] {
              load({{"table", table}, {"decoder", another}, {"bias", bias}});
            }),
            "1 tensor does not fit the model: decoder differs from table, whose values it shares"));
}
