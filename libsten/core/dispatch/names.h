// SPDX-License-Identifier: Apache-2.0
// Names that the choice of an implementation compares, and wildcards of patterns.
#pragma once
#include "libsten/core/base/name.h"

namespace sten {

// Wildcards in the patterns of implementations.
namespace any {
inline constexpr const char* layout = "*";
// Inline sparsifiers: all, streaming ones, and those that select from rows (Sparsifier::is_local).
inline constexpr const char* sparsifier = "*";
inline constexpr const char* streaming = "*streaming";
inline constexpr const char* local = "*local";
// As the last input or output: any number of repetitions of the preceding one, including none.
inline constexpr const char* more = "...";
}  // namespace any

namespace names {
inline const Name dense("dense"), keep_all("keep-all"), any_layout(any::layout);
}  // namespace names

}  // namespace sten
