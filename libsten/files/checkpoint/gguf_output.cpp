// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/gguf_output.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/gguf_directory.h"
#include "libsten/files/gguf/blocks.h"
#include "libsten/files/gguf/model_tensors.h"
#include "libsten/files/gguf/tensor_names.h"

namespace sten {
namespace {

const GgufType& type_called(std::string_view name) { return *gguf_type(name); }

// llama.cpp's llama_ftype of a file whose weights are of the type.
std::uint32_t file_type(const GgufType& type) {
  constexpr std::pair<std::string_view, std::uint32_t> types[] = {
      {"F32", 0}, {"F16", 1}, {"Q4_0", 2}, {"Q8_0", 7}, {"BF16", 32}};
  for (const auto& [name, number] : types)
    if (name == type.name) return number;
  return 1024;  // guessed from the tensors
}

// Whether convert_hf_to_gguf stores the tensor as F32 always.
bool is_small(const GgufTensor& t) {
  return t.shape.size() < 2 || t.name.ends_with("_norm.weight") ||
         t.name.ends_with(".ffn_gate_inp.weight");
}

}  // namespace

GgufOutput::GgufOutput(const Checkpoint& in, const std::string& directory, const GgufType* type,
                       const std::vector<bool>& changed)
    : in_(in) {
  Index experts = 0;
  bool copies = false;
  std::vector<float> rotary_factors;
  if (in.gguf()) {
    take_tensors();
    take_metadata(type);
    experts =
        in.gguf()->integer(fmt::format("{}.expert_count", in.gguf()->architecture())).value_or(0);
  } else {
    const GgufModel model = make_metadata(directory, type, rotary_factors);
    experts = model.experts;
    if (model.head == GgufHead::never) leave_out_head(changed);
    copies = model.head == GgufHead::needed && model.ties_embeddings;
  }
  add_tensors(experts);
  choose_types(type, changed);
  if (copies) copy_embedding();
  if (in.gguf()) {
    for (const GgufTensor& t : in.gguf()->tensors)
      if (is_configuration(t) && has_gguf_names(in.gguf()->architecture()))
        add_configuration(t.name, in.gguf()->bytes.subspan(t.begin, t.end - t.begin));
  } else if (!rotary_factors.empty()) {
    add_configuration("rope_freqs.weight", std::as_bytes(std::span(rotary_factors)));
  }
}

void GgufOutput::add_configuration(const std::string& name, std::span<const std::byte> floats) {
  const Index count = std::ssize(floats) / Index{sizeof(float)};
  tensors_.push_back({name, &type_called("F32"), {count}, 0, 0});
  configuration_.emplace_back(floats.begin(), floats.end());
}

// Experts that the first files of Mixtral have apart become parts of stacks.
void GgufOutput::take_tensors() {
  for (const CheckpointTensor& t : in_.tensors()) {
    storage_.push_back(*t.gguf);
    const auto known = gguf_name(in_.gguf()->architecture(), t.name);
    if (!known || !known->is_stack) continue;
    storage_.back().name = known->name;
    storage_.back().expert = known->expert;
  }
}

// A tensor of the file per tensor of the input that is no expert, and per stack of experts.
void GgufOutput::add_tensors(Index experts) {
  struct Stack {
    std::size_t tensor, first;  // of the file; the first expert, of the input
    Index count = 0;
  };
  std::map<std::string_view, Stack> stacks;
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    const GgufStorage& s = storage_[i];
    const CheckpointTensor& t = in_.tensors()[i];
    if (!s.type) {
      target_.push_back(0);
      continue;
    }
    if (!s.expert) {
      target_.push_back(tensors_.size());
      tensors_.push_back({s.name, s.type, gguf_shape(s.change, t.shape), 0, 0});
      continue;
    }
    if (*s.expert >= experts)
      fail("{}: {}: expected one of {} experts", in_.name(), quote(t.name), experts);
    const auto [at, is_first] = stacks.try_emplace(s.name, Stack{tensors_.size(), i});
    if (is_first) {
      Shape shape = t.shape;
      shape.insert(shape.begin(), experts);
      tensors_.push_back({s.name, s.type, shape, 0, 0});
    }
    const Shape& other = in_.tensors()[at->second.first].shape;
    if (t.shape != other || t.shape.size() != 2)
      fail("{}: {}: expected a matrix of the shape of the other experts, {}, got {}", in_.name(),
           quote(t.name), to_string(other), to_string(t.shape));
    target_.push_back(at->second.tensor);
    GgufTensor& stack = tensors_[at->second.tensor];
    if (stack.type != s.type) stack.type = &type_called("F32");
    ++at->second.count;
  }
  for (const auto& [name, stack] : stacks)
    if (stack.count != experts)
      fail("{}: {} and the others of its layer: expected {} experts, got {}", in_.name(),
           quote(in_.tensors()[stack.first].name), experts, stack.count);
}

