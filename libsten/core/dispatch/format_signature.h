// SPDX-License-Identifier: Apache-2.0
// Signatures of output formats.
#pragma once
#include "libsten/core/dispatch/out_format.h"

namespace sten {

// The inline sparsifier and temporary layout of a format; none() for nullptr, an unneeded output.
OutSignature signature_of(const OutFormat* f);

// Whether the external sparsifier can move inline: the temporary is dense and has all values, and
// the sparsifier selects each value, or blocks along rows, by values alone.
bool can_inline_external(const OutFormat& f);
// The same result without the temporary: the external sparsifier as inline sparsifier, which writes
// the output layout. Requires can_inline_external().
OutFormat with_inline_external(const OutFormat& f);

}  // namespace sten
