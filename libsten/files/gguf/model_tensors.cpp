// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/model_tensors.h"

#include <array>
#include <map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

// The stacks of a layer: the names after "blk.#.".
constexpr std::array<std::string_view, 3> stack_names = {
    "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight"};

class ModelTensors {
 public:
  ModelTensors(const GgufFile& file, const std::string& name) : file_(file), name_(name) {}

  std::vector<GgufModelTensor> read() {
    for (const GgufTensor& t : file_.tensors) {
      if (is_configuration(t) && has_gguf_names(file_.architecture())) continue;
      const auto known = huggingface_name(file_.architecture(), t.name);
      if (known && known->is_stack)
        add_stack(t, *known);
      else
        add(t, known);
      has_experts_ |= known && known->name.find(".experts.") != std::string::npos;
    }
    for (const auto& [layer, stacks] : layers_) check_layer(layer, stacks);
    if (!has_experts_ && has_gguf_names(file_.architecture()) && experts().value_or(0) > 0)
      fail("{}: metadata {}: expected 0 without tensors of experts, got {}", name_,
           quote(count_key()), *experts());
    return std::move(all_);
  }

 private:
  using Stacks = std::array<const GgufTensor*, stack_names.size()>;

  std::string count_key() const { return fmt::format("{}.expert_count", file_.architecture()); }
  std::optional<std::int64_t> experts() const { return file_.integer(count_key()); }

  void add(const GgufTensor& t, const std::optional<GgufName>& known) {
    GgufStorage storage{t.type, known ? known->change : GgufChange::none, 1, t.name};
    storage.heads = heads_of(storage.change);
    try {
      check_gguf_change(storage, t.shape);
    } catch (const Error& e) {
      fail("{}: {}: {}", name_, quote(t.name), e.what());
    }
    all_.push_back({known ? known->name : t.name, known.has_value(),
                    huggingface_shape(storage.change, t.shape), t.begin, t.end,
                    std::move(storage)});
  }

  // Attention heads of the rows that a change moves.
  Index heads_of(GgufChange change) const {
    if (gguf_row_unit(change) == 1) return 1;
    const std::string key = fmt::format("{}.attention.head_count", file_.architecture());
    const auto keys = file_.integer(key + "_kv");
    const auto heads = change == GgufChange::rotary_key && keys ? keys : file_.integer(key);
    if (!heads) fail("{}: missing integer {} in the metadata", name_, quote(key));
    return *heads;
  }

  void add_stack(const GgufTensor& t, const GgufName& known) {
    const auto count = experts();
    if (!count) fail("{}: missing integer {} in the metadata", name_, quote(count_key()));
    if (t.shape.size() != 3 || t.shape[0] != *count || t.begin == t.end)
      fail("{}: {}: expected a stack [{}, rows, columns] as {} says, got {}", name_, quote(t.name),
           *count, quote(count_key()), to_string(t.shape));
    if (static_cast<std::uint64_t>(*count) > max_entries - std::min(max_entries, all_.size()))
      fail("{}: {}: expected at most {} tensors", name_, quote(t.name), max_entries);
    const Shape shape(t.shape.begin() + 1, t.shape.end());
    const std::uint64_t bytes = (t.end - t.begin) / static_cast<std::uint64_t>(*count);
    for (Index e = 0; e < *count; ++e) {
      const std::uint64_t begin = t.begin + static_cast<std::uint64_t>(e) * bytes;
      GgufStorage storage{t.type, known.change, 1, t.name};
      storage.expert = e;
      all_.push_back(
          {expert_name(known.name, e), true, shape, begin, begin + bytes, std::move(storage)});
    }
    for (std::size_t i = 0; i < stack_names.size(); ++i)
      if (t.name.ends_with(stack_names[i]))
        layers_[t.name.substr(0, t.name.size() - stack_names[i].size())][i] = &t;
  }

  void check_layer(const std::string& layer, const Stacks& stacks) const {
    for (std::size_t i = 0; i < stacks.size(); ++i)
      if (!stacks[i])
        fail("{}: missing {} beside the other stacks of experts", name_,
             quote(layer + std::string(stack_names[i])));
    const Shape& gate = stacks[0]->shape;
    const auto check = [&](const GgufTensor& t, const Shape& expected) {
      if (t.shape != expected)
        fail("{}: {}: expected the shape {} beside {} of {}, got {}", name_, quote(t.name),
             to_string(expected), quote(stacks[0]->name), to_string(gate), to_string(t.shape));
    };
    check(*stacks[1], gate);
    check(*stacks[2], {gate[0], gate[2], gate[1]});
  }

  const GgufFile& file_;
  const std::string& name_;
  std::vector<GgufModelTensor> all_;
  std::map<std::string, Stacks> layers_;  // by the start of the names
  bool has_experts_ = false;
};

}  // namespace

bool is_configuration(const GgufTensor& t) {
  return t.type->name == "F32" &&
         (t.name == "rope_freqs.weight" || t.name == "rope_factors_long.weight" ||
          t.name == "rope_factors_short.weight");
}

std::vector<GgufModelTensor> gguf_model_tensors(const GgufFile& file,
                                                const std::string& file_name) {
  const std::string name = printable(file_name);
  return ModelTensors(file, name).read();
}

}  // namespace sten
