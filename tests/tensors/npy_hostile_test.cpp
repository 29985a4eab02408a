// SPDX-License-Identifier: Apache-2.0
// Invalid and damaged .npy files.
#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/safetensors.h"
#include "tests/support/bad_input.h"
#include "tests/support/npy_files.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

void check_npy_refused(const std::vector<BadInput>& cases) {
  for (const auto& [file, message] : cases) CHECK(npy_error(file) == "in.npy: " + message);
}

}  // namespace

TEST_CASE("files that are not .npy are rejected, and known formats are named") {
  const std::string good = of_shape("(4,)", "data");
  CHECK_FALSE(is_npy(as_bytes("")));
  CHECK_FALSE(is_npy(as_bytes("\x93NUMP")));
  CHECK_FALSE(is_npy(as_bytes(safetensors_bytes("{}"))));
  check_npy_refused({
      {"", "is empty"},
      {"\x93NUMP", "is not a .npy file"},
      {"1,2,3\n", "is not a .npy file"},
      {safetensors_bytes("{}"), "is not a .npy file"},
      {"PK\x03\x04....", "is a zip archive, such as a PyTorch checkpoint, not a .npy file"},
      {"<html>", "is an HTML or XML page, such as a failed download leaves, not a .npy file"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "is a Git LFS pointer to the file (`git lfs pull` fetches the file), not a .npy"
       " file"},
      {"\x93NUMPY", "has 6 bytes, too few for a .npy file (is the file truncated?)"},
      {"\x93NUMPY\x01", "has 7 bytes, too few for a .npy file (is the file truncated?)"},
      {"\x93NUMPY\x01\0v"s, "has 9 bytes, too few for a .npy file (is the file truncated?)"},
      {"\x93NUMPY\x02\0vvv"s, "has 11 bytes, too few for a .npy file (is the file truncated?)"},
      {npy("{}", "", 0), "unknown version 0.0 of the format"},
      {npy("{}", "", 4), "unknown version 4.0 of the format"},
      {"\x93NUMPY\x01\x01v\0"s, "unknown version 1.1 of the format"},
      {"\x93NUMPY\x01\0\x10\x27{}"s,
       "header length is 10000 bytes, only 2 follow (is the file truncated?)"},
      {"\x93NUMPY\x01\0\x11\x27{}"s, "header length: expected at most 10000 bytes, got 10001"},
      {npy(padded(dict("'<f2'", "False", "(1,)"), 10'001), "12"),
       "header length: expected at most 10000 bytes, got 10001"},
      {"\x93NUMPY\x02\0\xff\xff\xff\xff{}"s,
       "header length: expected at most 10000 bytes, got 4294967295"},
      {good.substr(0, good.size() - 5),
       "header length is 57 bytes, only 56 follow (is the file truncated?)"},
  });
  CHECK(error_of([] { parse_npy(as_bytes("x"), "a\nb.npy"); }) == "a\\nb.npy: is not a .npy file");
}

TEST_CASE("big-endian, non-numeric and unknown .npy dtypes are rejected by name") {
  const auto type = [](std::string_view descr) { return of_dtype(fmt::format("'{}'", descr)); };
  const std::string lost = "has no type (bfloat16 and float8 of ml_dtypes need safetensors)";
  check_npy_refused({
      {type(">f4"), "dtype '>f4' is big-endian (save x.astype('<f4'), little-endian)"},
      {type(">i8"), "dtype '>i8' is big-endian (save x.astype('<i8'), little-endian)"},
      {type(">c8"), "dtype '>c8' is big-endian (save x.astype('<c8'), little-endian)"},
      {type("<V2"), "dtype '<V2' " + lost},
      {type("|V1"), "dtype '|V1' " + lost},
      {type("<f1"), "dtype '<f1' " + lost},
      {type("|O"), "dtype '|O' is not numeric: expected numbers, got Python objects"},
      {type("<U2"), "dtype '<U2' is not numeric: expected numbers, got strings"},
      {type("|S10"), "dtype '|S10' is not numeric: expected numbers, got strings"},
      {type("<M8[ns]"), "dtype '<M8[ns]' is not numeric: expected numbers, got times"},
      {type("<m8[D]"), "dtype '<m8[D]' is not numeric: expected numbers, got times"},
      {type("<f16"), "dtype '<f16' is unknown"},
      {type("<c16"), "dtype '<c16' is unknown"},
      {type("<f3"), "dtype '<f3' is unknown"},
      {type("f4"), "dtype 'f4' is unknown"},
      {type(""), "dtype '' is unknown"},
      {type("<"), "dtype '<' is unknown"},
      {type("|f4"), "dtype '|f4' has no byte order"},
      {type("xf4"), "dtype 'xf4' has no byte order"},
      {type("xu1"), "dtype 'xu1' has no byte order"},
      {type("<f4 "), "dtype '<f4 ' is unknown"},
      {type("\x1b[31m"), "dtype '\\x1b[31m' is unknown"},
      {of_dtype("[('a', '<f4')]"), "expected numbers, got structures"},
  });
}

TEST_CASE(".npy headers that are not NumPy's dict are rejected") {
  const auto syntax = [](std::string_view wanted, int byte, std::string_view got) {
    return fmt::format("header: expected {} at byte {} of the file, got {}", wanted, byte, got);
  };
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  const std::string two = "{'descr': '|u1', 'fortran_order': False";
  check_npy_refused({
      {npy(""), syntax("'{'", 10, "the end")},
      {npy("[]"), syntax("'{'", 10, "'[]'")},
      {npy("  (1,)", "", 3), syntax("'{'", 14, "'(1,)'")},
      {npy("{"), syntax("a key in quotes", 11, "the end")},
      {npy("{descr: '|u1'}"), syntax("a key in quotes", 11, "'descr: '|u'")},
      {npy("{u'descr': '|u1'}"), syntax("a key in quotes", 11, "'u'descr': '")},
      {npy("{'descr"), syntax("a closing quote", 11, "''descr'")},
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
      {npy("{}"), "header: missing 'descr'"},
      {npy("{'descr': '|u1'}"), "header: missing 'fortran_order'"},
      {npy(two + "}"), "header: missing 'shape'"},
      {npy("{" + rest), "header: missing 'descr'"},
      {npy(two + ", 'descr': '|u1'}"), "header: 'descr' appears twice"},
      {npy(two + ", 'fortran_order': True}"), "header: 'fortran_order' appears twice"},
      {npy("{'shape': (1,), " + rest), "header: 'shape' appears twice"},
      {npy("{'color': 1, " + rest), "header: unknown key 'color'"},
      {npy("{'': 1, " + rest), "header: unknown key ''"},
      {npy("{'\x1b\xff': 1, " + rest), "header: unknown key '\\x1b\\xff'"},
  });
}

TEST_CASE(".npy shapes that are not a tuple of extents are rejected") {
  const auto syntax = [](std::string_view wanted, std::string_view got, int byte = 62) {
    return fmt::format("header: expected {} at byte {} of the file, got {}", wanted, byte, got);
  };
  std::string rank33 = "(";
  for (int i = 0; i < 33; ++i) rank33 += "1, ";
  check_npy_refused({
      {of_shape("3"), syntax("'('", "'3, }'", 60)},
      {of_shape("[3]"), syntax("'('", "'[3], }'", 60)},
      {of_shape("(3)"), "header: 'shape': expected a tuple, got a number"},
      {of_shape("(,)"), syntax("an integer", "',), }'", 61)},
      {of_shape("(1 2)"), syntax("',' or ')'", "'2), }'", 63)},
      {of_shape("(1,,)"), syntax("an integer", "',), }'", 63)},
      {of_shape("(-1,)"), syntax("an extent >= 0", "'-1,), }'", 61)},
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
      {of_shape("(9223372036854775808,)"), "header: 'shape': expected extents of at most 2^63 - 1"},
      {of_shape("(" + std::string(5000, '9') + ",)"),
       "header: 'shape': expected extents of at most 2^63 - 1"},
      {of_shape(rank33 + ")", "x"), "expected at most 32 dimensions"},
  });
}

TEST_CASE(".npy shapes that do not match the size of the data are rejected") {
  const std::string written = npy(padded(dict("'<f4'", "False", "(2, 3)"), 118));
  const std::string data(24, 'x');
  check_npy_refused({
      {written + data.substr(1),
       "shape [2, 3] of F32 needs 24 bytes, the file has 23 (is the file truncated?)"},
      {written, "shape [2, 3] of F32 needs 24 bytes, the file has 0 (is the file truncated?)"},
      {written + data + "x", "1 unexpected bytes follow the 24 bytes of shape [2, 3] of F32"},
      {written + data + written + data,
       "152 unexpected bytes follow the 24 bytes of shape [2, 3] of F32"},
      {of_shape("(0,)", "x"), "1 unexpected bytes follow the 0 bytes of shape [0] of U8"},
      {of_shape("()"), "shape [] of U8 needs 1 bytes, the file has 0 (is the file truncated?)"},
      {npy(dict("'<f8'", "False", "(1000000, 1000000)"), "12345678"),
       "shape [1000000, 1000000] of F64 needs 8000000000000 bytes, the file has 8 "
       "(is the file truncated?)"},
      // 2^32 * 2^32 wraps to 0, and so do 2^61 elements of 8 bytes
      {of_shape("(4294967296, 4294967296)"),
       "shape [4294967296, 4294967296]: expected at most 2^62 elements"},
      {npy(dict("'<f8'", "False", "(2305843009213693952,)")),
       "shape [2305843009213693952] of F64: expected at most 2^62 bits"},
      {of_shape("(9007199254740993, 0, 9007199254740993)"),
       "shape [9007199254740993, 0, 9007199254740993]: expected at most 2^62 elements"},
      {of_shape("(0, 9223372036854775807)"),
       "shape [0, 9223372036854775807]: expected at most 2^62 elements"},
  });
}

TEST_CASE("randomly corrupted .npy files are either read or rejected with a message") {
  const std::vector<std::string> files{
      npy(dict("'<f4'", "False", "(2, 3)"), std::string(24, 'x')),
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
    // Memory of the exact size, so that the sanitizer detects reads past the end.
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
