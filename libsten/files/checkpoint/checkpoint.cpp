// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/pytorch/torch_file.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/system/spool.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/row_major.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Calls f(); adds the file and the tensor to its errors, as errors of the input.
template <class F>
auto blame(const std::string& file, const std::string& tensor, F&& f) {
  return or_lack_of_memory(file, tensor, [&] {
    try {
      return f();
    } catch (const Error& e) {
      fail("{}: {}: {}", file, quote(tensor), e.what());
    }
  });
}

std::uint64_t first_byte(const CheckpointTensor& t) {
  std::uint64_t first = t.entries.front().begin;
  for (const SafetensorsEntry& e : t.entries) first = std::min(first, e.begin);
  return first;
}

// Error for an unknown layout.
void check_known(const Spec& layout) {
  std::vector<std::string> known;
  for (const auto& l : registry().layouts()) known.push_back(l.name);
  if (std::ranges::find(known, layout.name()) != known.end()) return;
  const std::string name = quote(layout.name());
  fail(
      "unknown layout {}{} (a layout of an extension needs --load EXT.so or a program that "
      "registers {}: docs/extending.md)",
      name, suggestion(layout.name(), known), name);
}

}  // namespace

std::uint64_t CheckpointTensor::bytes() const {
  if (!strides.empty() || (gguf && !gguf->is_plain()))
    return byte_size(stored_dtype.value_or(dtype), shape);
  std::uint64_t n = 0;
  for (const SafetensorsEntry& e : entries) n += e.end - e.begin;
  return n;
}

std::uint64_t CheckpointTensor::loaded_bytes() const {
  if (!stored_dtype) return bytes();
  if (!is_sparse()) return byte_size(dtype, shape);
  std::uint64_t n = 0;
  for (const SafetensorsEntry& e : entries)
    n += byte_size(e.dtype == *stored_dtype ? dtype : e.dtype, e.shape);
  return n;
}

std::string layout_text(const TensorInfo& t) {
  nlohmann::ordered_json j;
  j["layout"] = t.layout.str();
  j["shape"] = t.shape;
  j["dtype"] = std::string(name_of(t.dtype));
  return dump_json(j);
}

TensorInfo parse_layout_text(const std::string& name, const std::string& text) {
  constexpr std::size_t longest = 4096;  // far above any layout, shape and dtype
  if (text.size() > longest)
    fail("layout description: expected at most 4096 bytes, got {}", text.size());
  const auto j = is_json(text) ? parse_json(text, "the layout") : nlohmann::ordered_json();
  if (!j.is_object()) fail("layout description: expected a JSON object");
  for (const char* key : {"layout", "shape", "dtype"})
    if (!j.contains(key)) fail("layout description: missing {}", quote(key));
  if (!j["layout"].is_string() || !j["dtype"].is_string() || !j["shape"].is_array())
    fail("layout description: a field has the wrong type");
  TensorInfo t;
  t.name = name;
  t.layout = Spec::parse(j["layout"].get<std::string>());
  for (const auto& extent : j["shape"]) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() >> 62)
      fail("layout description: expected extents from 0 to 2^62");
    t.shape.push_back(extent.get<Index>());
  }
  if (t.shape.size() > max_rank)
    fail("layout description: shape has {} dimensions", t.shape.size());
  const auto dtype = dtype_from(j["dtype"].get<std::string>());
  if (!dtype) fail("layout description: unknown dtype {}", quote(j["dtype"].get<std::string>()));
  t.dtype = *dtype;
  byte_size(t.dtype, t.shape);  // Error for an invalid size
  if (!t.is_sparse()) fail("layout description: dense, but stored as parts");
  check_known(t.layout);
  registry().check_layout(t.layout);
  return t;
}

