// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/pytorch/zip.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr std::uint32_t record_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator64_mark = 0x07064b50;
constexpr std::size_t record_size = 30, entry_size = 46, end_size = 22, end64_size = 56,
                      locator64_size = 20, longest_comment = 65535;
// Values that mean: see the 64-bit field.
constexpr std::uint64_t in_other16 = 0xffff, in_other32 = 0xffffffff;

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  std::vector<ZipRecord> read() {
    const auto [begin, end, count] = directory();
    std::vector<ZipRecord> records;
    std::unordered_set<std::string_view> names;
    std::uint64_t at = begin;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (end - at < entry_size || u32(at) != entry_mark)
        fail("{}: the zip archive's directory ends after {} of {} records", name_, i, count);
      const std::uint64_t name_size = u16(at + 28), extra_size = u16(at + 30),
                          size = entry_size + name_size + extra_size + u16(at + 32);
      if (end - at < size) fail("{}: a name in the zip archive's directory is truncated", name_);
      const std::string_view name = text(at + entry_size, name_size);
      if (!names.insert(name).second)
        fail("{}: the zip archive has a duplicate record {}", name_, quote(name));
      records.push_back(record(at, name, begin));
      at += size;
    }
    return records;
  }

 private:
  struct Directory {
    std::uint64_t begin, end, count;
  };

  std::uint64_t number(std::uint64_t at, int bytes) const {
    std::uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | std::to_integer<std::uint64_t>(file_[at + i]);
    return v;
  }
  std::uint64_t u16(std::uint64_t at) const { return number(at, 2); }
  std::uint64_t u32(std::uint64_t at) const { return number(at, 4); }
  std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }
  std::string_view text(std::uint64_t at, std::uint64_t size) const {
    return {reinterpret_cast<const char*>(file_.data()) + at, size};
  }

  Directory directory() const {
    const std::uint64_t size = file_.size();
    // The last mark whose comment reaches to the end of the file.
    std::optional<std::uint64_t> found;
    for (std::uint64_t back = end_size; back <= std::min(size, end_size + longest_comment);
         ++back) {
      const std::uint64_t at = size - back;
      if (u32(at) == end_mark && u16(at + 20) == back - end_size) {
        found = at;
        break;
      }
    }
    if (!found)
      fail("{}: the zip archive has no directory at its end (is the file truncated?)", name_);
    std::uint64_t end = *found, count = u16(end + 10), bytes = u32(end + 12), begin = u32(end + 16);
    bool volumes = u16(end + 4) != 0 || u16(end + 6) != 0 || u16(end + 8) != count;
    if (count == in_other16 || bytes == in_other32 || begin == in_other32) {
      if (end < locator64_size || u32(end - locator64_size) != locator64_mark)
        fail("{}: the zip archive has no 64-bit directory", name_);
      const std::uint64_t end64 = u64(end - locator64_size + 8);
      if (end64 > end - locator64_size || end - locator64_size - end64 < end64_size ||
          u32(end64) != end64_mark)
        fail("{}: the zip archive's 64-bit directory is misplaced", name_);
      count = u64(end64 + 32), bytes = u64(end64 + 40), begin = u64(end64 + 48);
      volumes = u32(end64 + 16) != 0 || u32(end64 + 20) != 0 || u64(end64 + 24) != count;
      end = end64;
    }
    if (volumes) fail("{}: expected a zip archive of one volume", name_);
    if (begin > end || bytes > end - begin)
      fail(
          "{}: the zip archive's directory of {} bytes at byte {} exceeds the {} bytes before "
          "its end",
          name_, bytes, begin, begin > end ? 0 : end - begin);
    return {begin, begin + bytes, count};
  }

  // Reads the directory entry at `at`; the directory starts at `directory`.
  ZipRecord record(std::uint64_t at, std::string_view name, std::uint64_t directory) const {
    const auto bad = [&](std::string_view what) {
      fail("{}: record {} of the zip archive {}", name_, quote(name), what);
    };
    if (u16(at + 8) & 1) bad("is encrypted");
    std::uint64_t packed = u32(at + 20), size = u32(at + 24), start = u32(at + 42);
    // The 64-bit fields, in this order, each only if needed.
    std::uint64_t extra = at + entry_size + name.size();
    const std::uint64_t extra_end = extra + u16(at + 30);
    while (extra_end - extra >= 4) {
      const std::uint64_t kind = u16(extra), end = extra + 4 + u16(extra + 2);
      if (end > extra_end) bad("has a truncated extra field");
      extra += 4;
      if (kind == 1)
        for (std::uint64_t* value : {&size, &packed, &start}) {
          if (*value != in_other32) continue;
          if (end - extra < 8) bad("lacks a 64-bit size or place");
          *value = u64(extra);
          extra += 8;
        }
      extra = end;
    }
    if (start > directory || directory - start < record_size || u32(start) != record_mark)
      bad(fmt::format("is not at byte {} as in the directory", start));
    const std::uint64_t name_size = u16(start + 26),
                        head = record_size + name_size + u16(start + 28);
    if (directory - start < head) bad("has a truncated header");
    if (text(start + record_size, name_size) != name)
      bad(fmt::format("is called {} in its header", quote(text(start + record_size, name_size))));
    if (packed > directory - start - head)
      bad(fmt::format("has {} bytes, but {} are left", packed, directory - start - head));
    const bool compressed = u16(at + 10) != 0;
    if (!compressed && packed != size) bad(fmt::format("has {} bytes and {}", packed, size));
    return {std::string(name), start + head, start + head + packed, compressed};
  }

  std::span<const std::byte> file_;
  const std::string& name_;
};

}  // namespace

bool is_zip(std::span<const std::byte> file) {
  constexpr unsigned char mark[] = {'P', 'K', 3, 4};
  return file.size() >= 4 &&
         std::equal(std::begin(mark), std::end(mark), file.begin(),
                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

std::vector<ZipRecord> read_zip(std::span<const std::byte> file, const std::string& file_name) {
  return ZipReader(file, file_name).read();
}

}  // namespace sten
