// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/version.h"

namespace sten {

std::string_view version() { return STEN_VERSION; }

}  // namespace sten
