#include "libsten/io/npy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "libsten/base/error.h"
#include "libsten/io/safetensors.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

std::string blanks(std::size_t n) { return std::string(n, ' '); }

NpyHeader parse(const std::string& file) { return parse_npy(as_bytes(file), "in.npy"); }

// The message, or "" where the file is accepted.
std::string refusal(const std::string& file) {
  const std::string message = error_of([&] { parse(file); });
  if (!message.empty()) CHECK(fault_of([&] { parse(file); }) == Fault::input);
  return message;
}

// A file with this text as its header, unpadded.
std::string npy(std::string_view dict, std::string_view data = "", int major = 1) {
  std::string file = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dict.size() >> 8 * i & 0xff);
  return file.append(dict).append(data);
}
std::string dict(std::string_view descr, std::string_view order, std::string_view shape) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}
std::string padded(std::string text, std::size_t size) {
  text.resize(size, ' ');
  return text;
}
std::string of_dtype(std::string_view descr, std::string_view data = "") {
  return npy(dict(descr, "False", "(1,)"), data);
}
std::string of_shape(std::string_view shape, std::string_view data = "") {
  return npy(dict("'|u1'", "False", shape), data);
}

struct Case {
  std::string file, message;
};
void check_refused(const std::vector<Case>& cases) {
  for (const Case& c : cases) CHECK(refusal(c.file) == "in.npy: " + c.message);
}

// What numpy.save of NumPy 2.4 wrote.
struct Written {
  std::string header, data;
  DType dtype;
  Shape shape;
};
const std::vector<Written>& row_major_files() {
  static const std::vector<Written> all = {
      {"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"s +
           blanks(58) + "\n",  // [[1, -2, 3], [0.5, 0, -0.0]]
       "\0\0\x80?\0\0\0\xc0\0\0@@\0\0\0?\0\0\0\0\0\0\0\x80"s,
       DType::F32,
       {2, 3}},
      {"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (), }"s +
           blanks(62) + "\n",
       "\0\0\0\0\0\0\xf8?"s,  // 1.5
       DType::F64,
       {}},
      {"\x93NUMPY\x01\x00v\x00{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"s +
           blanks(60) + "\n",
       "\1\0\1"s,
       DType::BOOL,
       {3}},
      {"\x93NUMPY\x01\x00v\x00{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"s +
           blanks(60) + "\n",
       "\0\0\x80?\0\0\0@"s,  // 1+2j
       DType::C64,
       {1}},
      {"\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (0, 4), }"s +
           blanks(58) + "\n",
       "",
       DType::U64,
       {0, 4}},
      {"\x93NUMPY\x01\x00\xb6\x00{'descr': '|u1', 'fortran_order': False, 'shape': "
       "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
       "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }"s +
           blanks(32) + "\n",
       "\7", DType::U8, Shape(32, 1)},
      // One blank more than none, and 64 where none were needed.
      {"\x93NUMPY\x01\x00v\x00{'descr': '|i1', 'fortran_order': False, 'shape': "
       "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10), }"s +
           blanks(21) + "\n",
       "0123456789",
       DType::I8,
       {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10}},
      {"\x93NUMPY\x01\x00\xb6\x00{'descr': '|u1', 'fortran_order': False, 'shape': "
       "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100), }"s +
           blanks(84) + "\n",
       std::string(100, 'x'),
       DType::U8,
       {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}},
  };
  return all;
}

// Where element i of the order in which the first index varies fastest lies in row-major order.
Index row_major_offset(const Shape& shape, Index i) {
  Index offset = 0;
  for (const Index extent : shape) {
    offset = offset * extent + i % extent;
    i /= extent;
  }
  return offset;
}

// Writes an array as a file and reads it back.
void check_written(DType dtype, const Shape& shape) {
  const std::string header = npy_header(dtype, shape);
  CHECK(header.size() % 64 == 0);
  CHECK(header.back() == '\n');
  const NpyHeader h = parse(header + std::string(size_of(shape) * width_of(dtype), 'x'));
  CHECK(h.dtype == dtype);
  CHECK(h.shape == shape);
  CHECK_FALSE(h.fortran_order);
  CHECK(h.data_offset == header.size());
}

