// SPDX-License-Identifier: Apache-2.0
// A graph with the operators of Llama: RMS norms, rotary positions, attention whose heads share
// keys and values, and gated layers.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "libsten/model/graph/graph.h"

namespace sten::testing {

struct LlamaShape {
  Index layers, hidden, heads, kv_heads, width, inner, vocabulary;
  double deviation = 0.15;  // of initial weights
};

class LlamaGraph {
 public:
  // `rules`: further attributes of attention.
  LlamaGraph(const LlamaShape& shape, const Attributes& rules) : s_(shape), rules_(rules) {
    g_.inputs = {"input_ids", "position_ids"};
    add("h", "embedding", {weight("table", {s_.vocabulary, s_.hidden}), "input_ids"});
    weight("frequencies", {s_.width / 2});
    std::string x = "h";
    for (Index i = 0; i < s_.layers; ++i) x = block(std::to_string(i) + ".", x);
    add("lm_head", "linear", {norm("norm", x, s_.hidden), "table"});
    g_.outputs = {"lm_head"};
  }
  Graph graph() && { return Graph(std::move(g_)); }

 private:
  std::string weight(const std::string& name, Shape shape) {
    const bool is_norm = shape.size() == 1 && name != "frequencies";
    const std::string normal = "normal:std=" + std::to_string(s_.deviation);
    g_.weights.push_back({name, std::move(shape), Spec::parse(is_norm ? "ones" : normal)});
    return name;
  }
  std::string add(const std::string& name, const char* op, std::vector<std::string> in,
                  Attributes a = {}) {
    g_.nodes.push_back({name, op, std::move(in), std::move(a)});
    return name;
  }
  std::string linear(const std::string& name, const std::string& x, Index from, Index to) {
    return add(name, "linear", {x, weight(name + ".weight", {to, from})});
  }
  std::string norm(const std::string& name, const std::string& x, Index n) {
    return add(name, "rms-norm", {x, weight(name + ".weight", {n})});
  }
  std::string rotary(const std::string& name, const std::string& x, Index heads) {
    return add(name, "rotary", {x, "position_ids", "frequencies"},
               Attributes().set("heads", heads));
  }
  std::string block(const std::string& at, const std::string& x) {
    const Index q = s_.heads * s_.width, kv = s_.kv_heads * s_.width;
    const std::string n = norm(at + "norm", x, s_.hidden);
    std::vector<std::string> in{
        rotary(at + "q.rotary", norm(at + "q.norm", linear(at + "q", n, s_.hidden, q), s_.width),
               s_.heads),
        rotary(at + "k.rotary", linear(at + "k", n, s_.hidden, kv), s_.kv_heads),
        linear(at + "v", n, s_.hidden, kv)};
    Attributes a = rules_;
    a.set("heads", s_.heads).set("kv_heads", s_.kv_heads).set("causal", 1);
    const std::string context = add(at + "attention", "attention", std::move(in), a);
    const std::string h = add(at + "sum", "add", {x, linear(at + "o", context, q, s_.hidden)});
    const std::string m = norm(at + "mlp.norm", h, s_.hidden);
    const std::string gate = add(at + "act", "silu", {linear(at + "gate", m, s_.hidden, s_.inner)});
    const std::string up = linear(at + "up", m, s_.hidden, s_.inner);
    const std::string product = add(at + "mul", "mul", {gate, up});
    return add(at + "out", "add", {h, linear(at + "down", product, s_.inner, s_.hidden)});
  }

  LlamaShape s_;
  Attributes rules_;
  GraphParts g_;
};

inline Graph llama_graph(const LlamaShape& shape, const Attributes& rules = {}) {
  return LlamaGraph(shape, rules).graph();
}

}  // namespace sten::testing
