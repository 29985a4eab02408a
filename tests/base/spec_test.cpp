// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/spec.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("Spec::parse reads a name and key=value parameters in the given order") {
  const Spec s = Spec::parse("nmg:n=1,m=10,g=4");
  CHECK(s.name() == "nmg");
  CHECK(s.is("nmg"));
  CHECK(s.args().size() == 3);
  CHECK(s.integer("m") == 10);
  CHECK(s.has("g"));
  CHECK_FALSE(s.has("axis"));
  CHECK(s.integer("axis", 1) == 1);
  CHECK(s.str() == "nmg:n=1,m=10,g=4");
  CHECK(Spec::parse("csr").str() == "csr");
  CHECK(Spec::parse("l0:").str() == "l0");
  CHECK(Spec::parse("magnitude:sparsity=0.9").number("sparsity") == 0.9);
  CHECK(Spec::parse("csr:dims=1.2").word("dims", "") == "1.2");
  CHECK(Spec::parse("csr").word("dims", "none") == "none");
}

TEST_CASE("n:m and n:m:g shorthands and percentages expand to full specs") {
  CHECK(Spec::parse("2:4").str() == "nm:n=2,m=4");
  CHECK(Spec::parse("1:10:4").str() == "nmg:n=1,m=10,g=4");
  CHECK(Spec::parse("2:4@0").str() == "nm:n=2,m=4,axis=0");
  CHECK(Spec::parse("1:10:4@1").str() == "nmg:n=1,m=10,g=4,axis=1");
  CHECK(Spec::parse("1:4:2:32").str() == "nmgv:n=1,m=4,g=2,v=32");
  CHECK(Spec::parse("1:4:2:32x1@1").str() == "nmgv:n=1,m=4,g=2,v=32,w=1,axis=1");
  for (const char* text : {":4", "2:4:", "1:2:3:4:5", "1:4:2x1", "1:4:2:32x", "1:4:2:x2", "2:4@",
                           "2:4@x", "2@0:4", "-2:4", "2:4,a=1"}) {
    CAPTURE(text);
    CHECK(fault_of([&] { Spec::parse(text); }) == Fault::usage);
  }
  CHECK(Spec::parse("magnitude:sparsity=90%").str() == "magnitude:sparsity=0.9");
  CHECK(Spec::parse("magnitude:sparsity=99.9%").number("sparsity") == 0.999);
  for (const char* text : {"a:b=%", "a:b=x%", "a:b=1%%", "a:b=1.2.3%", "a:b=-1%", "a:b=1e5%"}) {
    CAPTURE(text);
    CHECK(fault_of([&] { Spec::parse(text); }) == Fault::usage);
  }
}

TEST_CASE("Spec::set replaces the value of a key or appends the key") {
  Spec s = Spec::parse("nm:n=2,m=4");
  s.set("n", 1).set("axis", 0);
  CHECK(s.str() == "nm:n=1,m=4,axis=0");
  CHECK(s == Spec::parse("nm:n=1,m=4,axis=0"));
  CHECK_FALSE(s == Spec::parse("nm:m=4,n=1,axis=0"));
}

TEST_CASE("Spec::parse rejects malformed text with the reason") {
  const auto why = [](std::string_view text) { return error_of([&] { Spec::parse(text); }); };
  CHECK(has(why(""), "expected a name"));
  CHECK(has(why(":n=1"), "expected a name"));
  CHECK(has(why("n m"), "'n m'"));
  CHECK(has(why("nm:n"), "expected key=value, got 'n'"));
  CHECK(has(why("nm:n="), "expected key=value, got 'n='"));
  CHECK(has(why("nm:=1"), "expected key=value, got '=1'"));
  CHECK(has(why("nm:n=1=2"), "expected key=value, got 'n=1=2'"));
  CHECK(has(why("nm:n=1,,m=2"), "expected key=value, got ''"));
  CHECK(has(why("nm:n=1,"), "comma at the end"));
  CHECK(has(why("nm:n=1,n=2"), "duplicate key 'n'"));
  CHECK(has(why("nm:n=\x1b[31m"), "\\x1b[31m"));
  CHECK(has(why("größe"), "'größe'"));
  CHECK(why(std::string(1000000, ' ')).size() < 1000);
  CHECK(fault_of([] { Spec::parse("nm:n"); }) == Fault::usage);
}

TEST_CASE("a missing parameter or one of the wrong type is rejected with its name") {
  const Spec s = Spec::parse("magnitude:sparsity=half,m=2.5");
  CHECK(has(error_of([&] { s.number("sparsity"); }), "expected a number as 'sparsity'"));
  CHECK(has(error_of([&] { s.number("sparsity", 0.5); }), "expected a number as 'sparsity'"));
  CHECK(has(error_of([&] { s.integer("m"); }), "expected an integer as 'm'"));
  CHECK(has(error_of([&] { s.integer("n"); }), "missing 'n'"));
  CHECK(has(error_of([&] { s.number("n"); }), "magnitude:sparsity=half"));
  CHECK(fault_of([&] { s.integer("n"); }) == Fault::usage);
}

TEST_CASE("an unknown key is rejected with a suggestion of the nearest known key") {
  const Spec s = Spec::parse("magnitude:sparcity=0.9");
  const std::string text = error_of([&] { s.check_keys({"sparsity"}); });
  CHECK(has(text, "has no key 'sparcity', did you mean 'sparsity'?"));
  CHECK(has(error_of([&] { s.check_keys({}); }), "takes no keys"));
  CHECK(error_of([&] { s.check_keys({"seed", "sparcity"}); }) == "");
}

TEST_CASE("random text either parses to a spec that round-trips or is rejected") {
  Dice dice(1);
  const std::string_view alphabet = "ab:=,,=:1.-\xff";
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (Index n = dice.below(10); n > 0; --n) text += alphabet[dice.below(std::ssize(alphabet))];
    try {
      const Spec s = Spec::parse(text);
      ++parsed;
      if (!(Spec::parse(s.str()) == s)) FAIL_CHECK("'" << text << "' prints as " << s.str());
    } catch (const Error& e) {
      if (e.fault() != Fault::usage) FAIL_CHECK("fault of '" << text << "'");
    }
  }
  CHECK(parsed > 100);
}
