// Zip archives as torch.save() writes them: records stored as they are, read where they lie.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sten {

// One file of an archive. Its bytes are [begin, end) of the archive unless it is compressed.
struct ZipRecord {
  std::string name;  // as the archive has it; may be anything
  std::uint64_t begin = 0, end = 0;
  bool compressed = false;
};

// Whether a file begins as archives do.
bool is_zip(std::span<const std::byte> file);

// The records of `file`, which messages call `file_name`, in the directory's order; 64-bit archives
// included (APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3). Error for what is truncated, encrypted or
// in several volumes, for names that appear twice or differ between directory and record, and for
// ranges outside of the file. Checksums are not compared: that would read all tensors twice.
std::vector<ZipRecord> read_zip(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
