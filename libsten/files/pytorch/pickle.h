// SPDX-License-Identifier: Apache-2.0
// Reader of Python pickles written by torch.save(), as data: never calls anything.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/files/pytorch/globals.h"

namespace sten {

// The kind of a value. `call`: the call of a constructor, [callable, arguments].
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
  std::int64_t integer = 0;          // of an integer or a boolean
  std::string_view text;             // of a text
  std::vector<std::uint32_t> items;  // indices of values; of a dict: key, value, key, value, ...
};

struct Pickle {
  std::deque<PickleValue> values;
  std::uint32_t root = 0;
  std::size_t size = 0;  // bytes of the pickle, including its end

  const PickleValue& operator[](std::uint32_t i) const { return values[i]; }
};

// State dicts of 100,000 tensors are below both limits.
inline constexpr std::size_t max_pickle_bytes = 64'000'000, max_pickle_values = 3'000'000;

// Reads the pickle at the start of `bytes`, protocols 2 to 5, with the opcodes for containers,
// numbers, texts and tensors (Python's Lib/pickletools.py). Texts borrow from `bytes`. `name`
// starts messages. Time and memory are linear in the size of `bytes`. Error for other opcodes;
// misuse of stack and memo; items added to a value that takes none; globals unknown to
// known_global(); more than `most` values; and lists that are converted to dicts repeatedly.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name,
                   std::size_t most = max_pickle_values);

}  // namespace sten
