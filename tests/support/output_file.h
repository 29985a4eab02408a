// SPDX-License-Identifier: Apache-2.0
// Writes an output file for tests.
#pragma once
#include <string>
#include <string_view>

#include "libsten/files/system/atomic_file.h"
#include "tests/support/safetensors_bytes.h"

namespace sten::testing {

inline void write_output(const std::string& path, std::string_view text, bool force = false) {
  OutputFile out(path, force);
  out.write(as_bytes(text));
  out.commit();
}

}  // namespace sten::testing
