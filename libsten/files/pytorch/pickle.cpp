// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/pytorch/pickle.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

using ValueId = std::uint32_t;
// Python's own pickler stops at 1000.
constexpr std::size_t deepest_mark = 10'000;
constexpr ValueId unset = ~ValueId{0};

// The stack machine of a pickle.
class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, const std::string& name, std::size_t most)
      : text_(reinterpret_cast<const char*>(bytes.data()),
              std::min(bytes.size(), max_pickle_bytes)),
        name_(name),
        most_(most) {}

  Pickle read() {
    if (byte() != 0x80) bad("does not begin as pickles of protocol 2 and above do");
    if (const unsigned protocol = byte(); protocol < 2 || protocol > 5)
      bad(fmt::format("has protocol {}: expected 2 to 5", protocol));
    for (unsigned op = opcode(); op != '.'; op = opcode()) execute(op);
    if (stack_.size() != 1 || !marks_.empty()) bad("ends with something other than one value");
    out_.root = stack_.back();
    out_.size = at_;
    return std::move(out_);
  }

 private:
  [[noreturn]] void bad(std::string_view what) const {
    fail("{}: the pickle {} (at its byte {})", name_, what, op_);
  }

  std::string_view take(std::uint64_t n) {
    if (n > text_.size() - at_) bad("breaks off");
    at_ += n;
    return text_.substr(at_ - n, n);
  }
  unsigned byte() { return static_cast<unsigned char>(take(1)[0]); }
  std::uint64_t number(int bytes) {
    const std::string_view s = take(bytes);
    std::uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | static_cast<unsigned char>(s[i]);
    return v;
  }
  std::string_view line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == text_.npos) bad("breaks off");
    const std::string_view s = take(end - at_);
    take(1);
    return s;
  }

  void push(PickleValue v) {
    if (out_.values.size() >= most_) too_many();
    out_.values.push_back(std::move(v));
    push_again(static_cast<ValueId>(out_.values.size() - 1));
  }
  void push_again(ValueId id) {
    if (stack_.size() >= most_) too_many();
    stack_.push_back(id);
  }
  [[noreturn]] void too_many() const {
    bad(fmt::format("has more than {} values", max_pickle_values));
  }
  void push(PickleKind kind, std::vector<ValueId> items = {}) {
    PickleValue v;
    v.kind = kind;
    v.items = std::move(items);
    push(std::move(v));
  }
  void push_integer(std::int64_t i, PickleKind kind = PickleKind::integer) {
    PickleValue v;
    v.kind = kind;
    v.integer = i;
    push(std::move(v));
  }
  void push_text(std::string_view s) {
    PickleValue v;
    v.kind = PickleKind::text;
    v.text = s;
    push(std::move(v));
  }
  // Values below the last mark are not available.
  ValueId pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) bad("takes a missing value");
    const ValueId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<ValueId> pop_to_mark() {
    if (marks_.empty()) bad("takes values up to a missing mark");
    std::vector<ValueId> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                               stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleValue& top() {
    const ValueId id = pop();
    stack_.push_back(id);
    return out_.values[id];
  }

  void push_tuple(std::size_t n) {
    std::vector<ValueId> items(n);
    for (std::size_t i = n; i-- > 0;) items[i] = pop();
    push(PickleKind::tuple, std::move(items));
  }
  void add(PickleKind kind, const std::vector<ValueId>& items) {
    PickleValue& into = top();
    // Sets and ignored objects accept items, too.
    const bool opaque = into.kind == PickleKind::other || into.kind == PickleKind::call;
    if (into.kind != kind && !(opaque && kind == PickleKind::list))
      bad(kind == PickleKind::dict ? "sets items of a value that is not a dict"
                                   : "appends items to a value that is not a list");
    if (kind == PickleKind::dict && items.size() % 2) bad("puts a key without a value into a dict");
    if (!opaque) into.items.insert(into.items.end(), items.begin(), items.end());
  }

  void push_global(std::string_view module, std::string_view name) {
    const std::optional<KnownGlobal> known = known_global(module, name);
    if (!known)
      bad(
          fmt::format("needs {}, which is not one of the few names that tensors need; save "
                      "model.state_dict() alone",
                      quote(std::string(module) + "." + std::string(name))));
    PickleValue v;
    v.kind = PickleKind::global;
    v.global = *known;
    push(std::move(v));
  }
  void call(ValueId callable, ValueId arguments) {
    const PickleValue& f = out_.values[callable];
    if (f.kind != PickleKind::global) bad("calls a value that is not a constructor");
    if (out_.values[arguments].kind != PickleKind::tuple)
      bad("calls a constructor with arguments that are not a tuple");
    if (f.global.what == TorchGlobal::dict) return push(dict_of(arguments));
    push(PickleKind::call, {callable, arguments});
  }
  // OrderedDict() or, as Python 2 wrote it, OrderedDict([[key, value], ...]).
  PickleValue dict_of(ValueId arguments) {
    PickleValue dict;
    dict.kind = PickleKind::dict;
    const auto& given = out_.values[arguments].items;
    if (given.empty()) return dict;
    const PickleValue& pairs = out_.values[given[0]];
    // The factory of a defaultdict.
    if (given.size() == 1 && pairs.kind == PickleKind::global) return dict;
    if (given.size() != 1 || pairs.kind != PickleKind::list)
      bad("makes a dict of a value that is not a list");
    // An item of a list takes at least a byte, which bounds one copy of all lists.
    copied_ += pairs.items.size();
    if (copied_ > text_.size()) bad("makes dicts of one list again and again");
    for (const ValueId pair : pairs.items) {
      const PickleValue& p = out_.values[pair];
      if ((p.kind != PickleKind::list && p.kind != PickleKind::tuple) || p.items.size() != 2)
        bad("makes a dict of items that are not pairs");
      dict.items.insert(dict.items.end(), p.items.begin(), p.items.end());
    }
    return dict;
  }
  void remember(std::uint64_t key) {
    top();
    if (key >= max_pickle_values)
      bad(fmt::format("puts value {} into its memo, which has {}", key, max_pickle_values));
    if (key >= memo_.size()) memo_.resize(key + 1, unset);
    if (memo_[key] == unset) ++remembered_;
    memo_[key] = stack_.back();
  }
  void recall(std::uint64_t key) {
    if (key >= memo_.size() || memo_[key] == unset)
      bad(fmt::format("takes value {} of its memo, which is missing", key));
    push_again(memo_[key]);
  }
  // A two's complement integer. Integers above 64 bits are not needed for tensors.
  void push_long(std::string_view s) {
    if (s.size() > 8) return push(PickleKind::other);
    std::uint64_t v = !s.empty() && s.back() < 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = s.size(); i-- > 0;) v = v << 8 | static_cast<unsigned char>(s[i]);
    push_integer(static_cast<std::int64_t>(v));
  }

  unsigned opcode() {
    op_ = at_;
    return byte();
  }
  void execute(unsigned op);

  const std::string_view text_;
  const std::string& name_;
  const std::size_t most_;
  std::size_t at_ = 0, op_ = 0;
  Pickle out_;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<ValueId> memo_;
  std::size_t remembered_ = 0, copied_ = 0;  // values of the memo; items of lists made dicts
};

