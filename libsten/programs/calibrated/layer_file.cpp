// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/layer_file.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/layout/bitmask.h"

namespace sten {
namespace {

constexpr const char* nameless = "pruned layers";

std::size_t mask_bytes(Index elements) { return static_cast<std::size_t>((elements + 7) / 8); }

}  // namespace

LayerFile::LayerFile()
    : file_(nameless_file(nameless)), name_(printable(temporary_directory()) + ": " + nameless) {}

LayerFile::LayerFile(Fd file, std::string name, std::uint64_t size, LayerRecords records)
    : file_(std::move(file)), name_(std::move(name)), size_(size), records_(std::move(records)) {}

void LayerFile::add(const std::string& tensor, const CalibratedLayer& layer, bool with_values) {
  records_.insert_or_assign(tensor,
                            LayerRecord{size_, with_values, layer.error_before, layer.error});
  append(std::as_bytes(std::span(layer.mask.bits.data(), mask_bytes(layer.mask.size()))));
  if (!with_values) return;
  const Values kept = Bitmask::pack(layer.weights, layer.mask, {}).values;
  append(std::span(kept.bytes().data(), kept.bytes().size()));
}

CalibratedLayer LayerFile::read(const TensorInfo& t) const {
  const LayerRecord& record = records_.at(t.name);
  CalibratedLayer layer{{}, Mask::none(t.shape), record.error_before, record.error};
  const std::size_t bytes = mask_bytes(layer.mask.size());
  read_at(record.offset, std::as_writable_bytes(std::span(layer.mask.bits.mutate(), bytes)));
  if (!record.has_values) return layer;
  Values kept = Values::uninitialized(t.dtype, layer.mask.count());
  read_at(record.offset + bytes, std::span(kept.mutate_bytes(), kept.bytes().size()));
  layer.weights = Bitmask{t.shape, layer.mask.bits, std::move(kept)}.to_dense();
  return layer;
}

void LayerFile::append(std::span<const std::byte> bytes) {
  if (const int error = write_all_at(file_.get(), size_, bytes))
    fail("{}: {}", name_, errno_text(error));
  size_ += bytes.size();
}

void LayerFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (const int error = read_all_at(file_.get(), offset, bytes))
    fail("{}: {}", name_, errno_text(error));
}

}  // namespace sten
