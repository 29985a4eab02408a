// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/image.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/support/bad_input.h"
#include "tests/support/image_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

Dense decoded(const std::string& file, const ImageLimits& limits = {}) {
  return decode_image(std::as_bytes(std::span(file)), "in", limits);
}
std::string not_decoded(const std::string& file, const ImageLimits& limits = {}) {
  const std::string message = error_of([&] { decoded(file, limits); });
  if (message.empty()) return "";
  CHECK(message.starts_with("in: "));
  return message.substr(4);
}
std::vector<int> bytes_in(const Dense& image) {
  const auto v = image.values.as<std::uint8_t>();
  return {v.begin(), v.end()};
}
std::vector<int> pixel(const Dense& image, Index y, Index x) {
  const Index c = image.extents[2];
  const auto* at = image.values.as<std::uint8_t>().data() + (y * image.extents[1] + x) * c;
  return {at, at + c};
}
int sum_in(const Dense& image) {
  const std::vector<int> all = bytes_in(image);
  return std::accumulate(all.begin(), all.end(), 0);
}

// 12 x 10 pixels by Pillow, quality 50: with subsampled chroma, progressive, and in CMYK.
const std::string colour_jpeg = bytes_of_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a"
    "181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064"
    "785c656763ffdb0043011112121815182f1a1a2f63423842636363636363636363636363636363636363"
    "6363636363636363636363636363636363636363636363636363636363636363ffc0001108000a000c03"
    "012200021101031101ffc40014000100000000000000000000000000000005ffc4001d10000103050100"
    "0000000000000000000001002122020304051231ffc40015010101000000000000000000000000000001"
    "04ffc4001a110002020300000000000000000000000000030204051112ffda000c03010002110311003f"
    "00271753e45296f5301149e2d2198252dd2380c148eb53d863aeb393ffd9");
const std::string progressive_jpeg = bytes_of_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a"
    "181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064"
    "785c656763ffdb0043011112121815182f1a1a2f63423842636363636363636363636363636363636363"
    "6363636363636363636363636363636363636363636363636363636363636363ffc2001108000a000c03"
    "012200021101031101ffc40014000100000000000000000000000000000004ffc4001501010100000000"
    "000000000000000000000103ffda000c030100021003100000012292a89fffc400171001000300000000"
    "00000000000000000000010203ffda0008010100010502ae48c9543fffc4001811000203000000000000"
    "000000000000000002030411ffda0008010301013f01af3361ffc4001711000301000000000000000000"
    "0000000000010203ffda0008010201013f01bd59ffc40014100100000000000000000000000000000020"
    "ffda0008010100063f021fffc4001810010003010000000000000000000000000001213161ffda000801"
    "0100013f21e6a711429fffda000c030100020003000000103fffc4001411010000000000000000000000"
    "0000000000ffda0008010301013f1067ffc4001511010100000000000000000000000000000011ffda00"
    "08010201013f10a5ffc4001810000301010000000000000000000000000001211131ffda000801010001"
    "3f10e021089108cc47ffd9");
const std::string inks_jpeg = bytes_of_hex(
    "ffd8ffee000e41646f626500640000000000ffdb004300100b0c0e0c0a100e0d0e1211101318281a1816"
    "16183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c"
    "656763ffc0001408000a000c044311004d11005911004b1100ffc4001700010101010000000000000000"
    "0000000000070504ffc4002010010001000b0000000000000000000000000201040612163442526291a1"
    "ffda000e0443004d0059004b00003f00c2b3da597867878e150144a965a2619e1e027767b4a87723b68e"
    "8144a965a25c8eda3a07ffd9");