// Letters are the opcodes themselves.
void PickleReader::execute(unsigned op) {
  switch (op) {
    case 0x80:  // PROTO
      return void(byte());
    case 0x95:  // FRAME
      return void(number(8));
    case '(':
      if (marks_.size() == deepest_mark) bad(fmt::format("nests deeper than {}", deepest_mark));
      return marks_.push_back(stack_.size());
    case 'N':
      return push(PickleKind::none);
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push_integer(op == 0x88, PickleKind::boolean);
    case 'K':
      return push_integer(static_cast<std::int64_t>(number(1)));
    case 'M':
      return push_integer(static_cast<std::int64_t>(number(2)));
    case 'J':
      return push_integer(static_cast<std::int32_t>(number(4)));
    case 0x8a:  // LONG1
      return push_long(take(number(1)));
    case 0x8b:  // LONG4
      return push_long(take(number(4)));
    case 'G':
      take(8);
      return push(PickleKind::other);
    case 'X':
      return push_text(take(number(4)));
    case 0x8c:  // SHORT_BINUNICODE
      return push_text(take(number(1)));
    case 0x8d:  // BINUNICODE8
      return push_text(take(number(8)));
    case 'U':  // strings of Python 2
      return push_text(take(number(1)));
    case 'T':
      return push_text(take(number(4)));
    case 'C':  // bytes
    case 'B':
    case 0x8e:
    case 0x96:
      take(number(op == 'C' ? 1 : op == 'B' ? 4 : 8));
      return push(PickleKind::other);
    case ')':
      return push(PickleKind::tuple);
    case 't':
      return push(PickleKind::tuple, pop_to_mark());
    case 0x85:  // TUPLE1 to TUPLE3
    case 0x86:
    case 0x87:
      return push_tuple(op - 0x84);
    case ']':
      return push(PickleKind::list);
    case 'l':
      return push(PickleKind::list, pop_to_mark());
    case 'a':
      return add(PickleKind::list, {pop()});
    case 'e':
    case 0x90:  // ADDITEMS
      return add(PickleKind::list, pop_to_mark());
    case 0x8f:  // EMPTY_SET
      return push(PickleKind::other);
    case 0x91:  // FROZENSET
      pop_to_mark();
      return push(PickleKind::other);
    case '}':
      return push(PickleKind::dict);
    case 'd': {
      std::vector<ValueId> items = pop_to_mark();
      push(PickleKind::dict);
      return add(PickleKind::dict, items);
    }
    case 's': {
      const ValueId value = pop(), key = pop();
      return add(PickleKind::dict, {key, value});
    }
    case 'u':
      return add(PickleKind::dict, pop_to_mark());
    case 'q':
      return remember(number(1));
    case 'r':
      return remember(number(4));
    case 0x94:  // MEMOIZE
      return remember(remembered_);
    case 'h':
      return recall(number(1));
    case 'j':
      return recall(number(4));
    case 'c': {
      const std::string_view module = line();
      return push_global(module, line());
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleValue &name = out_.values[pop()], &module = out_.values[pop()];
      if (name.kind != PickleKind::text || module.kind != PickleKind::text)
        bad("names a global by a value that is not a text");
      return push_global(module.text, name.text);
    }
    case 'R':
    case 0x81: {  // NEWOBJ
      const ValueId arguments = pop();
      return call(pop(), arguments);
    }
    case 'b':  // attributes, such as a state dict's _metadata
      pop();
      if (const PickleKind kind = top().kind; kind != PickleKind::dict && kind != PickleKind::call)
        bad("gives attributes to a value without attributes");
      return;
    case 'Q':
      return push(PickleKind::persistent, {pop()});
    default:
      bad(fmt::format("has opcode {:#04x}, which no file of tensors needs", op));
  }
}

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name, std::size_t most) {
  return PickleReader(bytes, name, most).read();
}

}  // namespace sten
