// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/mask_file.h"

#include "libsten/core/base/parallel.h"

namespace sten {

MaskWriter::MaskWriter(OutputFile& out, const std::vector<TensorInfo>& tensors) {
  std::vector<SafetensorsEntry> entries;
  std::uint64_t end = 0;
  for (const TensorInfo& t : tensors) {
    const std::uint64_t n = byte_size(DType::BOOL, t.shape);
    entries.push_back({t.name, DType::BOOL, t.shape, end, end + n});
    order_.push_back(t.name);
    end += n;
  }
  writer_ = std::make_unique<SafetensorsWriter>(out, safetensors_header_text({}, entries).size());
}

void MaskWriter::add(const std::string& name, const Mask& mask) {
  auto bytes = Array<std::uint8_t>::uninitialized(mask.size());
  std::uint8_t* to = bytes.mutate();
  parallel_for(mask.size(), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] = bit_at(mask.bits.data(), i);
  });
  writer_->add(name, DType::BOOL, mask.extents, bytes.bytes());
}

void MaskWriter::finish() { writer_->finish({}, order_); }

Mask read_mask(const Checkpoint& masks, const TensorInfo& t) {
  const CheckpointTensor* m = masks.find(t.name);
  if (!m) fail("{}: missing mask {}", masks.name(), quote(t.name));
  if (m->is_sparse() || (m->dtype != DType::BOOL && m->dtype != DType::U8))
    fail("{}: mask {}: expected BOOL or U8, got {}", masks.name(), quote(t.name),
         m->is_sparse() ? m->layout.str() : std::string(name_of(m->dtype)));
  if (m->shape != t.shape)
    fail("{}: mask {} has shape {}, but the tensor has {}", masks.name(), quote(t.name),
         to_string(m->shape), to_string(t.shape));
  const auto values = masks.bytes(*m, m->entries.front());
  Mask mask = Mask::none(t.shape);
  std::uint8_t* bits = mask.bits.mutate();
  parallel_for(mask.size(), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto v = static_cast<std::uint8_t>(values[i]);
      if (v > 1)
        fail("{}: {}: element {} must be 0 or 1, got {}", masks.name(), quote(t.name), i, v);
      if (v) set_bit(bits, i);
    }
  });
  masks.drop(*m);
  return mask;
}

}  // namespace sten
