// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/pytorch/torch_file.h"

#include <algorithm>
#include <unordered_map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/pytorch/globals.h"
#include "libsten/files/pytorch/pickle.h"
#include "libsten/files/pytorch/zip.h"
#include "libsten/files/system/file_kind.h"

namespace sten {
namespace {

using namespace std::string_view_literals;

// The pickled value 0x1950a86a20f9469cfc6c, the magic number of files that are not archives.
constexpr std::string_view old_mark = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;

std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

bool is_old(std::span<const std::byte> file) {
  std::string_view s = text_of(file);
  if (s.size() <= 2 || s[0] != '\x80') return false;
  s.remove_prefix(2);
  // Protocols 4 and 5 have frames: an opcode and 8 bytes.
  if (s[0] == '\x95') s.remove_prefix(std::min<std::size_t>(9, s.size()));
  return s.starts_with(old_mark);
}

StateDict read_archive(std::span<const std::byte> file, const std::string& name) {
  const std::vector<ZipRecord> all = read_zip(file, name);
  const auto pickled = std::find_if(all.begin(), all.end(), [](const ZipRecord& r) {
    return r.name.ends_with("/data.pkl") && r.name.find('/') == r.name.size() - 9;
  });
  if (pickled == all.end())
    fail("{}: the zip archive has no data.pkl (torch.save() writes one)", name);
  const std::string folder = pickled->name.substr(0, pickled->name.size() - 8);
  TorchRecords records;
  for (const ZipRecord& r : all) {
    if (!r.name.starts_with(folder)) continue;
    const std::string_view rest = std::string_view(r.name).substr(folder.size());
    if (rest == "constants.pkl" || rest.starts_with("code/"))
      fail("{}: expected a state dict, got a TorchScript program (save model.state_dict())", name);
    const bool storage = rest.starts_with("data/");
    if (r.compressed && (storage || &r == &*pickled || rest == "byteorder"))
      fail("{}: record {}: expected an uncompressed record", name, quote(r.name));
    if (rest == "byteorder" && text_of(file).substr(r.begin, r.end - r.begin) != "little")
      fail("{}: expected little-endian data", name);
    if (storage) records[rest.substr(5)] = {r.begin, r.end};
  }
  const Pickle pickle =
      read_pickle(file.subspan(pickled->begin, pickled->end - pickled->begin), name);
  return read_state_dict(pickle, records, file.size(), name);
}

// Reads the format before archives: a magic number, a version, a dict about the machine, the state
// dict and the storages' keys, each a pickle; then each storage after its number of elements.
StateDict read_old(std::span<const std::byte> file, const std::string& name) {
  std::size_t at = 0, values = max_pickle_values;
  const auto next = [&] {
    Pickle p = read_pickle(file.subspan(at), name, values);
    at += p.size;
    values -= p.values.size();
    return p;
  };
  next();
  next();
  const Pickle machine = next();
  const auto& facts = machine[machine.root].items;
  for (std::size_t i = 0; machine[machine.root].kind == PickleKind::dict && i + 1 < facts.size();
       i += 2)
    if (machine[facts[i]].text == "little_endian" && machine[facts[i + 1]].integer == 0)
      fail("{}: expected little-endian data", name);
  const Pickle pickle = next(), keys = next();
  // Only the state dict has the widths.
  std::unordered_map<std::string_view, int> widths;
  for (const PickleValue& v : pickle.values) {
    if (v.kind != PickleKind::persistent) continue;
    const auto& storage = pickle[v.items[0]].items;
    if (pickle[v.items[0]].kind != PickleKind::tuple || storage.size() < 3) continue;
    const PickleValue &type = pickle[storage[1]], &key = pickle[storage[2]];
    if (type.kind != PickleKind::global || key.kind != PickleKind::text ||
        key.text.size() > max_storage_key_bytes)
      continue;
    if (const auto dtype = type.global.dtype) widths.emplace(key.text, width_of(*dtype));
  }
  TorchRecords records;
  if (keys[keys.root].kind != PickleKind::list) fail("{}: missing list of storages", name);
  for (const std::uint32_t id : keys[keys.root].items) {
    const std::string_view key = keys[id].text;
    if (key.size() > max_storage_key_bytes)
      fail("{}: storage key: expected at most {} bytes, got {}", name, max_storage_key_bytes,
           key.size());
    const auto width = widths.find(key);
    if (width == widths.end()) fail("{}: storage {} belongs to no tensor", name, quote(key));
    if (file.size() - at < 8) fail("{}: storage {} is truncated", name, quote(key));
    std::uint64_t elements = 0;
    for (int i = 8; i-- > 0;)
      elements =
          elements << 8 | std::to_integer<std::uint64_t>(file[at + static_cast<std::size_t>(i)]);
    at += 8;
    if (elements > (file.size() - at) / static_cast<std::uint64_t>(width->second))
      fail("{}: storage {} has {} elements, but {} bytes are left", name, quote(key), elements,
           file.size() - at);
    const std::uint64_t bytes = elements * static_cast<std::uint64_t>(width->second);
    if (!records.emplace(key, TorchRecord{at, at + bytes}).second)
      fail("{}: duplicate storage {}", name, quote(key));
    at += bytes;
  }
  return read_state_dict(pickle, records, file.size(), name);
}

}  // namespace

bool is_torch_file(std::span<const std::byte> file) {
  return (is_zip(file) && !is_npz(file)) || is_old(file);
}

StateDict read_torch_file(std::span<const std::byte> file, const std::string& file_name) {
  const std::string name = printable(file_name);
  return is_old(file) ? read_old(file, name) : read_archive(file, name);
}

}  // namespace sten
