// SPDX-License-Identifier: Apache-2.0
// Reader of zip archives written by torch.save(): uncompressed records, read in place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sten {

// A file of an archive. Its bytes are [begin, end) of the archive unless it is compressed.
struct ZipRecord {
  std::string name;  // as in the archive; unchecked
  std::uint64_t begin = 0, end = 0;
  bool compressed = false;
};

// Whether a file starts as zip archives do.
bool is_zip(std::span<const std::byte> file);

// Lists the records of `file` in the directory's order, also of 64-bit archives (APPNOTE.TXT
// 6.3.10, sections 4.3 and 4.5.3). `file_name` is for messages. Error for truncated, encrypted and
// multi-volume archives, for names that occur twice or differ between directory and record, and for
// ranges outside of the file. Does not compare checksums, which would read all tensors twice.
std::vector<ZipRecord> read_zip(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
