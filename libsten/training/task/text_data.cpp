// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/masked_text.h"
#include "libsten/model/nn/bert.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/window_data.h"

namespace sten {
namespace {

// Seed of masked positions in evaluation, the same for every recipe.
constexpr std::uint64_t measured_seed = 1;

BatchPart part_of(const MaskedBatch& b) {
  NamedValues<Tensor> in = bert_inputs(b.ids);
  in.emplace("selected", b.masked_positions);
  in.emplace("labels", b.wanted);
  return {std::move(in), b.wanted.size()};
}

// An input of an ONNX model.
struct TextInput {
  enum Kind : std::uint8_t { ids, ones, zeros, positions };
  std::string name;
  Kind kind = ids;
  DType dtype = DType::I64;
  bool has_batch = true;  // [B, T]; false: [1, T]
  bool has_rows = true;   // false: [T]

  template <class T>
  Dense value_as(const Dense& given) const {
    Shape shape = given.extents;
    if (!has_batch) shape[0] = 1;
    const Index n = size_of(shape), length = shape[1];
    if (!has_rows) shape.erase(shape.begin());
    Dense x{std::move(shape), Values::uninitialized(dtype, n)};
    const auto from = given.values.as<std::int64_t>();
    const auto to = x.values.mutate<T>();
    for (Index i = 0; i < n; ++i)
      to[i] = static_cast<T>(kind == ids         ? from[i]
                             : kind == positions ? i % length
                                                 : Index{kind == ones});
    return x;
  }
  Dense value(const Dense& given) const {
    switch (dtype) {
      case DType::F32:
        return value_as<float>(given);
      case DType::I32:
        return value_as<std::int32_t>(given);
      case DType::BOOL:
        return value_as<std::uint8_t>(given);
      default:
        return value_as<std::int64_t>(given);
    }
  }
};

TextInput text_input(const GraphPort& p, Index window, const std::string& file) {
  static const std::map<std::string_view, TextInput::Kind> kinds = {
      {"input_ids", TextInput::ids},
      {"attention_mask", TextInput::ones},
      {"token_type_ids", TextInput::zeros},
      {"position_ids", TextInput::positions}};
  const auto known = kinds.find(p.name);
  if (known == kinds.end())
    fail_usage(
        "{}: unsupported input {} for masked-text (expected input_ids, attention_mask, "
        "token_type_ids and position_ids)",
        file, quote(p.name));
  TextInput in{p.name, known->second, p.dtype.value_or(DType::I64)};
  const bool is_integer = in.dtype == DType::I64 || in.dtype == DType::I32;
  const bool is_mask = in.kind == TextInput::ones;
  if (!is_integer && !(is_mask && (in.dtype == DType::F32 || in.dtype == DType::BOOL)))
    fail("{}: input {} has the unsupported dtype {}", file, quote(p.name), name_of(in.dtype));
  if (!p.shape) return in;
  const auto& shape = *p.shape;
  in.has_rows = shape.size() == 2;
  // Positions, and types that are all 0, can be one row for all windows.
  const bool may_be_one = in.kind == TextInput::positions || in.kind == TextInput::zeros;
  if (!in.has_rows && !(shape.size() == 1 && in.kind == TextInput::positions))
    fail("{}: input {} has {} axes, expected [sequences, tokens]", file, quote(p.name),
         shape.size());
  in.has_batch = in.has_rows && !(may_be_one && shape[0].size == 1);
  if (in.has_batch) check_open_batch(p, file);
  if (shape.back().size && *shape.back().size != window)
    fail("{}: input {} has the fixed length {} (see data.window)", file, quote(p.name),
         *shape.back().size);
  return in;
}

// The number of the model's ids, if its graph or file tells.
std::optional<Index> vocabulary_of(const ImportedModel& m) {
  for (const Node& n : m.graph.nodes()) {
    const bool looks_up = n.op.text() == "embedding" ||
                          (n.op.text() == "gather" && n.attributes.integer("axis", 0) == 0);
    if (looks_up && n.inputs[1] == "input_ids")
      if (const Weight* table = m.graph.find_weight(n.inputs[0])) return table->shape[0];
  }
  return m.classes();
}

std::shared_ptr<TaskData> text_data(const Recipe& r, const Tokenizer& tokenizer,
                                    WindowData<MaskedText>::Make make) {
  const Array<TokenId> text = read_text(r.data.text.front(), tokenizer);
  const DataRecipe& d = r.data;
  const MaskedTextOptions training{
      d.window, r.batch / r.accumulate, r.seed, true, d.predicted, d.masked, d.random};
  const auto open = [&](Index begin, Index end, const MaskedTextOptions& o) {
    return MaskedText(text, begin, end, tokenizer, o);
  };
  return std::make_shared<WindowData<MaskedText>>(r, TextSplits(d, text),
                                                  d.window - tokenizer.around(), training,
                                                  measured_seed, open, std::move(make));
}

}  // namespace

std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions) {
  const auto ids = recipe_tokenizer(r, vocabulary, "the model's vocab_size is");
  if (r.data.window > positions)
    fail_usage("data.window {} is above max_position_embeddings {} of the model", r.data.window,
               positions);
  return text_data(r, *ids, part_of);
}

std::shared_ptr<TaskData> read_text_data(const Recipe& r, const ImportedModel& m) {
  std::vector<TextInput> inputs;
  for (const GraphPort& p : m.inputs) inputs.push_back(text_input(p, r.data.window, m.name));
  if (std::ranges::find(inputs, TextInput::ids, &TextInput::kind) == inputs.end())
    fail_usage("{}: missing input \"input_ids\" for text data", m.name);
  const auto ids =
      recipe_tokenizer(r, vocabulary_of(m).value_or(max_token_id + 1), m.name + " has");
  return text_data(r, *ids, [inputs, labels = m.graph.inputs().back()](const MaskedBatch& b) {
    BatchPart part{{}, b.wanted.size()};
    for (const TextInput& i : inputs) part.inputs.emplace(i.name, i.value(b.ids));
    part.inputs.emplace(labels, Dense{b.ids.extents, b.targets.values});
    return part;
  });
}

}  // namespace sten
