// SPDX-License-Identifier: Apache-2.0
// Image modules and attention.
#include "libsten/model/nn/image_layers.h"

#include <doctest/doctest.h>

#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/inference.h"
#include "libsten/training/optim/sgd.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Images [N, 8, 8, 3] to logits [N, 4].
struct ConvNet : Module {
  Child<Conv2d> conv = child<Conv2d>("conv", 3, 6, Windows2d{.kernel = 3, .padding = 1}),
                grouped =
                    child<Conv2d>("grouped", 6, 6, Windows2d{.kernel = 3, .stride = 2}, 3, false);
  Child<BatchNorm2d> norm = child<BatchNorm2d>("norm", 6);
  Child<MaxPool2d> pool = child<MaxPool2d>("pool", Windows2d{.kernel = 2, .stride = 2});
  Child<AdaptiveAvgPool2d> mean = child<AdaptiveAvgPool2d>("mean", 1);
  Child<Linear> out = child<Linear>("out", 6, 4);
  Var forward(const Var& x) const {
    return out(reshape(mean(grouped(pool(relu(norm(conv(x)))))), {-1, 6}));
  }
};

struct Reader : Module {
  Child<Attention> attend = child<Attention>("attend", 8, 2, true);
  Var forward(const Var& x) const { return attend(x); }
};

Tensor pictures() {
  Dice dice(4);
  return normals(dice, {5, 8, 8, 3});
}

}  // namespace

TEST_CASE("image modules have the weights and buffers of torch.nn, and buffers are not trained") {
  ConvNet net;
  std::vector<std::string> names, trained;
  const Graph weights = net.weights_graph();
  for (const Weight& w : weights.weights()) names.push_back(w.name);
  for (const Parameter* p : net.parameters()) trained.push_back(p->name);
  CHECK(names == std::vector<std::string>{"conv.weight", "conv.bias", "grouped.weight",
                                          "norm.weight", "norm.bias", "norm.running_mean",
                                          "norm.running_var", "out.weight", "out.bias"});
  CHECK(trained == std::vector<std::string>{"conv.weight", "conv.bias", "grouped.weight",
                                            "norm.weight", "norm.bias", "out.weight", "out.bias"});
  CHECK(weights.find_weight("grouped.weight")->shape == Shape{6, 2, 3, 3});
  net.initialize(1);
  CHECK(floats(net.values().at("norm.running_var").to_dense()) == std::vector<float>(6, 1));
  net.sparsify("*", {registry().sparsifier(Spec::parse("magnitude:sparsity=0.5")), Spec("masked")});
  CHECK(net.values().at("norm.running_mean").layout() == "dense");
}

TEST_CASE("batch norm updates running statistics in training and uses them in evaluation") {
  ConvNet net;
  net.initialize(1);
  const Tensor x = pictures();
  const Dense convolved = net.conv->forward(x).value().to_dense();
  const Gradients g = gradients(net, [&] {
    return cross_entropy(net.forward(x), Var(Tensor(Dense::zeros(DType::I64, {5}))));
  });
  CHECK(g.of.contains("norm.weight"));
  CHECK_FALSE(g.of.contains("norm.running_mean"));
  const std::vector<float> mean = floats(net.values().at("norm.running_mean").to_dense()),
                           variance = floats(net.values().at("norm.running_var").to_dense()),
                           all = floats(convolved);
  for (std::size_t c = 0; c < 6; ++c) {
    double sum = 0, square = 0;
    const double n = 5 * 8 * 8;
    for (std::size_t i = c; i < all.size(); i += 6) sum += all[i];
    for (std::size_t i = c; i < all.size(); i += 6)
      square += (all[i] - sum / n) * (all[i] - sum / n);
    CHECK(mean[c] == doctest::Approx(0.1 * sum / n).epsilon(1e-4));
    CHECK(variance[c] == doctest::Approx(0.9 + 0.1 * square / (n - 1)).epsilon(1e-4));
  }
  net.eval();
  const Tensor y = net.forward(x).value();
  CHECK(floats(net.values().at("norm.running_mean").to_dense()) == mean);
  const TempDir dir;
  net.save(dir / "net.safetensors");
  ConvNet back;
  back.load(dir / "net.safetensors");
  back.eval();
  CHECK(same_bits(back.forward(x).value().to_dense(), y.to_dense()));
}

TEST_CASE("a training trace has running statistics, and its inference graph matches evaluation") {
  ConvNet net;
  net.initialize(1);
  const Tensor x = pictures();
  const Graph g = trace(net, {{"x", x}});
  REQUIRE(g.statistics().size() == 1);
  CHECK(g.statistics()[0].moments == "norm.moments");
  CHECK(g.statistics()[0].mean == "norm.running_mean");
  CHECK(g.statistics()[0].variance == "norm.running_var");
  CHECK(g.find_node("pool")->op == Name("max-pool"));
  CHECK(floats(net.values().at("norm.running_mean").to_dense()) == std::vector<float>(6, 0));
  net.eval();
  const Graph evaluated = trace(net, {{"x", x}});
  CHECK(evaluated.statistics().empty());
  const NamedValues<Tensor> w = net.values();
  const Dense wanted = net.forward(x).value().to_dense();
  for (const Graph& graph : {inference_graph(parse_graph(to_json(g))), evaluated})
    CHECK(same_bits(graph.run<Tensor>(w, {{"x", x}}).at("out").to_dense(), wanted));
}

TEST_CASE("Attention equals the operator on projected inputs and is traced as one node") {
  Reader net;
  net.initialize(2);
  Dice dice(5);
  const Tensor x = normals(dice, {2, 4, 8});
  const NamedValues<Tensor> w = net.values();
  const auto project = [&](const char* name, const Tensor& of) {
    const std::string path = std::string("attend.") + name;
    return linear(of, w.at(path + ".weight"), w.at(path + ".bias"));
  };
  const std::vector<Tensor> in{project("q_proj", x), project("k_proj", x), project("v_proj", x)};
  const Tensor seen = apply(Name("attention"), std::span(in),
                            Attributes().set("heads", Index{2}).set("causal", Index{1}));
  CHECK(same_bits(net.forward(x).value().to_dense(), project("out_proj", seen).to_dense()));
  const Graph g = trace(net, {{"x", x}});
  CHECK(g.nodes().size() == 5);
  CHECK(g.find_node("attend.attention") != nullptr);

  Dense mask = Dense::zeros(DType::I64, {2, 4});
  std::ranges::fill(mask.values.mutate<std::int64_t>(), 1);
  const Attention& a = *net.attend;
  CHECK(same_bits(a.forward(x, x, x, Var(Tensor(mask))).value().to_dense(),
                  a.forward(x).value().to_dense()));
  CHECK(error_of([] { Attention(8, 3); }) ==
        "attention: expected heads that divide the width 8, got 3");
  CHECK(error_of([] { Conv2d(6, 4, {.kernel = 3}, 4); }) ==
        "conv: expected groups that divide 6 and 4 channels, got 4");
}
