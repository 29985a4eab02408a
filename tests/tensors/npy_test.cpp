// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/npy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/files/tensors/row_major.h"
#include "libsten/files/tensors/safetensors.h"
#include "tests/support/npy_files.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

std::string blanks(std::size_t n) { return std::string(n, ' '); }

NpyHeader parse(const std::string& file) { return parse_npy(as_bytes(file), "in.npy"); }

// Files written by numpy.save of NumPy 2.4.
struct NumpyFile {
  std::string header, data;
  DType dtype;
  Shape shape;
};
const std::vector<NumpyFile>& row_major_files() {
  static const std::vector<NumpyFile> all = {
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
      // One blank more than necessary, and 64 blanks where none are necessary.
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

// The row-major offset of element i in the order in which the first index varies fastest.
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

TEST_CASE("headers written by NumPy are read and reproduced byte for byte") {
  for (const NumpyFile& w : row_major_files()) {
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

TEST_CASE("a NumPy array in Fortran order is converted to row-major order") {
  const std::string file =
      "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }"s +
      blanks(59) + "\n" + "\1\0\4\0\2\0\5\0\3\0\6\0"s;  // [[1, 2, 3], [4, 5, 6]]
  const NpyHeader h = parse(file);
  CHECK(h.fortran_order);
  CHECK(h.shape == Shape{2, 3});
  Values stored(h.dtype, size_of(h.shape));
  std::memcpy(stored.mutate<std::uint16_t>().data(), file.data() + h.data_offset, 12);
  const Values transposed = row_major(stored, h.shape, column_major(h.shape));
  for (int i = 0; i < 6; ++i) CHECK(transposed.as<std::uint16_t>()[i] == i + 1);
}

TEST_CASE(".npy versions 2.0 and 3.0 with 4-byte header lengths are read") {
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

TEST_CASE(".npy headers of every NumPy dtype and many shapes survive a round trip") {
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
  // the largest possible extent of an empty array
  check_written(DType::U8, {Index{1} << 59, 0});
}

TEST_CASE("writing .npy rejects dtypes that NumPy does not have") {
  for (int t = 0; t <= static_cast<int>(DType::U64); ++t) {
    const auto dtype = static_cast<DType>(t);
    if (std::find(npy_dtypes.begin(), npy_dtypes.end(), dtype) != npy_dtypes.end()) continue;
    const auto write = [&] { npy_header(dtype, {2}); };
    CHECK(error_of(write) == std::string(name_of(dtype)) +
                                 " cannot be written as .npy (write a"
                                 " .safetensors file)");
    CHECK(fault_of(write) == Fault::usage);
  }
}

TEST_CASE("writing .npy rejects negative extents, too many elements and rank 33") {
  CHECK_THROWS_AS(npy_header(DType::U8, {-1}), Error);
  CHECK_THROWS_AS(npy_header(DType::U8, {Index{1} << 40, Index{1} << 40}), Error);
  CHECK_THROWS_AS(npy_header(DType::U8, Shape(33, 1)), Error);
}

TEST_CASE("unusual but valid .npy headers are accepted") {
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
    CHECK(npy_error(file) == "");
  }
}

TEST_CASE("column-major to row-major conversion matches the reference at every element width") {
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
        CHECK(same_bits(Dense{shape, row_major(stored, shape, column_major(shape))}, expected));
      }
    }
}
