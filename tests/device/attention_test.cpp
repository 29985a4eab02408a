// SPDX-License-Identifier: Apache-2.0
// Attention on a device, and its gradients.
#include "tests/device/row_checks.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("attention on a device matches the CPU's with padding masks, biases and causal masks") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(7);
  struct Case {
    Index batch, tokens, keys, heads, width, v_width;
  };
  for (const Case& c : {Case{2, 5, 7, 3, 4, 2}, Case{1, 6, 6, 2, 3, 3}, Case{3, 4, 4, 1, 5, 5},
                        Case{1, 1, 1, 1, 1, 1}, Case{2, 0, 3, 2, 2, 2}, Case{2, 3, 0, 2, 2, 2}}) {
    const Tensor q = normals(dice, {c.batch, c.tokens, c.heads * c.width}),
                 k = normals(dice, {c.batch, c.keys, c.heads * c.width}),
                 v = normals(dice, {c.batch, c.keys, c.heads * c.v_width}),
                 dy = normals(dice, {c.batch, c.tokens, c.heads * c.v_width});
    std::vector<Tensor> fourths{random_numbers(dice, {c.batch, c.keys}, 0, 2),
                                Dense::zeros(DType::I64, {c.batch, c.keys})};
    for (const Shape& bias : {Shape{c.batch, c.heads, c.tokens, c.keys}, Shape{c.keys},
                              Shape{c.batch, 1, 1, c.keys}, Shape{c.heads, c.tokens, 1}, Shape{}})
      fourths.push_back(normals(dice, bias));
    Dense hidden = Dense::zeros(DType::F32, {c.keys});
    std::ranges::fill(hidden.values.mutate<float>(), -INFINITY);
    fourths.emplace_back(std::move(hidden));
    for (const bool is_causal : {false, true}) {
      Attributes at = Attributes().set("heads", c.heads).set("causal", Index{is_causal});
      if (is_causal) at.set("scale", 0.3);
      check_row_on_device("attention", {q, k, v}, at);
      check_row_on_device("attention.grad", {dy, q, k, v}, at, 3);
      for (const Tensor& fourth : fourths) {
        check_row_on_device("attention", {q, k, v, fourth}, at);
        check_row_on_device("attention.grad", {dy, q, k, v, fourth}, at, 4);
      }
    }
  }
}

TEST_CASE("attention on a device matches the CPU's with grouped heads, windows and soft caps") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(8);
  struct Case {
    Index batch, tokens, keys, heads, kv_heads, width, v_width;
  };
  for (const Case& c :
       {Case{2, 5, 7, 6, 2, 4, 2}, Case{1, 6, 6, 4, 2, 3, 3}, Case{3, 4, 4, 3, 1, 5, 5},
        Case{1, 1, 9, 4, 4, 2, 2}, Case{2, 0, 3, 4, 2, 2, 2}, Case{2, 3, 0, 4, 2, 2, 2}}) {
    const Tensor q = normals(dice, {c.batch, c.tokens, c.heads * c.width}),
                 k = normals(dice, {c.batch, c.keys, c.kv_heads * c.width}),
                 v = normals(dice, {c.batch, c.keys, c.kv_heads * c.v_width}),
                 dy = normals(dice, {c.batch, c.tokens, c.heads * c.v_width}),
                 seen = random_numbers(dice, {c.batch, c.keys}, 0, 2),
                 bias = normals(dice, {c.heads, 1, c.keys});
    for (const Index window : {0, 2})
      for (const double cap : {0.0, 1.5}) {
        const Attributes at = Attributes()
                                  .set("heads", c.heads)
                                  .set("kv_heads", c.kv_heads)
                                  .set("causal", Index{1})
                                  .set("window", window)
                                  .set("soft_cap", cap);
        check_row_on_device("attention", {q, k, v}, at);
        check_row_on_device("attention.grad", {dy, q, k, v}, at, 3);
        for (const Tensor& fourth : {seen, bias}) {
          check_row_on_device("attention", {q, k, v, fourth}, at);
          check_row_on_device("attention.grad", {dy, q, k, v, fourth}, at, 4);
        }
      }
  }
}

TEST_CASE("rotary embeddings and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(9);
  struct Case {
    Index batch, tokens, heads, width, pairs;
  };
  for (const Case& c : {Case{2, 5, 3, 8, 4}, Case{1, 7, 2, 10, 3}, Case{3, 1, 1, 2, 1},
                        Case{1, 2, 2, 4, 0}, Case{2, 0, 1, 4, 2}}) {
    const Tensor x = normals(dice, {c.batch, c.tokens, c.heads * c.width}),
                 dy = normals(dice, {c.batch, c.tokens, c.heads * c.width}),
                 frequencies = normals(dice, {c.pairs});
    for (const Shape& shape : {Shape{c.tokens}, Shape{c.batch, c.tokens}})
      for (const Index is_interleaved : {0, 1}) {
        const Tensor positions = random_numbers(dice, shape, 0, 90);
        const Attributes at = Attributes()
                                  .set("heads", c.heads)
                                  .set("interleaved", is_interleaved)
                                  .set("scale", is_interleaved ? 1.25 : 1);
        check_row_on_device("rotary", {x, positions, frequencies}, at);
        const std::vector<Tensor> in{dy, x, positions, frequencies};
        const std::vector<const OutFormat*> formats{&OutFormat::dense(), nullptr, nullptr};
        const Outputs here = run("rotary.grad", {in, formats, at, {}, {}}),
                      on_device = run("rotary.grad", {all_on_device(in), formats, at, {}, {}});
        check_as_here(*on_device[0], *here[0]);
      }
  }
}

TEST_CASE("a tape of embedding, layer norm, attention and loss on a device matches the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(11);
  const Index batch = 3, tokens = 6, width = 8;
  const Tensor ids = random_numbers(dice, {batch, tokens}, 0, 9),
               seen = random_numbers(dice, {batch, tokens}, 0, 2),
               targets = random_numbers(dice, {batch, tokens}, 0, width);
  const std::vector<Tensor> weights{normals(dice, {9, width}), normals(dice, {9, width}),
                                    normals(dice, {9, width}), normals(dice, {width}),
                                    normals(dice, {width})};
  // The loss, and the gradients of the weights.
  const auto run_on = [&](Device where) {
    Tape tape;
    std::vector<Var> w;
    for (const Tensor& x : weights) w.push_back(tape.parameter(x.to(where)));
    const Var rows = ids.to(where);
    const Var q = layer_norm(embedding(w[0], rows), w[3], w[4], 1e-5);
    const Var y = attention(q, embedding(w[1], rows), embedding(w[2], rows), seen.to(where), 2);
    const Var loss = cross_entropy(y, targets.to(where));
    tape.backward(loss, one_float(1).to(where));
    std::vector<Tensor> all{loss.value()};
    for (const Var& v : w) all.push_back(*v.grad());
    return all;
  };
  const std::vector<Tensor> here = run_on(Device::cpu), on_device = run_on(Device::cuda);
  for (std::size_t i = 0; i < here.size(); ++i) check_as_here(on_device[i], here[i], 0.1);
}
