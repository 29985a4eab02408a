#include "libsten/dispatch/out_format.h"

#include "libsten/dispatch/route.h"
#include "libsten/sparsify/same_pattern.h"

namespace sten {

const OutFormat& OutFormat::dense() {
  static const OutFormat format;
  return format;
}

OutFormat OutFormat::same_as(const Tensor& x) {
  if (x.is<Dense>()) return {};
  return fused(SamePattern{}, x.spec());
}

OutFormat OutFormat::fused(Sparsifier by, const Spec& layout) {
  return {std::move(by), layout, KeepAll{}, layout};
}

OutFormat OutFormat::after(Sparsifier by, const Spec& layout) {
  return {KeepAll{}, Spec("dense"), std::move(by), layout};
}

bool OutFormat::is_dense() const {
  return is_keep_all(inline_by) && tmp.is(Dense::name) && is_keep_all(external) &&
         layout.is(Dense::name);
}

std::string OutFormat::str() const {
  return fmt::format("{} -> {} -> {} -> {}", inline_by.spec().str(), tmp.str(),
                     external.spec().str(), layout.str());
}

const Formats& Formats::dense() {
  static const Formats formats;
  return formats;
}

bool is_keep_all(const Sparsifier& s) {
  static const Name keep_all(KeepAll::name);
  return s.name() == keep_all;
}

Tensor sparsify(const Tensor& x, const Sparsifier& s, const Spec& layout, const Hints& hints) {
  if (is_keep_all(s)) return convert(x, layout);
  const Dense values = x.to_dense();
  // What is selected and packed at once sees positions that are not stored as zeros, too.
  if (x.is<Dense>() && s.has_spec()) return registry().prune(values, s.spec(), layout, hints);
  Mask keep = s.select(values, hints);
  if (!x.is<Dense>()) {
    const Mask had = x.stored();
    const Device here = keep.device();
    keep = keep.to(Device::cpu);
    const Array<std::uint8_t> stored = had.bits.to(Device::cpu);
    std::uint8_t* bits = keep.bits.mutate();
    for (std::size_t i = 0; i < keep.bits.size(); ++i) bits[i] &= stored[i];
    keep = keep.to(here);
  }
  return registry().pack(values, keep, layout);
}

}  // namespace sten