Checkpoint Checkpoint::open(const std::string& path) {
  Checkpoint c;
  if (!is_sharded(path)) {
    const std::string directory = fs::path(path).parent_path();
    c.add_single(open_input(path), is_stream(path) ? "" : directory.empty() ? "." : directory);
    return c;
  }
  c.name_ = printable(path);
  c.index_ = find_shards(path);
  const std::string& directory = c.index_->directory;
  for (const std::string& name : std::vector(c.index_->files)) {
    MappedFile file = MappedFile::open(directory + "/" + name);
    if (!c.index_->index.empty() || !sten::is_onnx(file.bytes())) {
      c.add_file(std::move(file), name);
      continue;
    }
    c.add_onnx(std::move(file), name, directory);
    for (const Shard& data : std::span(c.shards_).subspan(1))
      if (!data.is_temporary)
        c.index_->files.push_back(fs::path(data.file_name).lexically_normal());
  }
  if (!c.index_->index.empty()) c.check_index();
  c.put_in_order();
  return c;
}

Checkpoint Checkpoint::of(MappedFile file) {
  Checkpoint c;
  c.add_single(std::move(file), "");
  return c;
}

void Checkpoint::add_single(MappedFile file, const std::string& directory) {
  name_ = file.name();
  if (is_npy(file.bytes()))
    add_array(std::move(file));
  else if (sten::is_onnx(file.bytes()))
    add_onnx(std::move(file), "", directory);
  else
    add_file(std::move(file), "");
  put_in_order();
}

void Checkpoint::add_array(MappedFile file) {
  const NpyHeader header = parse_npy(file.bytes(), file.name());
  const std::string stem = fs::path(file.name()).stem();
  CheckpointTensor t;
  t.name = why_no_name(stem).empty() ? stem : "array";
  t.dtype = header.dtype;
  t.shape = header.shape;
  if (header.fortran_order && header.shape.size() > 1) t.strides = column_major(header.shape);
  t.entries = {{t.name, t.dtype, t.shape, 0, byte_size(t.dtype, t.shape)}};
  tensors_.push_back(std::move(t));
  shards_.push_back({std::move(file), "", header.data_offset, {}});
  is_array_ = true;
}

void Checkpoint::add_file(MappedFile file, std::string file_name) {
  if (is_torch_file(file.bytes()))
    add_torch(std::move(file), std::move(file_name));
  else if (is_gguf(file.bytes()))
    add_gguf(std::move(file), std::move(file_name));
  else
    add_shard(std::move(file), std::move(file_name));
}

void Checkpoint::add_torch(MappedFile file, std::string file_name) {
  StateDict state = read_torch_file(file.bytes(), file.name());
  for (const std::string& note : state.notes) warn("{}: {}", file.name(), note);
  for (TorchTensor& from : state.tensors) {
    CheckpointTensor t{
        {from.name, from.dtype, from.shape, Spec("dense")}, shards_.size(), {}, "", {}};
    if (!is_row_major(from.shape, from.strides)) t.strides = std::move(from.strides);
    t.entries = {{from.name, from.dtype, std::move(from.shape), from.begin, from.end}};
    tensors_.push_back(std::move(t));
  }
  // transformers needs this metadata in the safetensors file of the output.
  shards_.push_back({std::move(file), std::move(file_name), 0, {{"format", "pt"}}});
}

