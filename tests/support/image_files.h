// SPDX-License-Identifier: Apache-2.0
// Image files for tests: uncompressed PNG, and JPEG as bytes.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/data/image/image.h"

namespace sten::testing {

inline std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

inline std::string big_endian_bytes(std::uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16 & 255),
          static_cast<char>(v >> 8 & 255), static_cast<char>(v & 255)};
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  std::uint32_t crc = ~0u;
  for (const char byte : type + data) {
    crc ^= static_cast<unsigned char>(byte);
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return big_endian_bytes(static_cast<std::uint32_t>(data.size())) + type + data +
         big_endian_bytes(~crc);
}

// At most 65535 bytes as an uncompressed zlib stream.
inline std::string zlib_bytes(const std::string& data) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : data) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  const auto n = static_cast<std::uint32_t>(data.size());
  const auto little = [](std::uint32_t v) {
    return std::string{static_cast<char>(v & 255), static_cast<char>(v >> 8 & 255)};
  };
  return "\x78\x01\x01" + little(n) + little(~n) + data + big_endian_bytes(b << 16 | a);
}

struct PngFile {
  std::uint32_t width = 0, height = 0;
  char bits = 8, colour = 2;  // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGB and alpha
  std::string pixels;         // rows without their filter byte; for `interlaced`, all bytes
  std::string more = "";      // chunks before the pixels
  bool interlaced = false;

  std::string header() const {
    const std::string rest{bits, colour, 0, 0, static_cast<char>(interlaced)};
    return "\x89PNG\r\n\x1a\n" +
           png_chunk("IHDR", big_endian_bytes(width) + big_endian_bytes(height) + rest);
  }
  std::string bytes() const {
    std::string all;
    const std::size_t row = height ? pixels.size() / height : 0;
    for (std::size_t y = 0; y < height && !interlaced; ++y)
      all += '\0' + pixels.substr(y * row, row);
    return header() + more + png_chunk("IDAT", zlib_bytes(interlaced ? pixels : all)) +
           png_chunk("IEND", "");
  }
};

// Whether this build and machine have the library to read the file.
inline bool has_library(const std::string& file) {
  try {
    decode_image(std::as_bytes(std::span(file)), "");
  } catch (const Error& e) {
    const std::string_view what = e.what();
    return what.find("cannot read ") == what.npos && what.find("built without") == what.npos;
  }
  return true;
}
inline bool reads_png() { return has_library("\x89PNG\r\n\x1a\n"); }
inline bool reads_jpeg() { return has_library("\xff\xd8\xff"); }

// 9 x 6 gray pixels, written by Pillow.
inline const std::string grey_jpeg = bytes_of_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300080606070605080707070909080a0c140d"
    "0c0b0b0c1912130f141d1a1f1e1d1a1c1c20242e2720222c231c1c2837292c30313434341f27393d3832"
    "3c2e333432ffc0000b080006000901011100ffc4001500010100000000000000000000000000000407ff"
    "c4001b10000104030000000000000000000000000004061691233262ffda0008010100003f00032dae9f"
    "1eb45322e9f9a3ffd9");

}  // namespace sten::testing