// A gray square in progressive scans: one scan with a bit per block, then scans in which all blocks
// end at once.
std::string scans_jpeg(int side, int channels, int scans) {
  const auto marker = [](char code, const std::string& data) {
    return std::string{'\xff', code, static_cast<char>((data.size() + 2) >> 8),
                       static_cast<char>(data.size() + 2)} +
           data;
  };
  const int blocks = (side + 7) / 8 * ((side + 7) / 8);
  const char high = static_cast<char>(side >> 8), low = static_cast<char>(side);
  std::string parts, listed;
  for (int c = 1; c <= channels; ++c) {
    parts += {static_cast<char>(c), '\x11', '\0'};
    listed += {static_cast<char>(c), '\0'};
  }
  const auto code = [](char table, char symbol) {
    return table + "\1"s + std::string(15, '\0') + symbol;
  };
  std::string all =
      "\xff\xd8" + marker('\xdb', '\0' + std::string(64, '\1')) +
      marker('\xc2', std::string{8, high, low, high, low, static_cast<char>(channels)} + parts) +
      marker('\xc4', code('\0', '\0')) + marker('\xc4', code('\x10', '\xe0'));
  all += marker('\xda', static_cast<char>(channels) + listed + "\0\0\0"s);
  all += std::string(static_cast<std::size_t>((blocks * channels + 7) / 8), '\0');
  std::string bits;  // runs of 2^15 - 1 blocks
  for (int run = 0; run < blocks; run += 32767) bits += "011111111111111";
  while (bits.size() % 8) bits += '1';
  std::string empty;
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    empty += static_cast<char>(std::stoi(bits.substr(i, 8), nullptr, 2));
    if (empty.back() == '\xff') empty += '\0';
  }
  for (int i = 1; i < scans; ++i) all += marker('\xda', "\1\1\0\1\x3f\0"s) + empty;
  return all + "\xff\xd9";
}

const PngFile small_png{2, 2, 8, 2, "\1\2\3\4\5\6\7\x08\x09\xff\xfe\xfd"s};

}  // namespace

TEST_CASE("every image library reads") {
  // tests/checks/image_libraries.sh compares this output with the installed packages.
  std::printf("read:%s%s\n", reads_png() ? " PNG" : "", reads_jpeg() ? " JPEG" : "");
  CHECK(not_decoded(PngFile{1, 1, 8, 0, "\1"s}.bytes()).empty() == reads_png());
  CHECK(not_decoded(grey_jpeg).empty() == reads_jpeg());
}

TEST_CASE("PNG images of every color type are decoded to grayscale or RGB") {
  if (!reads_png()) return;
  const Dense colours = decoded(small_png.bytes());
  CHECK(colours.extents == Shape{2, 2, 3});
  CHECK(bytes_in(colours) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 254, 253});
  const Dense grey = decoded(PngFile{3, 1, 8, 0, "\0\x80\xff"s}.bytes());
  CHECK(grey.extents == Shape{1, 3, 1});
  CHECK(bytes_in(grey) == std::vector<int>{0, 128, 255});
  // Fewer bits per pixel; rows fill whole bytes.
  CHECK(bytes_in(decoded(PngFile{5, 2, 1, 0, "\xa8\x50"s}.bytes())) ==
        std::vector<int>{255, 0, 255, 0, 255, 0, 255, 0, 255, 0});
  CHECK(bytes_in(decoded(PngFile{3, 1, 2, 0, "\x1b"s}.bytes())) == std::vector<int>{0, 85, 170});
  CHECK(bytes_in(decoded(PngFile{2, 1, 4, 0, "\x1f"s}.bytes())) == std::vector<int>{17, 255});
  // Only the upper bytes of 16-bit samples are read.
  CHECK(bytes_in(decoded(PngFile{2, 1, 16, 0, "\x12\xff\xab\0"s}.bytes())) ==
        std::vector<int>{0x12, 0xab});
  CHECK(bytes_in(decoded(PngFile{1, 1, 16, 6, "\1\xff\2\xff\3\xff\0\0"s}.bytes())) ==
        std::vector<int>{1, 2, 3});
  // Alpha is dropped.
  CHECK(bytes_in(decoded(PngFile{2, 1, 8, 4, "\7\0\x08\xff"s}.bytes())) == std::vector<int>{7, 8});
  CHECK(bytes_in(decoded(PngFile{1, 1, 8, 6, "\1\2\3\0"s}.bytes())) == std::vector<int>{1, 2, 3});
  const std::string colour_0_is_clear = png_chunk("tRNS", "\0"s);
  CHECK(bytes_in(decoded(PngFile{3, 1, 2, 3, "\x18"s,
                                 png_chunk("PLTE", "\1\2\3\4\5\6\7\x08\x09"s) + colour_0_is_clear}
                             .bytes())) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(bytes_in(
            decoded(PngFile{1, 1, 8, 2, "\1\2\3"s, png_chunk("tRNS", "\0\1\0\2\0\3"s)}.bytes())) ==
        std::vector<int>{1, 2, 3});
  CHECK(bytes_in(decoded(PngFile{1, 1, 8, 0, "\1"s, png_chunk("tRNS", "\0\1"s)}.bytes())) ==
        std::vector<int>{1});
}

