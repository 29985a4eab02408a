// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/format_signature.h"

#include "libsten/core/dispatch/names.h"

namespace sten {

OutSignature signature_of(const OutFormat* f) {
  static const OutSignature plain;
  static const OutSignature none = OutSignature::none();
  if (!f) return none;
  if (f == &OutFormat::dense()) return plain;
  return {f->inline_by, f->tmp.is(Dense::name) ? names::dense : Name(f->tmp.name())};
}

bool can_inline_external(const OutFormat& f) {
  if (&f == &OutFormat::dense()) return false;
  const Sparsifier& s = f.external;
  return !is_keep_all(s) && s.is_local() && !s.needs_scores() && !s.needs_pattern() &&
         !s.needs_own() && is_keep_all(f.inline_by) && f.tmp.is(Dense::name);
}

OutFormat with_inline_external(const OutFormat& f) {
  return OutFormat::fused(f.external, f.layout);
}

}  // namespace sten
