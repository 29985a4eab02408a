// SPDX-License-Identifier: Apache-2.0
// Memory that the process can still allocate.
#pragma once
#include <cstdint>
#include <string>

namespace sten {

// Available bytes: the minimum over the machine, the control group and the address space limit. The
// page cache counts as available. Larger than any machine's memory if the system does not report
// it.
std::uint64_t memory_left();
// Error if `bytes` exceeds memory_left(): "WHAT takes 64 GB, but 16 GB are available". A double,
// since files may ask for more than an integer can hold.
void check_memory(double bytes, const std::string& what);

}  // namespace sten