const std::vector<DType> npy_dtypes{DType::F64, DType::F32, DType::F16, DType::BOOL, DType::U8,
                                    DType::I8,  DType::U16, DType::I16, DType::U32,  DType::I32,
                                    DType::U64, DType::I64, DType::C64};

}  // namespace

TEST_CASE("files that NumPy wrote are read, and written byte for byte") {
  for (const Written& w : row_major_files()) {
    CAPTURE(w.header);
    CHECK(is_npy(as_bytes(w.header)));
    const NpyHeader h = parse(w.header + w.data);
    CHECK(h.dtype == w.dtype);
    CHECK(h.shape == w.shape);
    CHECK_FALSE(h.fortran_order);
    CHECK(h.data_offset == w.header.size());
    CHECK(npy_header(w.dtype, w.shape) == w.header);
  }
}

TEST_CASE("an array that NumPy wrote in Fortran order becomes row-major") {
  const std::string file =
      "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }"s +
      blanks(59) + "\n" + "\1\0\4\0\2\0\5\0\3\0\6\0"s;  // [[1, 2, 3], [4, 5, 6]]
  const NpyHeader h = parse(file);
  CHECK(h.fortran_order);
  CHECK(h.shape == Shape{2, 3});
  Values stored(h.dtype, size_of(h.shape));
  std::memcpy(stored.mutate<std::uint16_t>().data(), file.data() + h.data_offset, 12);
  const Values row_major = to_row_major(stored, h.shape);
  for (int i = 0; i < 6; ++i) CHECK(row_major.as<std::uint16_t>()[i] == i + 1);
}

TEST_CASE("headers of versions 2.0 and 3.0 have a longer length") {
  for (const char* version : {"\x02", "\x03"}) {
    const std::string file = "\x93NUMPY"s + version + "\0t\0\0\0"s +
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }" +
                             blanks(58) + "\n" + "\1\0\0\0\2\0\0\0"s;
    const NpyHeader h = parse(file);
    CHECK(h.dtype == DType::I32);
    CHECK(h.shape == Shape{2});
    CHECK(h.data_offset == 128);
  }
}

TEST_CASE("every dtype and many shapes are read as they were written") {
  const std::vector<Shape> shapes{{}, {0}, {1}, {7}, {3, 5}, {2, 0, 3}, {5, 4, 3, 2}, {100, 1000}};
  for (const DType dtype : npy_dtypes)
    for (const Shape& shape : shapes) check_written(dtype, shape);
  Shape shape;
  for (std::size_t rank = 0; rank <= max_rank; ++rank, shape.push_back(1))
    for (Index last = 1; last <= 10'000'000; last *= 10) {
      Shape s = shape;
      if (!s.empty()) s.back() = last;
      check_written(DType::BOOL, s);
    }
  // the largest extent that there is, in front of no elements
  check_written(DType::U8, {Index{1} << 59, 0});
}

TEST_CASE("the 16-bit and 8-bit floats without a NumPy dtype are not written") {
  for (int t = 0; t <= static_cast<int>(DType::U64); ++t) {
    const auto dtype = static_cast<DType>(t);
    if (std::find(npy_dtypes.begin(), npy_dtypes.end(), dtype) != npy_dtypes.end()) continue;
    const auto write = [&] { npy_header(dtype, {2}); };
    CHECK(error_of(write) == std::string(name_of(dtype)) +
                                 " cannot be written as .npy, which has no such type;"
                                 " safetensors has");
    CHECK(fault_of(write) == Fault::usage);
  }
}

TEST_CASE("a shape that no file can have is not written") {
  CHECK_THROWS_AS(npy_header(DType::U8, {-1}), Error);
  CHECK_THROWS_AS(npy_header(DType::U8, {Index{1} << 40, Index{1} << 40}), Error);
  CHECK_THROWS_AS(npy_header(DType::U8, Shape(33, 1)), Error);
}

