// SPDX-License-Identifier: Apache-2.0
// Files written by PyTorch (torch/make_files.py), and hostile variants.
#include "libsten/files/pytorch/torch_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "libsten/core/base/error.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "tests/support/bad_input.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

std::string file(const std::string& name) { return STEN_SOURCE_DIR "/tests/pytorch/torch/" + name; }

std::string contents(const std::string& name) {
  std::ifstream in(file(name), std::ios::binary);
  REQUIRE(in);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

template <class T = float>
std::vector<T> values(const Checkpoint& c, const std::string& name) {
  CAPTURE(name);
  const CheckpointTensor* t = c.find(name);
  REQUIRE(t);
  const Dense d = c.load(*t).to_dense();
  CHECK(d.shape() == t->shape);
  const auto v = d.values.as<T>();
  return {v.begin(), v.end()};
}

std::vector<float> count(int n, int from = 0) {
  std::vector<float> out;
  for (int i = from; i < from + n; ++i) out.push_back(static_cast<float>(i));
  return out;
}

std::string torch_error(const std::string& bytes) {
  return error_of([&] { read_torch_file(std::as_bytes(std::span(bytes)), "f.pt"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

// A file in the format before PyTorch 1.6: a pickled state dict with one storage "0" of `data`, or
// without a storage if `elements` is negative.
std::string old_file(const std::string& pickle, const std::string& data = std::string(16, 'x'),
                     std::int64_t elements = 4) {
  std::string out = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s +
                    "\x80\x02M\xe9\x03."s + "\x80\x02}."s + "\x80\x02" + pickle + "." +
                    "\x80\x02]"s;
  if (elements < 0) return out + ".";
  out +=
      "U\x01"
      "0a."s;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(elements >> 8 * i & 0xff);
  return out + data;
}

std::string text(const std::string& s) {
  return "U" + std::string(1, static_cast<char>(s.size())) + s;
}
std::string tuple(const std::string& items) { return "(" + items + "t"; }
std::string integer(std::int64_t n) {
  std::string s = "\x8a\x08";
  for (int i = 0; i < 8; ++i) s += static_cast<char>(n >> 8 * i & 0xff);
  return s;
}
std::string tensor(const std::string& offset, const std::string& shape, const std::string& strides,
                   const std::string& elements = "K\x04",
                   const std::string& type = "FloatStorage") {
  const std::string storage =
      tuple(text("storage") + "ctorch\n" + type + "\n" + text("0") + text("cpu") + elements + "N") +
      "Q";
  return "ctorch._utils\n_rebuild_tensor_v2\n" +
         tuple(storage + offset + tuple(shape) + tuple(strides) + "\x89" + "}") + "R";
}
std::string dict_of(const std::string& value) { return "}" + text("w") + value + "s"; }

}  // namespace

TEST_CASE("all versions of PyTorch's file format give the same tensors") {
  for (const char* name : {"state.pt", "old.pt", "protocol4.pt"}) {
    CAPTURE(name);
    const Checkpoint c = Checkpoint::open(file(name));
    CHECK(c.tensors().size() == 19);
    CHECK(c.find("plain.weight")->shape == Shape{2, 3});
    CHECK(values(c, "plain.weight") == count(6));
    CHECK(values(c, "scalar") == std::vector<float>{7});
    CHECK(c.find("scalar")->shape.empty());
    CHECK(c.find("empty")->shape == Shape{0, 4});
    CHECK(values(c, "transposed") == std::vector<float>{0, 6,  12, 18, 1, 7,  13, 19,
                                                        2, 8,  14, 20, 3, 9,  15, 21,
                                                        4, 10, 16, 22, 5, 11, 17, 23});
    CHECK(values(c, "rows") == count(12, 6));
    CHECK(values(c, "columns") == std::vector<float>{1, 2, 3, 7, 8, 9, 13, 14, 15, 19, 20, 21});
    CHECK(values(c, "channels_last") == count(24));
    CHECK(values(c, "tied.a") == count(6));
    CHECK(values(c, "tied.b") == count(6));
    CHECK(values<double>(c, "float64") == std::vector<double>{0, 1, 2, 3});
    CHECK(values<std::uint16_t>(c, "float16") ==
          std::vector<std::uint16_t>{0, 0x3c00, 0x4000, 0x4200});
    CHECK(values<std::uint16_t>(c, "bfloat16") ==
          std::vector<std::uint16_t>{0, 0x3f80, 0x4000, 0x4040});
    CHECK(values<std::uint64_t>(c, "int64") == std::vector<std::uint64_t>{0, 1, 2, 3});
    CHECK(values<std::uint8_t>(c, "bool") == std::vector<std::uint8_t>{0, 1, 1, 1});
    const std::pair<const char*, DType> types[] = {
        {"float64", DType::F64},  {"float16", DType::F16}, {"bfloat16", DType::BF16},
        {"int64", DType::I64},    {"int32", DType::I32},   {"int16", DType::I16},
        {"int8", DType::I8},      {"uint8", DType::U8},    {"bool", DType::BOOL},
        {"complex64", DType::C64}};
    for (const auto& [key, dtype] : types) CHECK(c.find(key)->dtype == dtype);
  }
}

TEST_CASE("parameters, nested dicts, new dtypes and a bare tensor are read") {
  const Checkpoint p = Checkpoint::open(file("parameters.pt"));
  CHECK(values(p, "w") == count(4));
  CHECK(values(p, "nested.list.0") == count(2));
  CHECK(values(p, "nested.list.1") == count(3));
  const Checkpoint f = Checkpoint::open(file("float8.pt"));
  CHECK(f.find("e4m3")->dtype == DType::F8_E4M3);
  CHECK(f.find("u16")->dtype == DType::U16);
  CHECK(f.find("u16")->bytes() == 8);
  CHECK(values(Checkpoint::open(file("tensor.pt")), "tensor") == count(4));
}

TEST_CASE("only the model of a trainer checkpoint is read, with a note about other tensors") {
  const std::string bytes = contents("trainer.ckpt");
  const StateDict s = read_torch_file(std::as_bytes(std::span(bytes)), "f.ckpt");
  REQUIRE(s.tensors.size() == 7);
  CHECK(s.tensors[0].name == "0.weight");
  REQUIRE(s.notes.size() == 1);
  CHECK(s.notes[0] == "only the tensors of 'state_dict' are read, not 12 others");
}

TEST_CASE("only a matrix beside a state_dict counts as another weight") {
  const auto names = [](const std::string& beside) {
    const std::string bytes = old_file("}" + text("x") + beside + "s" + text("state_dict") +
                                       dict_of(tensor("K\x00"s, "K\x02K\x02", "K\x02K\x01")) + "s");
    std::vector<std::string> all;
    for (const TorchTensor& t : read_torch_file(std::as_bytes(std::span(bytes)), "f.pt").tensors)
      all.push_back(t.name);
    return all;
  };
  // Other values of a checkpoint: a best accuracy, a random state, scheduler state.
  CHECK(names(tensor("K\x00"s, "", "")) == std::vector<std::string>{"w"});
  CHECK(names(tensor("K\x00"s, "K\x04", "K\x01")) == std::vector<std::string>{"w"});
  CHECK(names("ccollections\nCounter\n" + tuple("}K\x01K\x02s") + "R") ==
        std::vector<std::string>{"w"});
  CHECK(names("ccollections\ndefaultdict\ncbuiltins\nlist\n\x85R" + text("k") + "]s") ==
        std::vector<std::string>{"w"});
  // A matrix is a weight, so that the whole dict is read as the model.
  CHECK(names(tensor("K\x00"s, "K\x04K\x01", "K\x01K\x01")) ==
        std::vector<std::string>{"x", "state_dict.w"});
}

TEST_CASE("files from before PyTorch 1.6 can contain framed pickles") {
  const std::string old = contents("old.pt");
  CHECK(torch_error("\x80\x04\x95\x0d\0\0\0\0\0\0\0"s + old.substr(2)) == "");
}

TEST_CASE("negated and conjugated views are rejected") {
  for (const char* what : {"neg", "conj"}) {
    const auto refusal = [&](const char* value) {
      std::string t = tensor("K\x00"s, "K\x04", "K\x01");
      t.insert(t.size() - 2, "}" + text(what) + value + "s");  // behind the last argument
      return torch_error(old_file(dict_of(t)));
    };
    CHECK(refusal("\x88") == fmt::format("f.pt: 'w': unsupported computed view (save the "
                                         "result of resolve_{}())",
                                         what));
    CHECK(refusal("\x89") == "");
  }
}

TEST_CASE("tensors that share memory are listed in a note") {
  const std::string bytes = contents("state.pt");
  const StateDict s = read_torch_file(std::as_bytes(std::span(bytes)), "f.pt");
  REQUIRE(s.notes.size() == 1);
  CHECK(
      s.notes[0] ==
      "'transposed' and 'columns' and 2 more pairs share memory; a copy has each of them in full");
}

TEST_CASE("pickles that need other classes or functions are rejected by their name") {
  CHECK(torch_error(contents("module.pt")).find("needs 'torch.nn.modules.container.Sequential'") !=
        std::string::npos);
  CHECK(torch_error(contents("sparse.pt")).find("needs 'torch._utils._rebuild_sparse_tensor'") !=
        std::string::npos);
  CHECK(torch_error(contents("complex128.pt")).find("needs 'torch.ComplexDoubleStorage'") !=
        std::string::npos);
  CHECK(torch_error(old_file("cos\nsystem\n(U\x02idtR")).find("needs 'os.system'") !=
        std::string::npos);
  CHECK(torch_error(old_file("cbuiltins\neval\n(U\x02idtR")).find("needs 'builtins.eval'") !=
        std::string::npos);
  CHECK(torch_error(old_file("U\x02os\x94U\x06system\x94\x93")).find("needs 'os.system'") !=
        std::string::npos);
}

TEST_CASE("malformed and malicious tensors and pickles are rejected") {
  CHECK(torch_error(old_file(dict_of(tensor("K\x00"s, "K\x02K\x02", "K\x02K\x01")))) == "");
  const std::pair<std::string, const char*> cases[] = {
      // A storage that claims more than the file has.
      {old_file(dict_of(tensor("K\x00"s, "K\x05", "K\x01", "K\x05"))),
       "storage '0' of 5 elements of F32 exceeds its record of 16 bytes"},
      {old_file(dict_of(tensor("K\x00"s, "K\x04", "K\x01", integer(std::int64_t{1} << 62)))),
       "exceeds its record of 16 bytes"},
      {old_file(dict_of(tensor("K\x00"s, "K\x04", "K\x01", integer(-1)))),
       "exceeds its record of 16 bytes"},
      {old_file(dict_of(tensor("K\x00"s, "K\x02", "K\x01")), "12345678", 4),
       "storage '0' has 4 elements, but 8 bytes are left"},
      // A tensor that exceeds its storage.
      {old_file(dict_of(tensor("K\x01", "K\x04", "K\x01"))),
       "at element 1 exceeds the storage of 4 elements"},
      {old_file(dict_of(tensor("K\x00"s, "K\x02K\x02", "K\x03K\x01"))),
       "exceeds the storage of 4 elements"},
      {old_file(dict_of(tensor("K\x00"s, "K\x02", integer(std::int64_t{1} << 61)))),
       "exceeds the storage of 4 elements"},
      {old_file(dict_of(tensor(integer(-1), "K\x01", "K\x01"))), "expected an offset >= 0, got -1"},
      {old_file(dict_of(tensor("K\x00"s, integer(-4), "K\x01"))), "shape: -4 is out of range"},
      {old_file(dict_of(tensor("K\x00"s, "K\x04", integer(-1)))), "strides: -1 is out of range"},
      {old_file(dict_of(tensor("K\x00"s, "K\x04", ""))),
       "expected as many strides as dimensions, 1, got 0"},
      // One element, claimed to be a billion.
      {old_file(dict_of(tensor("K\x00"s, integer(1'000'000'000), "K\x00"s))),
       "repeated elements take"},
      // CVE-2026-24747: items of a value that is not a dict.
      {old_file(dict_of(tensor("K\x00"s, "K\x04", "K\x01")) + text("a") + text("b") + "s" +
                text("w") + "K\x01s" + ")(K\x01K\x02u"),
       "sets items of a value that is not a dict"},
      {old_file("K\x01(K\x01K\x02u"), "sets items of a value that is not a dict"},
      {old_file("](K\x01K\x02u"), "sets items of a value that is not a dict"},
      {old_file("}(K\x01u"), "puts a key without a value into a dict"},
      {old_file("}K\x01"
                "a"),
       "appends items to a value that is not a list"},
      {old_file("K\x01N"
                "b"),
       "gives attributes to a value without attributes"},
      // Stack and memo.
      {old_file("0"), "has opcode 0x30, which no file of tensors needs"},
      {old_file("h\x05"), "takes value 5 of its memo, which is missing"},
      {old_file("t"), "takes values up to a missing mark"},
      {old_file("\x85"), "takes a missing value"},
      {old_file("K\x01(\x85"), "takes a missing value"},
      {old_file("K\x01K\x02"), "ends with something other than one value"},
      {old_file("K\x01", "", -1), "expected a dict of tensors"},
      {old_file("}", "", -1), "expected tensors, got none"},
      {old_file("K\x01)R"), "calls a value that is not a constructor"},
      {old_file("ctorch\nSize\nNR"), "calls a constructor with arguments that are not a tuple"},
      // A dict within itself.
      {old_file("}q\x00"s + text("a") + "h\x00s"s + text("w") + tensor("K\x00"s, "K\x04", "K\x01") +
                "s"),
       "dicts nest deeper than 32"},
      {old_file(dict_of(tensor("K\x00"s, "K\x04", "K\x01", "K\x04", "Size"))),
       "storage '0' belongs to no tensor"},
      {old_file("}" + text("a\nb") + tensor("K\x00"s, "K\x04", "K\x01") + "s"),
       "control character"},
  };
  for (const auto& [bytes, text] : cases) {
    const std::string wanted = text;
    CAPTURE(wanted);
    const std::string got = torch_error(bytes);
    CAPTURE(got);
    CHECK(held(98, got.find(wanted) != std::string::npos));
    CHECK(got.starts_with("f.pt: "));
  }
}

TEST_CASE("expansion through shared values in a pickle is limited") {
  const std::string one = tensor("K\x00"s, "K\x02K\x02", "K\x02K\x01"), w = text("w") + one + "s";
  const auto memo = [](char op, int i) { return std::string{op, static_cast<char>(i)}; };
  const auto repeated = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  // Lists nested 30 deep, each twice in the next, without a tensor: each is visited once.
  std::string doubled = "]";
  for (int i = 0; i < 30; ++i) doubled = "](" + doubled + memo('q', i) + memo('h', i) + "e";
  CHECK(torch_error(old_file("}" + w + text("l") + doubled + "s")) == "");
  // With a tensor in the innermost list, there would be 2^30 names.
  doubled = "](" + one + "e";
  for (int i = 0; i < 30; ++i) doubled = "](" + doubled + memo('q', i) + memo('h', i) + "e";
  CHECK(torch_error(old_file("}" + text("l") + doubled + "s")).starts_with("f.pt: tensor names"));

  const std::string key(4000, 'k'), names = "}(X"s + "\xa0\x0f\0\0"s + key + "}q\x00(K\x00"s + one +
                                            "q\x01" + repeated("K\x01h\x01", 5000) + "uu";
  CHECK(torch_error(old_file(names)).find("tensor names take more than 16") != std::string::npos);
  const std::string lists = "ccollections\nOrderedDict\nq\x00]q\x01("s +
                            repeated("K\x01N\x86", 500) + "e\x85R" +
                            repeated("h\x00h\x01\x85R"s, 200);
  CHECK(torch_error(old_file("}" + w + text("l") + "](" + lists + "es"))
            .find("makes dicts of one list again and again") != std::string::npos);
  std::string many = one;
  many.insert(many.size() - 2, repeated("N", 11));
  CHECK(torch_error(old_file(dict_of(many))).find("'w': expected at most 16 arguments, got 17") !=
        std::string::npos);
  CHECK(torch_error(old_file("}r\xff\xff\xff\xff" + w)).find("into its memo, which has 3000000") !=
        std::string::npos);
  // 2^21 views of all elements of one storage.
  std::string views = tensor("K\x00"s, "M\x00\x10"s, "K\x01", "M\x00\x10"s) + "q\x01";
  std::string all = "}(K\x00"s + views + repeated("K\x01h\x01", 5000) + "u";
  CHECK(torch_error(old_file(all, std::string(16384, 'x'), 4096))
            .find("tensors that share memory have more than") != std::string::npos);
}

TEST_CASE("truncated files are rejected, and files with a flipped bit are read or rejected") {
  for (const char* name : {"state.pt", "old.pt"}) {
    const std::string whole = contents(name);
    for (std::size_t n = 0; n < whole.size(); n += 7) CHECK(torch_error(whole.substr(0, n)) != "");
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 13) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      refused += !torch_error(bytes).empty();
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("inconsistent and unsupported zip archives are rejected") {
  const std::string whole = contents("tensor.pt");
  CHECK(torch_error(whole) == "");
  CHECK(torch_error(replaced(whole, "data.pkl", "date.pkl")).find("is called") !=
        std::string::npos);
  CHECK(torch_error(replaced(whole, "little", "big!!!")).find("expected little-endian data") !=
        std::string::npos);
  std::string compressed = whole;
  const std::size_t entry = compressed.find("PK\x01\x02");
  REQUIRE(entry != compressed.npos);
  compressed[entry + 10] = 8;
  CHECK(torch_error(compressed).find("expected an uncompressed record") != std::string::npos);
  std::string encrypted = whole;
  encrypted[entry + 8] = static_cast<char>(encrypted[entry + 8] | 1);
  CHECK(torch_error(encrypted).find("is encrypted") != std::string::npos);
  CHECK(torch_error("PK\x03\x04").find("no directory at its end (is the file truncated?)") !=
        std::string::npos);
}
