// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/direct_write.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace sten {
namespace {

// A multiple of the alignment of offsets and memory that common disks and file systems require.
constexpr std::size_t block = 4096;
// Fits the L2 cache between filling and writing.
constexpr std::size_t bounce_bytes = std::size_t{1} << 20;
// Bounds the delay of a signal.
constexpr std::size_t segment_bytes = std::size_t{16} << 20;

}  // namespace

void DirectWrite::Free::operator()(std::byte* p) const {
  ::operator delete (p, std::align_val_t{block});
}

DirectWrite::DirectWrite(int fd)
    : file_(open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC)) {}

DirectWrite::Written DirectWrite::write_at(std::uint64_t offset, std::span<const std::byte> data) {
  const std::size_t skipped = (block - offset % block) % block;
  if (!file_ || data.size() < skipped + block) return {};
  data = data.subspan(skipped, (data.size() - skipped) / block * block);
  offset += skipped;
  const bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % block == 0;
  if (!aligned && !bounce_)
    bounce_.reset(static_cast<std::byte*>(::operator new (bounce_bytes, std::align_val_t{block})));

  std::size_t done = 0;
  while (done < data.size()) {
    auto piece = data.subspan(done);
    if (aligned) {
      piece = piece.first(std::min(piece.size(), segment_bytes));
    } else {
      piece = piece.first(std::min(piece.size(), bounce_bytes));
      std::memcpy(bounce_.get(), piece.data(), piece.size());
      piece = {bounce_.get(), piece.size()};
    }
    if (write_all_at(file_.get(), offset + done, piece) != 0) {
      file_ = Fd();
      break;
    }
    done += piece.size();
  }
  return {skipped, done};
}

}  // namespace sten
