// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/head_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr std::string_view head_end = "_head", predictor_end = "_predictor";

bool is_head_word(std::string_view part) {
  return is_one_of(part, {"classifier", "score", "qa_outputs", "seq_relationship"}) ||
         part.ends_with(head_end) || part.ends_with(predictor_end) ||
         (part.ends_with("_classifier") && part != "pre_classifier");
}

// Layers that only a whole model has as direct children.
bool is_last_layer(const ModuleName& name) {
  const bool direct = name.path.size() == 1 ||
                      (name.path.size() == 2 && is_one_of(name.path[0], {"model", "module"}));
  return direct && is_one_of(name.path.back(), {"output", "fc", "proj_out", "embed_out"});
}

// Whether the layer makes the output of its head module.
bool makes_output(const ModuleName& name) {
  return name.has_word({"logits", "score", "cls", "bbox", "reg", "pred", "preds", "predictor",
                        "deltas", "decoder", "out"});
}

// Whether a module lies directly in the module of its first parts, apart from numbers.
bool is_direct(const ModuleName& name, std::size_t parts) {
  return std::count_if(name.path.begin() + static_cast<std::ptrdiff_t>(parts), name.path.end(),
                       [](std::string_view part) { return !is_number(part); }) == 1;
}

// Number of parts up to the innermost head module; 0 if there is none.
std::size_t head_parts(const ModuleName& name) {
  std::size_t more = 0;  // later parts that are not numbers
  for (std::size_t i = name.path.size(); i-- > 0;) {
    const std::string_view part = name.path[i];
    if (is_head_word(part) ||
        (part == "head" && (i == 0 || more == 0 || (more == 1 && makes_output(name)))))
      return i + 1;
    more += !is_number(part);
  }
  return 0;
}

// The first parts of a name.
std::string_view module_of(const ModuleName& name, std::size_t parts) {
  const std::string_view last = name.path[parts - 1];
  return std::string_view(name.text).substr(
      0, static_cast<std::size_t>(last.data() - name.text.data()) + last.size());
}

// "conv" and 2 of "conv2".
std::pair<std::string_view, Index> stem_and_number(std::string_view part) {
  const std::size_t end = part.find_last_not_of("0123456789") + 1;
  Index n = 0;
  for (const char c : part.substr(end).substr(0, 9)) n = 10 * n + (c - '0');
  return {part.substr(0, end), n};
}

// The layers of one module, by the rest of their names.
class HeadModule {
 public:
  HeadModule(const std::vector<const TensorInfo*>& model,
             const std::vector<std::unique_ptr<ModuleName>>& names, std::vector<bool>& heads)
      : model_(model), names_(names), heads_(heads) {}

  void settle(const std::vector<std::size_t>& layers, std::size_t at) {
    const auto mark = [&](const auto& is_head) {
      bool any = false;
      for (const std::size_t i : layers)
        if (is_head(*names_[i])) any = heads_[i] = true;
      return any;
    };
    if (mark([&](const ModuleName& n) { return n.path.size() == at; })) return;
    if (mark([&](const ModuleName& n) { return is_direct(n, at) && makes_output(n); })) return;
    std::map<std::string_view, std::vector<std::size_t>> children;
    for (const std::size_t i : layers) children[names_[i]->path[at]].push_back(i);
    if (std::ranges::all_of(children, [](const auto& c) { return is_number(c.first); }))
      settle_numbered(std::move(children), at);
    else
      settle_named(children, at);
  }

 private:
  // Numbered layers are in sequence (the last one makes the output) or parallel.
  void settle_numbered(std::map<std::string_view, std::vector<std::size_t>> children,
                       std::size_t at) {
    std::map<Index, std::vector<std::size_t>> in_order;
    for (auto& [part, layers] : children) {
      std::ranges::sort(layers, [&](std::size_t a, std::size_t b) {
        return natural_less(model_[a]->name, model_[b]->name);
      });
      in_order[stem_and_number(part).second] = std::move(layers);
    }
    bool is_sequence = true;
    for (auto next = in_order.begin(), last = next++; next != in_order.end(); last = next++)
      is_sequence = is_sequence && fits(last->second.back(), next->second.front());
    if (is_sequence) return settle(in_order.rbegin()->second, at + 1);
    for (const auto& [number, layers] : in_order) settle(layers, at + 1);
  }

  // Whether the result of one layer fits the input of the other, perhaps flattened.
  bool fits(std::size_t one, std::size_t other) const {
    const Shape &from = model_[one]->shape, &to = model_[other]->shape;
    const Index taken = to[1] == 1 ? to[0] : to[1];  // 1: a depthwise convolution
    return from[0] > 0 && taken % from[0] == 0;
  }

  // BERT's transform, or the last of "fc1", "fc2"; otherwise the nested modules.
  void settle_named(const std::map<std::string_view, std::vector<std::size_t>>& children,
                    std::size_t at) {
    std::map<std::string_view, std::pair<Index, std::size_t>> last;
    bool any_direct = false;
    for (const auto& [part, layers] : children)
      for (const std::size_t i : layers) {
        if (names_[i]->path.size() != at + 1) continue;
        any_direct = true;
        const auto [stem, number] = stem_and_number(part);
        if (part == "dense") continue;
        const auto found = last.try_emplace(stem, number, i).first;
        found->second = std::max(found->second, {number, i});
      }
    for (const auto& [stem, layer] : last) heads_[layer.second] = true;
    if (any_direct) return;
    for (const auto& [part, layers] : children) settle(layers, at + 1);
  }

  const std::vector<const TensorInfo*>& model_;
  const std::vector<std::unique_ptr<ModuleName>>& names_;
  std::vector<bool>& heads_;
};

}  // namespace

bool has_head_name(const ModuleName& name) { return head_parts(name) > 0 || is_last_layer(name); }

std::vector<bool> last_of_heads(const std::vector<const TensorInfo*>& model,
                                const std::vector<std::unique_ptr<ModuleName>>& names,
                                const std::vector<std::size_t>& layers) {
  std::vector<bool> heads(model.size());
  struct Module {
    std::size_t parts = 0;
    std::vector<std::size_t> layers;
  };
  std::map<std::string_view, Module> modules;
  std::set<std::string_view> with_heads_inside;
  for (const std::size_t i : layers) {
    const std::size_t parts = head_parts(*names[i]);
    if (parts == 0) {
      heads[i] = true;
      continue;
    }
    Module& m = modules[module_of(*names[i], parts)];
    m.parts = parts;
    m.layers.push_back(i);
    // Modules around a known module are known.
    for (std::size_t outer = parts - 1; outer > 0; --outer)
      if (!with_heads_inside.insert(module_of(*names[i], outer)).second) break;
  }
  for (const auto& [module, m] : modules) {
    // "box_head" feeds "box_predictor".
    const bool is_before =
        module.ends_with(head_end) &&
        modules.contains(std::string(module.substr(0, module.size() - head_end.size())) +
                         std::string(predictor_end));
    if (!is_before && !with_heads_inside.contains(module))
      HeadModule(model, names, heads).settle(m.layers, m.parts);
  }
  return heads;
}

}  // namespace sten
