// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/tensors/safetensors_header.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "GGUF";
// The limit of the format.
constexpr std::uint64_t max_key_bytes = 65535;
// Nesting of arrays; writers do not nest them.
constexpr int max_depth = 4;

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  GgufFile read() {
    out_.bytes = file_;
    at_ = magic.size();
    out_.version = number<std::uint32_t>("the version");
    if (out_.version >> 16 != 0) fail("{}: expected a little-endian GGUF file", name_);
    if (out_.version != 2 && out_.version != 3)
      fail("{}: GGUF version: expected 2 or 3, got {}", name_, out_.version);
    const auto tensors = number<std::uint64_t>("the number of tensors");
    const auto keys = number<std::uint64_t>("the number of metadata keys");
    for (const auto& [count, what] : {std::pair(tensors, "tensors"), std::pair(keys, "metadata")})
      if (count > max_entries)
        fail("{}: expected at most {} {}, got {}", name_, max_entries, what, count);
    read_metadata(keys);
    read_alignment();
    read_tensors(tensors);
    place_tensors();
    return std::move(out_);
  }

 private:
  std::span<const std::byte> take(std::uint64_t bytes, std::string_view what) {
    if (bytes > file_.size() - at_)
      fail("{}: {} takes {} bytes, only {} follow (is the file truncated?)", name_, what, bytes,
           file_.size() - at_);
    const auto taken = file_.subspan(at_, bytes);
    at_ += bytes;
    return taken;
  }
  template <class T>
  T number(std::string_view what) {
    return gguf_number_at<T>(take(sizeof(T), what).data());
  }
  std::string_view text(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  GgufKind kind(std::string_view what) {
    const auto number = this->number<std::uint32_t>(what);
    if (number > static_cast<std::uint32_t>(GgufKind::f64))
      fail("{}: {}: unknown type {}", name_, what, number);
    return static_cast<GgufKind>(number);
  }

  void read_metadata(std::uint64_t count) {
    std::unordered_set<std::string_view> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view key = text("a metadata key");
      if (key.empty() || key.size() > max_key_bytes)
        fail("{}: metadata key {}: expected 1 to {} bytes, got {}", name_, i, max_key_bytes,
             key.size());
      const std::string what = "metadata " + shown(key);
      if (!keys.insert(key).second) fail("{}: {} appears twice", name_, what);
      GgufValue value;
      value.kind = kind(what);
      read_value(value, what, 0);
      out_.metadata.emplace_back(key, value);
    }
  }

  // Reads a value of value.kind; checks the texts and flags in it.
  void read_value(GgufValue& value, const std::string& what, int depth) {
    const std::size_t begin = at_;
    if (value.kind == GgufKind::array) {
      if (depth == max_depth) fail("{}: {}: arrays nest deeper than {}", name_, what, max_depth);
      value.element = kind(what);
      value.count = number<std::uint64_t>(what);
      const std::size_t first = at_;
      read_elements(value, what, depth);
      value.bytes = file_.subspan(first, at_ - first);
      return;
    }
    if (value.kind == GgufKind::text)
      text(what);
    else
      take(width_of(value.kind), what);
    value.bytes = file_.subspan(begin, at_ - begin);
    if (value.kind == GgufKind::boolean) check_flags(value.bytes, what);
  }

  void read_elements(const GgufValue& array, const std::string& what, int depth) {
    if (const std::uint64_t width = width_of(array.element)) {
      const std::uint64_t left = file_.size() - at_;
      if (array.count > left / width)
        fail("{}: {}: {} elements of {} bytes, only {} bytes follow (is the file truncated?)",
             name_, what, array.count, width, left);
      const auto bytes = take(array.count * width, what);
      if (array.element == GgufKind::boolean) check_flags(bytes, what);
      return;
    }
    // Each element takes 8 bytes or more, so that the file bounds the steps.
    for (std::uint64_t i = 0; i < array.count; ++i) {
      GgufValue element;
      element.kind = array.element;
      read_value(element, what, depth + 1);
    }
  }

  void check_flags(std::span<const std::byte> flags, const std::string& what) {
    for (const std::byte b : flags)
      if (b > std::byte{1})
        fail("{}: {}: expected a flag of 0 or 1, got {}", name_, what, std::to_integer<int>(b));
  }

  void read_alignment() {
    out_.alignment = gguf_default_alignment;
    const GgufValue* given = out_.find("general.alignment");
    if (!given) return;
    const auto value = given->integer();
    if (!value || *value <= 0 || *value > (1 << 30) ||
        !std::has_single_bit(static_cast<std::uint64_t>(*value)))
      fail("{}: metadata 'general.alignment': expected a power of 2", name_);
    out_.alignment = static_cast<std::uint64_t>(*value);
  }

  void read_tensors(std::uint64_t count) {
    std::unordered_set<std::string_view> names;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view name = text("the name of a tensor");
      GgufTensor t;
      t.name = name;
      const std::string what = shown(name);
      if (name.empty()) fail("{}: a tensor has an empty name", name_);
      if (const std::string why = why_no_name(t.name); !why.empty())
        fail("{}: {}: {}", name_, what, why);
      if (!names.insert(name).second) fail("{}: duplicate tensor name {}", name_, what);
      const auto rank = number<std::uint32_t>(what);
      if (rank > gguf_max_rank)
        fail("{}: {}: expected at most {} dimensions, got {}", name_, what, gguf_max_rank, rank);
      for (std::uint32_t d = 0; d < rank; ++d) {
        const auto extent = number<std::uint64_t>(what);
        if (extent >> 62) fail("{}: {}: expected extents below 2^62, got {}", name_, what, extent);
        t.shape.insert(t.shape.begin(), static_cast<Index>(extent));
      }
      const auto type = number<std::uint32_t>(what);
      t.begin = number<std::uint64_t>(what);
      t.type = gguf_type(type);
      if (!t.type) fail("{}: {}: unknown type {} of ggml", name_, what, type);
      if (!t.type->dtype) fail("{}: {}: unsupported type {}", name_, what, t.type->name);
      t.end = bytes_of(t);
      out_.tensors.push_back(std::move(t));
    }
  }

  std::uint64_t bytes_of(const GgufTensor& t) {
    const auto row = static_cast<std::uint64_t>(t.shape.empty() ? 1 : t.shape.back());
    if (row % t.type->elements != 0)
      fail("{}: {}: rows of {} elements are not whole blocks of {} ({})", name_, shown(t.name), row,
           t.type->elements, t.type->name);
    // Of the extents that are not 0, so that products of any of them are known to fit.
    std::uint64_t blocks = std::max<std::uint64_t>(1, row / t.type->elements);
    bool is_empty = row == 0;
    for (std::size_t d = 0; d + 1 < t.shape.size(); ++d) {
      const auto extent = static_cast<std::uint64_t>(t.shape[d]);
      is_empty |= extent == 0;
      if (extent == 0) continue;
      if (extent > (std::uint64_t{1} << 48) / blocks)
        fail("{}: {}: shape {} is too large", name_, shown(t.name), to_string(t.shape));
      blocks *= extent;
    }
    if (blocks > (std::uint64_t{1} << 48))
      fail("{}: {}: shape {} is too large", name_, shown(t.name), to_string(t.shape));
    return is_empty ? 0 : blocks * t.type->bytes;
  }

  // Makes offsets of the data section, with sizes as ends, ranges of the file.
  void place_tensors() {
    // A file of empty tensors may end before the padding does.
    const std::uint64_t data = std::min<std::uint64_t>(
        file_.size(), (at_ + out_.alignment - 1) / out_.alignment * out_.alignment);
    const std::uint64_t available = file_.size() - data;
    for (GgufTensor& t : out_.tensors) {
      const std::uint64_t offset = t.begin, bytes = t.end;
      if (offset % out_.alignment != 0)
        fail("{}: {}: offset {} is not a multiple of the alignment, {}", name_, shown(t.name),
             offset, out_.alignment);
      if (offset > available || bytes > available - offset)
        fail("{}: {}: {} bytes at byte {} exceed the {} bytes of data (is the file truncated?)",
             name_, shown(t.name), bytes, offset, available);
      t.begin = data + offset;
      t.end = t.begin + bytes;
    }
    std::vector<std::size_t> order(out_.tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto& all = out_.tensors;
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::tuple(all[i].begin, all[i].end, i); });
    for (std::size_t k = 1; k < order.size(); ++k) {
      const GgufTensor &last = all[order[k - 1]], &t = all[order[k]];
      if (t.begin < last.end)
        fail("{}: {} and {} overlap: one ends at byte {}, the other begins at byte {}", name_,
             shown(last.name), shown(t.name), last.end, t.begin);
    }
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  std::size_t at_ = 0;
  GgufFile out_;
};

}  // namespace

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto at = std::ranges::find_if(metadata, [&](const auto& m) { return m.first == key; });
  return at == metadata.end() ? nullptr : &at->second;
}
const GgufTensor* GgufFile::tensor(std::string_view name) const {
  const auto at = std::ranges::find(tensors, name, &GgufTensor::name);
  return at == tensors.end() ? nullptr : &*at;
}
std::optional<std::int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  return value ? value->integer() : std::nullopt;
}
std::optional<double> GgufFile::real(std::string_view key) const {
  const GgufValue* value = find(key);
  return value ? value->real() : std::nullopt;
}
std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  return value ? value->boolean() : std::nullopt;
}
std::string_view GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(key);
  return value ? value->text().value_or("") : "";
}

bool is_gguf(std::span<const std::byte> file) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

GgufFile parse_gguf(std::span<const std::byte> file, const std::string& file_name) {
  const std::string name = printable(file_name);
  if (!is_gguf(file)) fail("{}: not a GGUF file", name);
  return GgufReader(file, name).read();
}

}  // namespace sten
