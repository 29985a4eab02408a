// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/checkpoint_writer.h"

#include "libsten/core/registry/registry.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

// The entries of a tensor, including optional parts.
std::vector<std::string> entry_names(const TensorInfo& t) {
  if (!t.is_sparse()) return {t.name};
  std::vector<std::string> names;
  for (const std::string& part : registry().part_names(t.layout.name()))
    names.push_back(fmt::format("{}{}{}", t.name, part_separator, part));
  return names;
}

std::vector<std::string> header_order(const std::vector<TensorInfo>& contents) {
  std::vector<std::string> order;
  for (const TensorInfo& t : contents)
    for (std::string& entry : entry_names(t)) order.push_back(std::move(entry));
  return order;
}

// An estimate of the header's size before the sizes of packed parts are known: exact for dense
// tensors, otherwise with some margin. An underestimate costs a second copy of the data.
std::uint64_t header_room(std::vector<std::pair<std::string, std::string>> metadata,
                          const std::vector<TensorInfo>& contents) {
  constexpr std::size_t more_keys = 24;  // characters that a completed spec can add
  std::vector<SafetensorsEntry> entries;
  std::uint64_t end = 0;
  bool exact = true;
  for (const TensorInfo& t : contents) {
    const std::uint64_t bytes = byte_size(t.dtype, t.shape);
    if (!t.is_sparse()) {
      entries.push_back({t.name, t.dtype, t.shape, end, end + bytes});
    } else {
      exact = false;
      metadata.emplace_back(std::string(layout_key) + t.name,
                            layout_text(t) + std::string(more_keys, ' '));
      // The longest dtype, and a shape with the most digits that a part can need.
      const auto n = static_cast<Index>(bytes);
      for (std::string& name : entry_names(t))
        entries.push_back({std::move(name), DType::F8_E4M3, {n, n, n}, end, end + bytes});
    }
    end += bytes;
  }
  // Offsets of dense tensors depend on the order of data, but their lengths hardly do: the final
  // offset stands for all.
  for (SafetensorsEntry& e : entries) {
    if (!exact) e.begin = e.end = std::max<std::uint64_t>(end * 2, 10'000);
  }
  return safetensors_header_text(metadata, entries).size();
}

}  // namespace

void check_entry_names(const std::vector<TensorInfo>& contents, const std::string& file) {
  std::unordered_set<std::string_view> sparse;
  for (const TensorInfo& t : contents)
    if (t.is_sparse()) sparse.insert(t.name);
  for (const TensorInfo& t : contents) {
    const std::size_t cut = t.name.rfind(part_separator);
    if (cut == std::string::npos || !sparse.contains(std::string_view(t.name).substr(0, cut)))
      continue;
    fail("{}: {} collides with the parts of the sparse tensor {}", file, quote(t.name),
         quote(t.name.substr(0, cut)));
  }
  std::unordered_map<std::string, std::string_view> owner;
  for (const TensorInfo& t : contents) {
    if (const std::string why = why_no_name(t.name); !why.empty())
      fail("{}: {}: {}", file, quote(t.name), why);
    for (const std::string& entry : entry_names(t)) {
      if (const std::string why = why_no_name(entry); !why.empty())
        fail("{}: {} would be written as {}: {}", file, quote(t.name), quote(entry), why);
      const auto [at, fresh] = owner.emplace(entry, t.name);
      if (!fresh)
        fail("{}: {} and {} would both be written as {}", file, quote(at->second), quote(t.name),
             quote(entry));
    }
  }
}

CheckpointWriter::CheckpointWriter(OutputFile& out,
                                   std::vector<std::pair<std::string, std::string>> metadata,
                                   std::vector<TensorInfo> contents)
    : metadata_(std::move(metadata)),
      contents_(std::move(contents)),
      writer_(out, header_room(metadata_, contents_)) {}

void CheckpointWriter::add(const std::string& name, const Tensor& t) {
  const Stored stored = t.save();
  const TensorInfo info{name, stored.dtype, stored.shape, stored.layout};
  if (info.is_sparse()) layouts_[name] = layout_text(info);
  for (const Part& p : stored.parts) {
    std::string entry =
        info.is_sparse() ? fmt::format("{}{}{}", name, part_separator, p.name) : name;
    writer_.add(entry, p.dtype, p.shape, p.bytes);
    written_.insert(std::move(entry));
    data_bytes_ += p.bytes.size();
  }
}

void CheckpointWriter::copy(const Checkpoint& from, const CheckpointTensor& t) {
  if (t.is_sparse()) layouts_[t.name] = t.layout_text;
  for (const SafetensorsEntry& e : t.entries) {
    const Shard& shard = from.shards()[t.shard];
    writer_.copy(e.name, e.dtype, e.shape, shard.file, shard.data_offset + e.begin);
    written_.insert(e.name);
    data_bytes_ += e.end - e.begin;
  }
}

std::vector<std::string> CheckpointWriter::finish() {
  for (const TensorInfo& t : contents_)
    if (const auto at = layouts_.find(t.name); at != layouts_.end())
      metadata_.emplace_back(std::string(layout_key) + t.name, at->second);
  std::vector<std::string> order = header_order(contents_);
  std::erase_if(order, [&](const std::string& entry) { return !written_.contains(entry); });
  writer_.finish(metadata_, order);
  return order;
}

}  // namespace sten