TEST_CASE("what is unusual in a header but right is accepted") {
  const std::vector<std::string> files = {
      npy("{'descr':'|u1','fortran_order':False,'shape':(3,)}", "123"),
      npy(R"({"shape": (3,), "fortran_order": False, "descr": "|u1"})", "123"),
      npy("\n{ 'fortran_order'\t:\r\nFalse , 'shape' : ( 3 , ) ,\f'descr' : '|u1' , } \n \n",
          "123"),
      of_shape("(3L,)", "123"),
      of_shape("(1, 3,)", "123"),
      of_shape("(1L, 3L)", "123"),
      of_dtype("'<u1'", "1"),
      of_dtype("'>i1'", "1"),
      of_dtype("'=b1'", "1"),
      of_dtype("'=f4'", "1234"),
      npy(dict("'<f2'", "True", "()"), "12"),
      npy(dict("'<f2'", "True", "(0, 5)")),
      npy(padded(dict("'<f2'", "False", "(1,)"), 10'000), "12"),
      npy(dict("'<f2'", "False", "(1,)"), "12", 2),
      npy(dict("'<f2'", "False", "(1,)"), "12", 3),
  };
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(refusal(file) == "");
  }
}

TEST_CASE("a file that is not .npy is refused and said what it is") {
  const std::string good = of_shape("(4,)", "data");
  CHECK_FALSE(is_npy(as_bytes("")));
  CHECK_FALSE(is_npy(as_bytes("\x93NUMP")));
  CHECK_FALSE(is_npy(as_bytes(safetensors_bytes("{}"))));
  check_refused({
      {"", "is empty"},
      {"\x93NUMP", "is not a .npy file"},
      {"1,2,3\n", "is not a .npy file"},
      {safetensors_bytes("{}"), "is not a .npy file"},
      {"PK\x03\x04....", "is a zip archive, such as a PyTorch checkpoint, not a .npy file"},
      {"<html>", "is an HTML or XML page, such as a failed download leaves, not a .npy file"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "is a Git LFS pointer that stands for the file (`git lfs pull` fetches it), not a .npy"
       " file"},
      {"\x93NUMPY", "has 6 bytes, too few for a .npy file; is it truncated?"},
      {"\x93NUMPY\x01", "has 7 bytes, too few for a .npy file; is it truncated?"},
      {"\x93NUMPY\x01\0v"s, "has 9 bytes, too few for a .npy file; is it truncated?"},
      {"\x93NUMPY\x02\0vvv"s, "has 11 bytes, too few for a .npy file; is it truncated?"},
      {npy("{}", "", 0), "version 0.0 of the format is not known"},
      {npy("{}", "", 4), "version 4.0 of the format is not known"},
      {"\x93NUMPY\x01\x01v\0"s, "version 1.1 of the format is not known"},
      {"\x93NUMPY\x01\0\x10\x27{}"s,
       "header length is 10000 bytes, only 2 follow; is the file truncated?"},
      {"\x93NUMPY\x01\0\x11\x27{}"s, "header length is 10001 bytes, the limit is 10000"},
      {npy(padded(dict("'<f2'", "False", "(1,)"), 10'001), "12"),
       "header length is 10001 bytes, the limit is 10000"},
      {"\x93NUMPY\x02\0\xff\xff\xff\xff{}"s,
       "header length is 4294967295 bytes, the limit is 10000"},
      {good.substr(0, good.size() - 5),
       "header length is 57 bytes, only 56 follow; is the file truncated?"},
  });
  CHECK(error_of([] { parse_npy(as_bytes("x"), "a\nb.npy"); }) == "a\\nb.npy: is not a .npy file");
}

TEST_CASE("elements that are not numbers with a known type are refused by name") {
  const auto type = [](std::string_view descr) { return of_dtype(fmt::format("'{}'", descr)); };
  const std::string lost =
      "names no type: .npy loses that of ml_dtypes' bfloat16 and float8, safetensors keeps it";
  check_refused({
      {type(">f4"), "dtype '>f4' is big-endian; save it as little-endian, x.astype('<f4')"},
      {type(">i8"), "dtype '>i8' is big-endian; save it as little-endian, x.astype('<i8')"},
      {type(">c8"), "dtype '>c8' is big-endian; save it as little-endian, x.astype('<c8')"},
      {type("<V2"), "dtype '<V2' " + lost},
      {type("|V1"), "dtype '|V1' " + lost},
      {type("<f1"), "dtype '<f1' " + lost},
      {type("|O"), "dtype '|O' holds Python objects, not numbers"},
      {type("<U2"), "dtype '<U2' holds strings, not numbers"},
      {type("|S10"), "dtype '|S10' holds strings, not numbers"},
      {type("<M8[ns]"), "dtype '<M8[ns]' holds times, not numbers"},
      {type("<m8[D]"), "dtype '<m8[D]' holds times, not numbers"},
      {type("<f16"), "dtype '<f16' is not known"},
      {type("<c16"), "dtype '<c16' is not known"},
      {type("<f3"), "dtype '<f3' is not known"},
      {type("f4"), "dtype 'f4' is not known"},
      {type(""), "dtype '' is not known"},
      {type("<"), "dtype '<' is not known"},
      {type("|f4"), "dtype '|f4' has no byte order"},
      {type("xf4"), "dtype 'xf4' has no byte order"},
      {type("xu1"), "dtype 'xu1' has no byte order"},
      {type("<f4 "), "dtype '<f4 ' is not known"},
      {type("\x1b[31m"), "dtype '\\x1b[31m' is not known"},
      {of_dtype("[('a', '<f4')]"), "elements are structures, not numbers"},
  });
}

TEST_CASE("a header that is not NumPy's dict is refused") {
  const auto syntax = [](std::string_view wanted, int byte, std::string_view got) {
    return fmt::format(
        "header is not a dict as NumPy writes it: expected {} at byte {} of the file, got {}",
        wanted, byte, got);
  };
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  const std::string two = "{'descr': '|u1', 'fortran_order': False";
  check_refused({
      {npy(""), syntax("'{'", 10, "the end")},
      {npy("[]"), syntax("'{'", 10, "'[]'")},
      {npy("  (1,)", "", 3), syntax("'{'", 14, "'(1,)'")},
      {npy("{"), syntax("a key in quotes", 11, "the end")},
      {npy("{descr: '|u1'}"), syntax("a key in quotes", 11, "'descr: '|u'")},
      {npy("{u'descr': '|u1'}"), syntax("a key in quotes", 11, "'u'descr': '")},
      {npy("{'descr"), syntax("a string that ends", 11, "''descr'")},
      {npy("{'descr\": '|u1'"), syntax("':'", 21, "'|u1''")},
      {npy("{'de\\x73cr': '|u1'}"), syntax("a plain string", 11, "''de\\x73cr''")},
      {npy("{'descr' '|u1'}"), syntax("':'", 19, "''|u1'}'")},
      {npy("{'descr': '|u1' 'x', " + rest), syntax("',' or '}'", 26, "''x', 'fort'")},
      {npy("{'descr': f('|u1'), " + rest), syntax("a dtype in quotes", 20, "'f('|u1'), '")},
      {npy("{,}"), syntax("a key in quotes", 11, "',}'")},
      {npy(two + ", 'shape': (1,),, }"), syntax("a key in quotes", 65, "', }'")},
      {npy(two + ", 'shape': (1,), } x"), syntax("nothing after the dict", 68, "'x'")},
      {npy(two + ", 'shape': (1,), }\0"s), syntax("nothing after the dict", 67, "'\\x00'")},
      {npy(two + ", 'shape': (1,), } # note"), syntax("nothing after the dict", 68, "'# note'")},
      {npy(two + ", 'shape': (1,)"), syntax("',' or '}'", 64, "the end")},
      {npy(dict("'|u1'", "0", "(1,)")), syntax("True or False", 44, "'0, 'shape''")},
      {npy(dict("'|u1'", "false", "(1,)")), syntax("True or False", 44, "'false, 'sh'")},
      {npy(dict("'|u1'", "Falsey", "(1,)")), syntax("',' or '}'", 49, "'y, 'shape''")},
      {npy("{}"), "header: has no 'descr'"},
      {npy("{'descr': '|u1'}"), "header: has no 'fortran_order'"},
      {npy(two + "}"), "header: has no 'shape'"},
      {npy("{" + rest), "header: has no 'descr'"},
      {npy(two + ", 'descr': '|u1'}"), "header: 'descr' appears twice"},
      {npy(two + ", 'fortran_order': True}"), "header: 'fortran_order' appears twice"},
      {npy("{'shape': (1,), " + rest), "header: 'shape' appears twice"},
      {npy("{'color': 1, " + rest), "header: key 'color' is not known"},
      {npy("{'': 1, " + rest), "header: key '' is not known"},
      {npy("{'\x1b\xff': 1, " + rest), "header: key '\\x1b\\xff' is not known"},
  });
}

TEST_CASE("a shape that is not a tuple of extents is refused") {
  const auto syntax = [](std::string_view wanted, std::string_view got, int byte = 62) {
    return fmt::format(
        "header is not a dict as NumPy writes it: expected {} at byte {} of the file, got {}",
        wanted, byte, got);
  };
  std::string rank33 = "(";
  for (int i = 0; i < 33; ++i) rank33 += "1, ";
  check_refused({
      {of_shape("3"), syntax("'('", "'3, }'", 60)},
      {of_shape("[3]"), syntax("'('", "'[3], }'", 60)},
      {of_shape("(3)"), "header: 'shape' is a number, not a tuple"},
      {of_shape("(,)"), syntax("an integer", "',), }'", 61)},
      {of_shape("(1 2)"), syntax("',' or ')'", "'2), }'", 63)},
      {of_shape("(1,,)"), syntax("an integer", "',), }'", 63)},
      {of_shape("(-1,)"), syntax("an extent that is not negative", "'-1,), }'", 61)},
      {of_shape("(+1,)"), syntax("an integer", "'+1,), }'", 61)},
      {of_shape("(007,)"), syntax("an integer without leading zeros", "'007,), }'", 61)},
      {of_shape("(1.0,)"), syntax("',' or ')'", "'.0,), }'")},
      {of_shape("(1e3,)"), syntax("',' or ')'", "'e3,), }'")},
      {of_shape("(0x1,)"), syntax("',' or ')'", "'x1,), }'")},
      {of_shape("(1_0,)"), syntax("',' or ')'", "'_0,), }'")},
      {of_shape("(1LL,)"), syntax("',' or ')'", "'L,), }'", 63)},
      {of_shape("(True,)"), syntax("an integer", "'True,), }'", 61)},
      {of_shape("((1,),)"), syntax("an integer", "'(1,),), }'", 61)},
      {of_shape("(1"), syntax("an integer", "'}'", 64)},
      {of_shape("(9223372036854775808,)"), "an extent of the shape is above 2^63 - 1"},
      {of_shape("(" + std::string(5000, '9') + ",)"), "an extent of the shape is above 2^63 - 1"},
      {of_shape(rank33 + ")", "x"), "has more than 32 dimensions"},
  });
}

TEST_CASE("a shape that does not need the bytes that are there is refused") {
  const std::string written = row_major_files()[0].header, data = row_major_files()[0].data;
  check_refused({
      {written + data.substr(1),
       "shape [2, 3] of F32 needs 24 bytes, the file has 23 for them; is it truncated?"},
      {written, "shape [2, 3] of F32 needs 24 bytes, the file has 0 for them; is it truncated?"},
      {written + data + "x", "1 bytes follow the 24 that shape [2, 3] of F32 needs"},
      {written + data + written + data, "152 bytes follow the 24 that shape [2, 3] of F32 needs"},
      {of_shape("(0,)", "x"), "1 bytes follow the 0 that shape [0] of U8 needs"},
      {of_shape("()"), "shape [] of U8 needs 1 bytes, the file has 0 for them; is it truncated?"},
      {npy(dict("'<f8'", "False", "(1000000, 1000000)"), "12345678"),
       "shape [1000000, 1000000] of F64 needs 8000000000000 bytes, the file has 8 for them; is it"
       " truncated?"},
      // 2^32 * 2^32 wraps to 0, and so do 2^61 elements of 8 bytes
      {of_shape("(4294967296, 4294967296)"),
       "shape [4294967296, 4294967296] has more elements than 2^62"},
      {npy(dict("'<f8'", "False", "(2305843009213693952,)")),
       "shape [2305843009213693952] of F64 has more bits than 2^62"},
      {of_shape("(9007199254740993, 0, 9007199254740993)"),
       "shape [9007199254740993, 0, 9007199254740993] has more elements than 2^62"},
      {of_shape("(0, 9223372036854775807)"),
       "shape [0, 9223372036854775807] has more elements than 2^62"},
  });
}

TEST_CASE("every width and rank is transposed as the formula says") {
  const std::vector<Shape> shapes{{},           {5},          {0, 3},          {3, 0, 2},
                                  {1, 7},       {7, 1},       {2, 3},          {64, 64},
                                  {63, 65},     {3, 1000},    {1000, 3},       {17, 1, 1, 33},
                                  {2, 3, 4},    {5, 70, 3},   {1, 40, 50},     {40, 1, 50},
                                  {8, 8, 3, 3}, {3, 3, 9, 8}, {2, 1, 3, 1, 2}, {2, 2, 2, 2, 2, 2}};
  Dice dice(31);
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::C64})
    for (const Shape& shape : shapes) {
      CAPTURE(to_string(shape));
      const Dense expected = any_bits(dice, dtype, shape);
      Values stored(dtype, size_of(shape));
      for (Index i = 0; i < stored.size(); ++i)
        stored.put(i, expected.values, row_major_offset(shape, i));
      for (const int n : {1, 4}) {
        const Threads limit(n);
        CHECK(same_bits(Dense{shape, to_row_major(stored, shape)}, expected));
      }
    }
}

TEST_CASE("whatever happens to a .npy file's bytes, it is read or refused with a message") {
  const std::vector<std::string> files{
      row_major_files()[0].header + row_major_files()[0].data,
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", std::string(24, 'x')),
      npy("{'shape': (2, 3,), 'descr': '|u1', 'fortran_order': False}", "123456", 3),
  };
  constexpr std::string_view favourites = "{}[]()'\",:0129-.LFT\\u<>=|fiubcOV \n\0\xff\x80\x93"sv;
  int accepted = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Dice dice(i);
    std::string mutant = dice.one_of(files);
    for (Index edits = 1 + dice.below(3); edits > 0 && !mutant.empty(); --edits) {
      const auto at = static_cast<std::size_t>(dice.below(static_cast<Index>(mutant.size())));
      const char c = favourites[dice.below(favourites.size())];
      switch (dice.below(5)) {
        case 0:
          mutant[at] = c;
          break;
        case 1:
          mutant.insert(at, 1, c);
          break;
        case 2:
          mutant.erase(at, 1 + dice.below(4));
          break;
        case 3:
          mutant.resize(at);
          break;
        default:
          mutant[at % 12] = c;
      }
    }
    // A copy without anything behind it, where the sanitizer sees every byte read too far.
    const std::vector<char> exact(mutant.begin(), mutant.end());
    const std::string message = error_of([&] {
      const NpyHeader h = parse_npy(std::as_bytes(std::span(exact)), "in.npy");
      REQUIRE(h.shape.size() <= max_rank);
      REQUIRE(h.data_offset + byte_size(h.dtype, h.shape) == mutant.size());
      ++accepted;
    });
    REQUIRE((message.empty() || message.starts_with("in.npy: ")));
    REQUIRE(message.find('\n') == std::string::npos);
    REQUIRE(message.size() < 300);
  }
  CHECK(accepted > 100);  // blanks and data may change
}
