// Python pickles as torch.save() writes them, read as data: nothing is ever called.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/io/pytorch/globals.h"

namespace sten {

// What a value of a pickle is. `call` is what a constructor was given, [callable, arguments].
enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  text,
  tuple,
  list,
  dict,
  global,
  call,
  persistent,
  other
};

struct PickleValue {
  PickleKind kind = PickleKind::other;
  KnownGlobal global = {};           // of a global
  std::int64_t integer = 0;          // of a boolean too
  std::string_view text;             // of a text
  std::vector<std::uint32_t> items;  // numbers of values; of a dict: key, value, key, value, ...
};

struct Pickle {
  std::deque<PickleValue> values;
  std::uint32_t root = 0;
  std::size_t size = 0;  // bytes that it takes, its end included

  const PickleValue& operator[](std::uint32_t i) const { return values[i]; }
};

// State dicts of 100,000 tensors stay below both.
inline constexpr std::size_t max_pickle_bytes = 64'000'000, max_pickle_values = 3'000'000;

// Reads the pickle at the beginning of `bytes`, protocols 2 to 5, with the opcodes that containers,
// numbers, texts and tensors need (Python's Lib/pickletools.py). Texts borrow from `bytes`. `name`
// begins messages. Time and memory are linear in the size of `bytes`. Error for any other opcode, for
// stack and memo misused, for items put into what takes none, for globals that known_global() does not
// have, for more than `most` values, and for lists that become a dict again and again.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name,
                   std::size_t most = max_pickle_values);

}  // namespace sten