TEST_CASE("an interlaced PNG image is decoded") {
  if (!reads_png()) return;
  // Interlacing of 3 x 3 pixels: pass 1 has (0, 0); passes 2 and 3 are empty; 4 has row 0, column
  // 2; 5 has row 2, columns 0 and 2; 6 has column 1 of rows 0 and 2; 7 has row 1.
  const PngFile file{3,  3,   8, 0, "\0\1"s + "\0\3"s + "\0\7\x09"s + "\0\2\0\x08"s + "\0\4\5\6"s,
                     "", true};
  CHECK(bytes_in(decoded(file.bytes())) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("decoded JPEG pixels match Pillow's") {
  if (!reads_jpeg()) return;
  const Dense grey = decoded(grey_jpeg);
  CHECK(grey.extents == Shape{6, 9, 1});
  CHECK(pixel(grey, 1, 1) == std::vector<int>{33});
  CHECK(pixel(grey, 2, 3) == std::vector<int>{87});
  CHECK(sum_in(grey) == 5990);
  for (const std::string& file : {colour_jpeg, progressive_jpeg}) {
    const Dense colours = decoded(file);
    CHECK(colours.extents == Shape{10, 12, 3});
    CHECK(pixel(colours, 0, 0) == std::vector<int>{3, 4, 87});
    CHECK(pixel(colours, 2, 3) == std::vector<int>{61, 52, 107});
    CHECK(pixel(colours, 9, 11) == std::vector<int>{215, 219, 109});
    CHECK(sum_in(colours) == 38669);
  }
  const Dense inks = decoded(inks_jpeg);
  CHECK(inks.extents == Shape{10, 12, 3});
  CHECK(pixel(inks, 1, 1) == std::vector<int>{18, 27, 100});
  CHECK(pixel(inks, 9, 11) == std::vector<int>{219, 222, 100});
  CHECK(sum_in(inks) == 38786);
}

TEST_CASE("PNG and JPEG images truncated at any byte are rejected") {
  if (!reads_png() || !reads_jpeg()) return;
  const std::string png = small_png.bytes();
  bool are_refused = true;
  for (std::size_t n = 8; n < png.size(); ++n)
    are_refused &= has(not_decoded(png.substr(0, n)), "damaged PNG image: ");
  for (const std::string& file : {grey_jpeg, colour_jpeg, progressive_jpeg, inks_jpeg})
    for (std::size_t n = 3; n < file.size(); ++n)
      are_refused &= has(not_decoded(file.substr(0, n)), "damaged JPEG image: ");
  CHECK(held(111, are_refused));
  CHECK(not_decoded(png.substr(0, 40)) == "damaged PNG image: truncated");
  CHECK(not_decoded(grey_jpeg.substr(0, 170)) == "damaged JPEG image: Premature end of JPEG file");
}

TEST_CASE("a PNG image with any byte changed is rejected, and a changed JPEG does not crash") {
  if (!reads_png() || !reads_jpeg()) return;
  // Checksums cover every byte of a PNG image except the signature.
  const std::string png = small_png.bytes();
  for (std::size_t i = 0; i < png.size(); ++i) {
    std::string bad = png;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    CAPTURE(i);
    CHECK_FALSE(not_decoded(bad).empty());
  }
  for (const std::string& file : {grey_jpeg, progressive_jpeg, inks_jpeg})
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::string bad = file;
      bad[i] = static_cast<char>(bad[i] ^ 0x55);
      CHECK_NOTHROW(not_decoded(bad, {.pixels = 1 << 16}));
    }
}

TEST_CASE("images that claim more pixels than the limit or the file size allows are rejected") {
  if (!reads_png() || !reads_jpeg()) return;
  const auto png = [](std::uint32_t side) {
    PngFile claims = small_png;
    claims.width = claims.height = side;
    return claims.header() + small_png.bytes().substr(small_png.header().size());
  };
  CHECK(not_decoded(png(1 << 30)).starts_with("damaged PNG image: "));  // libpng's own limit
  CHECK(held(112, not_decoded(png(100000)) == "100000 x 100000 pixels are more than 67108864"));
  CHECK(held(112, not_decoded(png(8000)) == "8000 x 8000 pixels do not fit 82 bytes"));
  std::string jpeg = grey_jpeg;
  const std::size_t size = jpeg.find("\xff\xc0") + 5;
  jpeg.replace(size, 4, "\x1f\x00\x1f\x00"s);
  CHECK(not_decoded(jpeg) == "7936 x 7936 pixels do not fit 177 bytes");
  jpeg.replace(size, 4, "\xff\xdc\xff\xdc"s);
  CHECK(not_decoded(jpeg) == "65500 x 65500 pixels are more than 67108864");
  CHECK(not_decoded(small_png.bytes(), {.pixels = 3}) == "2 x 2 pixels are more than 3");
}

TEST_CASE("JPEG scans and decoding memory are limited, and damaged PNG text is ignored") {
  if (!reads_png() || !reads_jpeg()) return;
  CHECK(not_decoded(scans_jpeg(1024, 1, 900)) == "");
  CHECK(not_decoded(scans_jpeg(4096, 1, 12)) == "");
  CHECK(not_decoded(scans_jpeg(4096, 1, 70)) ==
        "damaged JPEG image: more than 64 scans of 4096 x 4096 pixels");
  Index taken = 0;
  const ImageLimits limits{.pixels = 1 << 16, .before_decoding = [&](Index n) { taken += n; }};
  CHECK(not_decoded(scans_jpeg(240, 1, 2), limits) == "");
  CHECK(taken == 240 * 240 * 3);
  CHECK(not_decoded(scans_jpeg(240, 3, 2), limits) ==
        "decoding needs 518 kB, too much for a file of 501 bytes");
  CHECK(taken == 240 * 240 * 3);
  // A damaged text chunk is not read.
  PngFile text = small_png;
  text.more = png_chunk("zTXt", "key\0\0 no deflated text"s);
  CHECK(bytes_in(decoded(text.bytes())) == bytes_in(decoded(small_png.bytes())));
}

TEST_CASE("files that are not PNG or JPEG are rejected by their detected format") {
  const struct {
    std::string file, message;
  } cases[] = {
      {"abc", "not a PNG or JPEG image"},
      {"GIF89a"s, "expected a PNG or JPEG image, got a GIF image"},
      {"BM\1\2"s, "expected a PNG or JPEG image, got a BMP image"},
      {"RIFF\1\2\3\4WEBPVP8 "s, "expected a PNG or JPEG image, got a WebP image"},
      {"<html>",
       "expected a PNG or JPEG image, got an HTML or XML page, such as a failed download leaves"},
  };
  for (const auto& c : cases) CHECK(not_decoded(c.file) == c.message);
  const TempDir dir;
  CHECK(error_of([&] { read_image(dir.write("x.png", "")); }) ==
        dir / "x.png" + ": the file is empty");
  CHECK(has(error_of([&] { read_image(dir / "none.png"); }), "none.png"));
}

TEST_CASE("RGB converts to grayscale as in Pillow, and grayscale to RGB") {
  const Dense grey = with_channels(
      [] {
        Dense colours = Dense::zeros(DType::U8, {1, 3, 3});
        const int v[]{10, 20, 30, 200, 100, 50, 0, 255, 7};
        std::copy(std::begin(v), std::end(v), colours.values.mutate<std::uint8_t>().begin());
        return colours;
      }(),
      1);
  CHECK(grey.extents == Shape{1, 3, 1});
  CHECK(bytes_in(grey) == std::vector<int>{18, 124, 150});  // as Pillow
  CHECK(bytes_in(with_channels(grey, 3)) ==
        std::vector<int>{18, 18, 18, 124, 124, 124, 150, 150, 150});
}