// Those of the input, with the type of the weights.
void GgufOutput::take_metadata(const GgufType* type) {
  for (const auto& [key, value] : in_.gguf()->metadata) {
    if (key == "general.alignment") continue;  // that of the output is the default
    if (key == "general.file_type" && type)
      metadata_.add(key, file_type(*type));
    else
      metadata_.add(key, value);
  }
}

GgufModel GgufOutput::make_metadata(const std::string& directory, const GgufType* type,
                                    std::vector<float>& rotary_factors) {
  const GgufDirectory from = add_directory_model(directory, metadata_);
  rotary_factors = from.rotary_factors;
  name_tensors(from.model);
  const GgufType* most = type;
  for (std::size_t i = 0; !most && i < storage_.size(); ++i)
    if (in_.tensors()[i].shape.size() > 1) most = storage_[i].type;
  metadata_.add("general.file_type", file_type(most ? *most : type_called("F32")));
  metadata_.add("general.quantization_version", 2u);
  const auto table = find("token_embd.weight");
  if (!table) fail("{}: missing the tensor of token embeddings", in_.name());
  const auto& embeddings = in_.tensors()[*table];
  if (embeddings.shape.size() != 2)
    fail("{}: {}: expected a matrix, got the shape {}", in_.name(), quote(embeddings.name),
         to_string(embeddings.shape));
  add_directory_tokenizer(directory, from.config,
                          static_cast<std::size_t>(embeddings.shape.front()), metadata_);
  return from.model;
}

std::optional<std::size_t> GgufOutput::find(std::string_view name) const {
  const auto at = std::ranges::find(storage_, name, &GgufStorage::name);
  if (at == storage_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - storage_.begin());
}

void GgufOutput::name_tensors(const GgufModel& model) {
  for (const CheckpointTensor& t : in_.tensors()) {
    if (is_former_buffer(t.name)) {
      storage_.emplace_back();
      continue;
    }
    const auto known = gguf_name(model.architecture, t.name);
    if (!known)
      fail("{}: {}: no name in GGUF for a tensor of {}", in_.name(), quote(t.name),
           model.architecture);
    const GgufType* type = gguf_type_of(t.dtype);
    if (!type || !is_prunable(t.dtype))
      fail("{}: {}: {} has no type in GGUF", in_.name(), quote(t.name), name_of(t.dtype));
    storage_.push_back({type, known->change, model.heads_of(known->change), known->name});
    if (known->is_stack) storage_.back().expert = known->expert;
  }
}

// llama.cpp has the embedding as the head.
void GgufOutput::leave_out_head(const std::vector<bool>& changed) {
  const auto head = find("output.weight"), table = find("token_embd.weight");
  if (!head) return;
  const CheckpointTensor &h = in_.tensors()[*head], &t = in_.tensors()[*table];
  const bool is_changed = !changed.empty() && (changed[*head] || changed[*table]);
  const auto is_equal = [&] {
    const Dense x = in_.load(h).to_dense(), y = in_.load(t).to_dense();
    return std::ranges::equal(x.values.bytes(), y.values.bytes());
  };
  if (is_changed || h.shape != t.shape || h.dtype != t.dtype || !is_equal())
    fail("{}: {}: expected the elements of {}, which llama.cpp uses as the output head", in_.name(),
         quote(h.name), quote(t.name));
  storage_[*head] = {};
}

// llama.cpp needs a head.
void GgufOutput::copy_embedding() {
  const std::size_t table = *find("token_embd.weight");
  if (find("output.weight")) return;
  GgufTensor head = tensors_[target_[table]];
  head.name = "output.weight";
  embedding_copy_ = {table, tensors_.size()};
  tensors_.push_back(std::move(head));
}

