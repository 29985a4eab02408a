// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/cifar.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/file_kind.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr Index side = 32, plane = side * side, pixels = 3 * plane;

struct CifarRecord {
  Index size, label;  // bytes of a record; offset of the label
  const char* name;
};

CifarRecord record_of(Index classes) {
  if (classes == 10) return {pixels + 1, 0, "CIFAR-10"};
  return {pixels + 2, classes == 100 ? 1 : 0, "CIFAR-100"};
}

// The number of records; `name` is printable.
Index cifar_count(std::span<const std::byte> file, const std::string& name, Index classes) {
  const CifarRecord record = record_of(classes);
  const auto bytes = static_cast<Index>(file.size());
  if (bytes > 0 && bytes % record.size == 0) return bytes / record.size;
  if (const std::string_view kind = foreign_kind(file); !kind.empty())
    fail("{}: got {}, expected a binary file of {}", name, kind, record.name);
  const CifarRecord other = record_of(classes == 10 ? 100 : 10);
  fail("{}: expected a multiple of {} bytes, the record size of {}, got {} bytes (is the file {}?)",
       name, record.size, record.name, bytes,
       bytes > 0 && bytes % other.size == 0 ? std::string(other.name) : "truncated");
}

Examples unwritten_cifar(Index n) {
  check_memory(static_cast<double>(n) * pixels, fmt::format("{} images of 32 x 32 pixels", n));
  return {{{n, side, side, 3}, Values::uninitialized(DType::U8, n * pixels)},
          {{n}, Values::uninitialized(DType::I64, n)}};
}

// Writes the file's records to rows from `first` on.
void put_cifar(std::span<const std::byte> file, const std::string& name, Index classes, Index first,
               Examples& to) {
  const CifarRecord record = record_of(classes);
  const auto* in = reinterpret_cast<const std::uint8_t*>(file.data());
  std::uint8_t* out = to.features.values.mutate<std::uint8_t>().data() + first * pixels;
  std::int64_t* label = to.labels.values.mutate<std::int64_t>().data() + first;
  const Index n = static_cast<Index>(file.size()) / record.size;
  for (Index i = 0; i < n; ++i, in += record.size) {
    label[i] = in[record.label];
    if (label[i] >= classes)
      fail("{}: record {}: label {} is out of range: {} has {} classes", name, i, label[i],
           record.name, classes);
    const std::uint8_t* red = in + record.size - pixels;
    for (Index p = 0; p < plane; ++p)
      for (Index c = 0; c < 3; ++c) *out++ = red[c * plane + p];
  }
}

}  // namespace

void check_cifar_classes(Index classes) {
  if (classes != 10 && classes != 20 && classes != 100)
    fail_usage("cifar: classes must be 10, 100 or 20 (coarse), got {}", classes);
}

Examples parse_cifar(std::span<const std::byte> file, const std::string& file_name, Index classes) {
  check_cifar_classes(classes);
  const std::string name = printable(file_name);
  Examples all = unwritten_cifar(cifar_count(file, name, classes));
  put_cifar(file, name, classes, 0, all);
  return all;
}

Examples read_cifar(const std::vector<std::string>& files, Index classes) {
  check_cifar_classes(classes);
  std::vector<MappedFile> maps;
  std::vector<Index> first{0};
  for (const std::string& path : files) {
    const MappedFile& map = maps.emplace_back(open_data(path));
    first.push_back(first.back() + cifar_count(map.bytes(), map.name(), classes));
  }
  if (first.back() == 0) fail_usage("cifar: no files given");
  Examples all = unwritten_cifar(first.back());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    put_cifar(maps[i].bytes(), maps[i].name(), classes, first[i], all);
    maps[i].check_unchanged();
  }
  return all;
}

CifarFiles cifar_files(const std::string& folder, Index classes) {
  check_cifar_classes(classes);
  std::error_code error;
  CifarFiles found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    const bool is_batch = name.starts_with("data_batch_") && name.ends_with(".bin");
    if (classes == 10 ? is_batch : name == "train.bin") found.train.push_back(at->path());
    if (name == (classes == 10 ? "test_batch.bin" : "test.bin")) found.test.push_back(at->path());
  }
  if (error) fail("{}: {}", printable(folder), error.message());
  const auto check = [&](const std::vector<std::string>& files, const char* names) {
    if (files.empty())
      fail("{}: {} not found (expected the binary files of {})", printable(folder), names,
           record_of(classes).name);
  };
  check(found.train, classes == 10 ? "data_batch_1.bin" : "train.bin");
  check(found.test, classes == 10 ? "test_batch.bin" : "test.bin");
  std::ranges::sort(found.train, natural_less);
  return found;
}

}  // namespace sten
