#include "libsten/io/checkpoint.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "libsten/dispatch/registry.h"
#include "libsten/io/spool.h"

namespace sten {
namespace {

// Whatever goes wrong inside is the file's fault, said with file and tensor in front.
template <class F>
auto blame(const std::string& file, const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    fail("{}: {}: {}", file, quote(tensor), e.what());
  }
}

std::uint64_t first_byte(const CheckpointTensor& t) {
  std::uint64_t first = t.entries.front().begin;
  for (const SafetensorsEntry& e : t.entries) first = std::min(first, e.begin);
  return first;
}

}  // namespace

std::uint64_t CheckpointTensor::bytes() const {
  std::uint64_t n = 0;
  for (const SafetensorsEntry& e : entries) n += e.end - e.begin;
  return n;
}

std::string layout_text(const TensorInfo& t) {
  nlohmann::ordered_json j;
  j["layout"] = t.layout.str();
  j["shape"] = t.shape;
  j["dtype"] = std::string(name_of(t.dtype));
  return j.dump();
}

TensorInfo parse_layout_text(const std::string& name, const std::string& text) {
  constexpr std::size_t longest = 4096;  // a layout, a shape and a dtype are far shorter
  if (text.size() > longest) fail("the layout is described in {} bytes", text.size());
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object()) fail("the layout is not described by a JSON object");
  for (const char* key : {"layout", "shape", "dtype"})
    if (!j.contains(key)) fail("the layout's description has no {}", quote(key));
  if (!j["layout"].is_string() || !j["dtype"].is_string() || !j["shape"].is_array())
    fail("the layout's description has a field of the wrong kind");
  TensorInfo t;
  t.name = name;
  t.layout = Spec::parse(j["layout"].get<std::string>());
  for (const auto& extent : j["shape"]) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() >> 62)
      fail("the layout's shape has an extent that is none");
    t.shape.push_back(extent.get<Index>());
  }
  if (t.shape.size() > max_rank) fail("the layout's shape has {} dimensions", t.shape.size());
  const auto dtype = dtype_from(j["dtype"].get<std::string>());
  if (!dtype) fail("the layout's dtype {} is unknown", quote(j["dtype"].get<std::string>()));
  t.dtype = *dtype;
  byte_size(t.dtype, t.shape);  // Error where there is none
  if (!t.is_sparse()) fail("the layout is described as dense, but stored as parts");
  registry().check_layout(t.layout);
  return t;
}

Checkpoint Checkpoint::open(const std::string& path) { return of(open_input(path)); }

Checkpoint Checkpoint::of(MappedFile file) {
  Checkpoint c(std::move(file));
  SafetensorsHeader header = parse_safetensors(c.file_.bytes(), c.name());
  c.data_offset_ = header.data_offset;

  // Sparse tensors first, so that their parts are known; each takes the place of its first part.
  struct Sparse {
    TensorInfo info;
    std::vector<std::optional<SafetensorsEntry>> parts;
    bool placed = false;
  };
  std::vector<Sparse> sparse;
  std::unordered_map<std::string, std::size_t> sparse_by_name;
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> part_of;  // sparse, part
  for (auto& [key, value] : header.metadata) {
    if (!key.starts_with(layout_key)) {
      c.metadata_.emplace_back(std::move(key), std::move(value));
      continue;
    }
    const std::string name = key.substr(layout_key.size());
    blame(c.name(), name, [&] {
      Sparse s{.info = parse_layout_text(name, value), .parts = {}};
      const auto& part_names = registry().part_names(s.info.layout.name());
      s.parts.resize(part_names.size());
      for (std::size_t p = 0; p < part_names.size(); ++p)
        part_of[fmt::format("{}{}{}", name, part_separator, part_names[p])] = {sparse.size(), p};
      sparse_by_name[name] = sparse.size();
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
        fail("{}: {}: the layout {} has no such part", c.name(), quote(e.name),
             sparse[sparse_by_name[e.name.substr(0, cut)]].info.layout.str());
      if (sparse_by_name.contains(e.name))
        fail("{}: {} is there both dense and in parts", c.name(), quote(e.name));
      CheckpointTensor t{{e.name, e.dtype, e.shape, Spec("dense")}, {}};
      t.entries.push_back(std::move(e));
      c.tensors_.push_back(std::move(t));
      continue;
    }
    Sparse& s = sparse[at->second.first];
    if (s.placed) continue;
    s.placed = true;
    CheckpointTensor t{s.info, {}};
    const auto& part_names = registry().part_names(s.info.layout.name());
    for (std::size_t p = 0; p < s.parts.size(); ++p) {
      if (!s.parts[p])
        fail("{}: {}: part {} is missing", c.name(), quote(t.name), quote(part_names[p]));
      t.entries.push_back(*s.parts[p]);
    }
    c.tensors_.push_back(std::move(t));
  }
  for (const Sparse& s : sparse)
    if (!s.placed) fail("{}: {}: its parts are missing", c.name(), quote(s.info.name));

  c.data_order_.resize(c.tensors_.size());
  for (std::size_t i = 0; i < c.tensors_.size(); ++i) c.data_order_[i] = i;
  c.by_name_ = c.data_order_;
  std::stable_sort(c.data_order_.begin(), c.data_order_.end(), [&](std::size_t a, std::size_t b) {
    return first_byte(c.tensors_[a]) < first_byte(c.tensors_[b]);
  });
  std::sort(c.by_name_.begin(), c.by_name_.end(),
            [&](std::size_t a, std::size_t b) { return c.tensors_[a].name < c.tensors_[b].name; });
  return c;
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::size_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

std::span<const std::byte> Checkpoint::bytes(const SafetensorsEntry& e) const {
  return file_.bytes().subspan(data_offset_ + e.begin, e.end - e.begin);
}

Tensor Checkpoint::load(const CheckpointTensor& t) const {
  const auto borrowed = [&](const SafetensorsEntry& e) {
    const auto data = bytes(e);
    const int width = std::max(1, width_of(e.dtype));
    // Tensor data need not be aligned in the file.
    if (reinterpret_cast<std::uintptr_t>(data.data()) % width) {
      auto copy = Array<std::byte>::uninitialized(data.size());
      std::copy(data.begin(), data.end(), copy.mutate());
      return copy;
    }
    return Array<std::byte>::borrow(file_.owner(), data.data(), data.size());
  };
  return blame(name(), t.name, [&]() -> Tensor {
    if (!t.is_sparse()) {
      if (width_of(t.dtype) == 0)
        fail("{} elements have no address of their own", name_of(t.dtype));
      return Dense{t.shape, Values(t.dtype, borrowed(t.entries.front()))};
    }
    Stored stored{.layout = t.layout, .shape = t.shape, .dtype = t.dtype, .parts = {}};
    for (const SafetensorsEntry& e : t.entries)
      stored.parts.push_back(
          {e.name.substr(t.name.size() + part_separator.size()), e.dtype, e.shape, borrowed(e)});
    return registry().load(stored);
  });
}

void Checkpoint::drop(const CheckpointTensor& t) const {
  for (const SafetensorsEntry& e : t.entries)
    file_.drop(data_offset_ + e.begin, data_offset_ + e.end);
}

}  // namespace sten