void Checkpoint::add_shard(MappedFile file, std::string file_name) {
  SafetensorsHeader header = parse_safetensors(file.bytes(), file.name());
  const std::size_t number = shards_.size();
  Shard shard{std::move(file), std::move(file_name), header.data_offset, {}};
  const std::string& name = shard.file.name();

  // Sparse tensors first, to know their parts. A sparse tensor takes the position of its first
  // part.
  struct Sparse {
    TensorInfo info;
    std::string text;
    std::vector<std::optional<SafetensorsEntry>> parts;
    bool placed = false;
  };
  std::vector<Sparse> sparse;
  std::unordered_map<std::string, std::size_t> sparse_by_name;
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> part_of;  // sparse, part
  for (auto& [key, value] : header.metadata) {
    if (!key.starts_with(layout_key)) {
      shard.metadata.emplace_back(std::move(key), std::move(value));
      continue;
    }
    const std::string tensor = key.substr(layout_key.size()), &text = value;
    blame(name, tensor, [&] {
      if (const std::string why = why_no_name(tensor); !why.empty()) fail("{}", why);
      Sparse s{.info = parse_layout_text(tensor, text), .text = text, .parts = {}};
      const auto& part_names = registry().part_names(s.info.layout.name());
      s.parts.resize(part_names.size());
      for (std::size_t p = 0; p < part_names.size(); ++p)
        part_of[fmt::format("{}{}{}", tensor, part_separator, part_names[p])] = {sparse.size(), p};
      sparse_by_name[tensor] = sparse.size();
      sparse.push_back(std::move(s));
    });
  }
  for (const SafetensorsEntry& e : header.entries) {
    const auto at = part_of.find(e.name);
    if (at != part_of.end()) sparse[at->second.first].parts[at->second.second] = e;
  }
  for (SafetensorsEntry& e : header.entries) {
    const auto at = part_of.find(e.name);
    if (at == part_of.end()) {
      const std::size_t cut = e.name.rfind(part_separator);
      if (cut != std::string::npos && sparse_by_name.contains(e.name.substr(0, cut)))
        fail("{}: {}: unknown part of the layout {}", name, quote(e.name),
             sparse[sparse_by_name[e.name.substr(0, cut)]].info.layout.str());
      if (sparse_by_name.contains(e.name))
        fail("{}: {} is stored both dense and in parts", name, quote(e.name));
      CheckpointTensor t{{e.name, e.dtype, e.shape, Spec("dense")}, number, {}, "", {}};
      t.entries.push_back(std::move(e));
      tensors_.push_back(std::move(t));
      continue;
    }
    Sparse& s = sparse[at->second.first];
    if (s.placed) continue;
    s.placed = true;
    CheckpointTensor t{s.info, number, {}, s.text, {}};
    const auto& part_names = registry().part_names(s.info.layout.name());
    for (std::size_t p = 0; p < s.parts.size(); ++p) {
      if (s.parts[p])
        t.entries.push_back(*s.parts[p]);
      else if (!registry().is_optional_part(t.layout.name(), part_names[p]))
        fail("{}: {}: missing part {}", name, quote(t.name), quote(part_names[p]));
    }
    tensors_.push_back(std::move(t));
  }
  for (const Sparse& s : sparse)
    if (!s.placed) fail("{}: {}: missing parts", name, quote(s.info.name));
  shards_.push_back(std::move(shard));
}

// Checks that the entries of the files and of the index are the same.
void Checkpoint::check_index() const {
  const std::string index = printable(index_->directory + "/" + index_->index);
  std::unordered_map<std::string_view, const CheckpointTensor*> entries;
  std::uint64_t total = 0;
  for (const CheckpointTensor& t : tensors_)
    for (const SafetensorsEntry& e : t.entries) {
      total += e.end - e.begin;
      const auto [at, fresh] = entries.emplace(e.name, &t);
      if (!fresh)
        fail("{}: {} is in both {} and {}", index, quote(e.name),
             quote(shards_[at->second->shard].file_name), quote(shards_[t.shard].file_name));
    }
  for (const auto& [name, file] : index_->weight_map) {
    const auto at = entries.find(name);
    if (at == entries.end() || shards_[at->second->shard].file_name != file)
      fail("{}: {} is not in shard {}", index, quote(name), quote(file));
    entries.erase(at);
  }
  if (!entries.empty())
    fail("{}: {} of shard {} is not in the index", index, quote(entries.begin()->first),
         quote(shards_[entries.begin()->second->shard].file_name));
  if (index_->total_size && *index_->total_size != total)
    warn("{}: total_size is {}, but the tensors have {} bytes", index, *index_->total_size, total);
}