void GgufOutput::choose_types(const GgufType* type, const std::vector<bool>& changed) {
  std::vector<bool> changes(tensors_.size());
  for (std::size_t i = 0; i < changed.size(); ++i)
    if (changed[i] && storage_[i].type) changes[target_[i]] = true;
  std::size_t requantized = 0, odd_rows = 0;
  std::string first, odd;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    GgufTensor& t = tensors_[k];
    if (is_small(t) && (type || !in_.gguf() || t.type->is_quantized()))
      t.type = &type_called("F32");
    if (!is_small(t) && type) t.type = type;
    if (changes[k] && !can_quantize(*t.type)) {
      if (requantized++ == 0) first = fmt::format("{} of {}", quote(t.name), t.type->name);
      t.type = &type_called("Q8_0");
    }
    if (!t.shape.empty() && t.shape.back() % t.type->elements != 0) {
      if (odd_rows++ == 0) odd = fmt::format("{} of {}", quote(t.name), to_string(t.shape));
      t.type = &type_called("F16");
    }
  }
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    if (!storage_[i].type) continue;
    storage_[i].type = tensors_[target_[i]].type;
    try {
      check_gguf_change(storage_[i], in_.tensors()[i].shape);
    } catch (const Error& e) {
      fail("{}: {}: {}", in_.name(), quote(in_.tensors()[i].name), e.what());
    }
  }
  if (odd_rows > 0)
    warn("{}: {} tensors, such as {}, become F16: their rows are not whole blocks of {}",
         in_.name(), odd_rows, odd, type ? type->name : "Q8_0");
  if (requantized > 0)
    warn("{}: {} changed tensors, such as {}, become Q8_0: their type is only read", in_.name(),
         requantized, first);
}

void GgufOutput::begin(OutputFile& out) {
  out_ = &out;
  const std::string header = gguf_header(metadata_, tensors_);
  out.write_at(0, std::as_bytes(std::span(header)));
  for (std::size_t i = 0; i < configuration_.size(); ++i)
    out.write_at(tensors_[tensors_.size() - configuration_.size() + i].begin, configuration_[i]);
  // The file ends with the padded last tensor.
  if (!tensors_.empty()) {
    const std::uint64_t end = std::ranges::max_element(tensors_, {}, &GgufTensor::end)->end;
    const std::uint64_t padding =
        (gguf_default_alignment - end % gguf_default_alignment) % gguf_default_alignment;
    const std::vector<std::byte> zeros(padding);
    if (padding > 0) out.write_at(end, zeros);
  }
}

std::vector<std::uint64_t> GgufOutput::positions(std::size_t i) const {
  const GgufStorage& s = storage_[i];
  if (!s.type) return {};
  const GgufTensor& t = tensors_[target_[i]];
  const std::uint64_t stack = s.expert ? static_cast<std::uint64_t>(t.shape.front()) : 1;
  const auto index = static_cast<std::uint64_t>(s.expert.value_or(0));
  std::vector<std::uint64_t> all{t.begin + index * ((t.end - t.begin) / stack)};
  if (embedding_copy_ && embedding_copy_->first == i)
    all.push_back(tensors_[embedding_copy_->second].begin);
  return all;
}

void GgufOutput::add(std::size_t i, const Tensor& t) {
  const std::vector<std::uint64_t> to = positions(i);
  if (to.empty()) return;
  const auto encoded = [&] {
    const Dense dense = t.to_dense();
    try {
      return encode_gguf(dense.values, dense.extents, storage_[i]);
    } catch (const Error& e) {
      fail("{}: {}: {}", in_.name(), quote(in_.tensors()[i].name), e.what());
    }
  };
  const Array<std::byte> bytes = encoded();
  for (const std::uint64_t at : to) out_->write_at(at, bytes);
}

void GgufOutput::copy(std::size_t i) {
  const std::vector<std::uint64_t> to = positions(i);
  const CheckpointTensor& t = in_.tensors()[i];
  if (t.gguf && t.gguf->type == storage_[i].type) {
    const SafetensorsEntry& e = t.entries.front();
    const Shard& shard = in_.shards()[t.shard];
    for (const std::uint64_t at : to)
      out_->copy_at(at, shard.file, shard.data_offset + e.begin, e.end - e.begin);
  } else if (!to.empty()) {
    add(i, in_.load(t));
  }
  in_.drop(t);
}

std::uint64_t GgufOutput::data_bytes() const {
  std::uint64_t n = 0;
  for (const GgufTensor& t : tensors_) n += t.end - t.begin;
  return n;
}

}  // namespace sten