void Checkpoint::put_in_order() {
  data_order_.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) data_order_[i] = i;
  by_name_ = data_order_;
  std::stable_sort(data_order_.begin(), data_order_.end(), [&](std::size_t a, std::size_t b) {
    const CheckpointTensor &s = tensors_[a], &t = tensors_[b];
    return s.shard != t.shard ? s.shard < t.shard : first_byte(s) < first_byte(t);
  });
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
  for (std::size_t i = 1; i < by_name_.size(); ++i)
    if (tensors_[by_name_[i - 1]].name == tensors_[by_name_[i]].name)
      fail("{}: duplicate tensor name {}", name_, quote(tensors_[by_name_[i]].name));
}

void Checkpoint::rename(
    const std::function<std::optional<std::string>(const std::string& name)>& name_of) {
  std::vector<CheckpointTensor> all;
  for (CheckpointTensor& t : tensors_) {
    const std::optional<std::string> name = name_of(t.name);
    if (!name) continue;
    for (SafetensorsEntry& e : t.entries) e.name = *name + e.name.substr(t.name.size());
    t.name = *name;
    all.push_back(std::move(t));
  }
  tensors_ = std::move(all);
  put_in_order();
}

std::uint64_t Checkpoint::file_bytes() const {
  std::uint64_t n = 0;
  for (const Shard& s : shards_)
    if (!s.is_temporary) n += s.file.bytes().size();
  return n;
}

void Checkpoint::check_unchanged() const {
  for (const Shard& s : shards_) s.file.check_unchanged();
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::size_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

std::span<const std::byte> Checkpoint::bytes(const CheckpointTensor& t,
                                             const SafetensorsEntry& e) const {
  const Shard& s = shards_[t.shard];
  return s.file.bytes().subspan(s.data_offset + e.begin, e.end - e.begin);
}

Tensor Checkpoint::load(const CheckpointTensor& t) const {
  const MappedFile& file = shards_[t.shard].file;
  const auto borrowed = [&](const SafetensorsEntry& e) {
    const auto data = bytes(t, e);
    const int width = std::max(1, width_of(e.dtype));
    // Tensor data need not be aligned in the file.
    if (reinterpret_cast<std::uintptr_t>(data.data()) % width) {
      auto copy = Array<std::byte>::uninitialized(data.size());
      std::copy(data.begin(), data.end(), copy.mutate());
      return copy;
    }
    return Array<std::byte>::borrow(file.owner(), data.data(), data.size());
  };
  const DType dtype = t.stored_dtype.value_or(t.dtype);
  return blame(file.name(), t.name, [&]() -> Tensor {
    if (!t.is_sparse()) {
      if (width_of(t.dtype) == 0) fail("{} elements are smaller than one byte", name_of(t.dtype));
      if (!t.is_plain() && t.gguf)
        return Dense{t.shape, decode_gguf(bytes(t, t.entries.front()), t.shape, *t.gguf)};
      const Values values(dtype, borrowed(t.entries.front()));
      const Dense x{t.shape, t.strides.empty() ? values : row_major(values, t.shape, t.strides)};
      return converted_to(t.dtype, x);
    }
    Stored stored{.layout = t.layout, .shape = t.shape, .dtype = dtype, .parts = {}};
    for (const SafetensorsEntry& e : t.entries)
      stored.parts.push_back(
          {e.name.substr(t.name.size() + part_separator.size()), e.dtype, e.shape, borrowed(e)});
    return converted_to(t.dtype, registry().load(stored));
  });
}

void Checkpoint::drop(const CheckpointTensor& t) const {
  const Shard& s = shards_[t.shard];
  for (const SafetensorsEntry& e : t.entries)
    s.file.drop(s.data_offset + e.begin, s.data_offset + e.end);
}

}  // namespace sten
