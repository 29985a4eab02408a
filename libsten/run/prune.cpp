#include "libsten/run/prune.h"

#include <cmath>

#include "libsten/base/random.h"
#include "libsten/dispatch/registry.h"
#include "libsten/run/measure.h"
#include "libsten/sparsify/streaming.h"

namespace sten {
namespace {

// What the options come to.
struct Request {
  Spec sparsifier;  // without the seed, which each tensor gets its own of
  Spec to;
  Options values;  // for the provenance
};

std::string number_text(double v) { return fmt::format("{}", v); }

void check_structure_sparsity(const PruneOptions& o, const Spec& structure) {
  if (!o.sparsity) return;
  const double n = static_cast<double>(structure.integer("n"));
  const double implied = 1 - n / static_cast<double>(structure.integer("m"));
  if (std::abs(*o.sparsity - implied) > 1e-9)
    fail_usage("--sparsity {} contradicts --structure {}, whose sparsity is {}; leave one out",
               *o.sparsity, structure.str(), implied);
}

Spec unstructured_sparsifier(const PruneOptions& o) {
  const auto need_sparsity = [&] {
    if (!o.sparsity)
      fail_usage("--sparsity is missing: the fraction of weights to remove, such as 0.9");
    return number_text(*o.sparsity);
  };
  if (o.method == "threshold") {
    if (o.sparsity) fail_usage("--sparsity and --method threshold exclude each other");
    if (!o.at) fail_usage("--method threshold needs --at, the smallest magnitude that stays");
    return Spec("threshold").set("at", number_text(*o.at));
  }
  if (o.method == "random") return Spec("random").set("fraction", need_sparsity());
  return Spec("magnitude").set("sparsity", need_sparsity());
}

Request resolve(const PruneOptions& o) {
  const std::vector<std::string> methods = {"magnitude", "random", "threshold"};
  if (std::find(methods.begin(), methods.end(), o.method) == methods.end())
    fail_usage("there is no method {}{}", quote(o.method), suggestion(o.method, methods));
  if (o.at && o.method != "threshold") fail_usage("--at belongs to --method threshold");
  if (o.sparsity && !(*o.sparsity >= 0 && *o.sparsity <= 1))
    fail_usage("--sparsity {} is not within [0, 1]", *o.sparsity);
  if (o.min_energy && !(*o.min_energy >= 0 && *o.min_energy <= 1))
    fail_usage("--min-energy {} is not within [0, 1]", *o.min_energy);

  Request r;
  Spec to = Spec::parse(o.to), structure = Spec::parse(o.structure);
  const auto grouped = [](const Spec& s) { return s.is("nm") || s.is("nmg"); };
  // "--to nmg:..." alone asks for that structure, and "--to nmg" for the layout of the structure.
  if (structure.is("unstructured") && grouped(to) && !to.args().empty()) structure = to;
  if (grouped(structure) && to.str() == structure.name()) {
    to = Spec(to.name());
    for (const auto& [key, value] : structure.args())
      if (key != "fit") to.set(key, value);
  }
  if (structure.is("unstructured")) {
    structure.check_keys({});
    r.sparsifier = unstructured_sparsifier(o);
  } else if (grouped(structure)) {
    if (o.method != "magnitude")
      fail_usage("--method {} exists for unstructured pruning alone", o.method);
    r.sparsifier = structure.is("nm") ? Spec("per-block") : Spec("nmg");
    Spec layout(structure.name());  // its errors name what was given
    for (const auto& [key, value] : structure.args())
      if (key != "fit") layout.set(key, value);
    registry().check_layout(layout);
    for (const char* key : {"n", "m", "g", "axis", "dims", "fit"})  // canonical order
      if (structure.has(key)) r.sparsifier.set(key, std::string(structure.word(key, "")));
    registry().sparsifier(r.sparsifier);
    check_structure_sparsity(o, structure);
  } else {
    fail_usage("there is no structure {}{}", quote(structure.name()),
               suggestion(structure.name(), {"unstructured", "nm", "nmg"}));
  }
  registry().sparsifier(r.sparsifier);
  r.to = registry().canonical(to);
  r.values = {{"sparsifier", r.sparsifier.str()}, {"to", r.to.str()}};
  if (r.sparsifier.is("random")) r.values.emplace_back("seed", std::to_string(o.seed));
  for (const std::string& p : o.patterns.include) r.values.emplace_back("include", p);
  for (const std::string& p : o.patterns.exclude) r.values.emplace_back("exclude", p);
  return r;
}

Report blank_report() {
  Report r;
  r.program = "sten-prune";
  r.columns = {{"name", "tensor", Unit::text},
               {"shape", "shape", Unit::shape},
               {"dtype", "dtype", Unit::text},
               {"elements", "elements", Unit::count},
               {"kept", "kept", Unit::count},
               {"sparsity", "sparsity", Unit::fraction},
               {"energy", "energy", Unit::ratio},
               {"bytes_before", "before", Unit::bytes},
               {"bytes_after", "after", Unit::bytes},
               {"padding", "padding", Unit::fraction},
               {"fit", "fit", Unit::text}};
  return r;
}

struct Totals {
  Index elements = 0, kept = 0, zeros = 0, bytes_before = 0, bytes_after = 0, grown = 0;
  Index bitmask = 0;  // bytes as bitmask
  Magnitudes magnitudes;
};

double share(Index part, Index whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_notes(Report& r, const Request& request, const Selection& s, const Checkpoint& in,
               const Totals& t) {
  r.notes.push_back(fmt::format("pruned {} of {} tensors", s.count, in.tensors().size()) +
                    (s.skipped ? fmt::format("; {} matched by --include cannot be pruned and were "
                                             "left as they are",
                                             s.skipped)
                               : ""));
  if (request.to.is("dense") || request.to.is("masked")) {
    if (t.bitmask < t.bytes_before)
      r.notes.push_back(fmt::format(
          "output is {}, {}; --to bitmask gives {} for these tensors", request.to.str(),
          request.to.is("dense") ? "same size" : "not smaller", human_bytes(t.bitmask)));
  } else if (t.grown) {
    r.notes.push_back(fmt::format("{} of {} tensors are not smaller as {} than dense", t.grown,
                                  s.count, request.to.str()));
  }
}

}  // namespace

Outcome prune(const PruneOptions& o) {
  const Request request = resolve(o);
  Rewrite rewrite(o.input, o.output, "sten-prune", request.values);
  const Checkpoint& in = rewrite.input();
  const Selection selection = select_tensors(in, o.patterns, Purpose::prune);
  if (selection.count == 0)
    fail_usage("{}: none of the {} tensors is a weight by its name; choose some with --include",
               in.name(), in.tensors().size());

  Outcome outcome{blank_report(), ""};
  Report& r = outcome.report;
  std::vector<std::vector<Cell>> rows(in.tensors().size());
  Totals total;
  rewrite.run(layouts_for(selection, request.to), o.show_progress, [&](std::size_t i) {
    const CheckpointTensor& t = in.tensors()[i];
    const Tensor before = in.load(t);
    const Dense x = before.to_dense();
    if (const auto bad = first_not_finite(x))
      fail("{}: {}: element {} is not a finite number, and cannot be ranked", in.name(),
           quote(t.name), *bad);
    Spec spec = request.sparsifier;
    // 63 bits: a spec's integers are signed.
    if (spec.is("random")) spec.set("seed", static_cast<Index>(seed_for(o.seed, t.name) >> 1));
    try {
      const Mask keep = registry().sparsifier(spec).select(x);
      const Tensor after = registry().pack(x, keep, request.to);
      const Magnitudes m = magnitudes(x, keep);
      const Index kept = keep.count(), n = x.size();
      const Index zero = zeros(Dense::pack(x, keep));
      const auto bytes = static_cast<Index>(after.bytes());
      auto& row = rows[i];
      r.at(row, "name") = t.name;
      r.at(row, "shape") = t.shape;
      r.at(row, "dtype") = std::string(name_of(t.dtype));
      r.at(row, "elements") = n;
      r.at(row, "kept") = kept;
      r.at(row, "sparsity") = share(zero, n);
      r.at(row, "energy") = energy(m);
      r.at(row, "bytes_before") = static_cast<Index>(t.bytes());
      r.at(row, "bytes_after") = bytes;
      if (request.to.is("nm") || request.to.is("nmg")) r.at(row, "padding") = after.padding();
      if (spec.is("nmg")) r.at(row, "fit") = std::string(spec.word("fit", "greedy"));
      total.elements += n;
      total.kept += kept;
      total.zeros += zero;
      total.bytes_before += static_cast<Index>(t.bytes());
      total.bytes_after += bytes;
      total.grown += bytes >= static_cast<Index>(x.values.bytes().size()) && n > 0;
      total.bitmask += ceil_div(n, 8) + kept * x.values.width();
      total.magnitudes.all += m.all;
      total.magnitudes.kept += m.kept;
      return after;
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("{}: {}: {}", in.name(), quote(t.name), e.what()));
    }
  });
  for (const std::size_t i : natural_order(in, selection)) r.rows.push_back(std::move(rows[i]));

  const double kept_energy = energy(total.magnitudes);
  r.at(r.total, "name") = "total";
  r.at(r.total, "elements") = total.elements;
  r.at(r.total, "kept") = total.kept;
  r.at(r.total, "sparsity") = share(total.zeros, total.elements);
  r.at(r.total, "energy") = kept_energy;
  r.at(r.total, "bytes_before") = total.bytes_before;
  r.at(r.total, "bytes_after") = total.bytes_after;
  add_notes(r, request, selection, in, total);
  r.facts = {
      {"input", in.name()},           {"sparsifier", request.sparsifier.str()},
      {"to", request.to.str()},       {"selected", selection.count},
      {"skipped", selection.skipped}, {"file_bytes_before", static_cast<Index>(in.file_bytes())}};
  if (o.min_energy && kept_energy < *o.min_energy) {
    outcome.failed_check = fmt::format(
        "energy {:.6f} is below --min-energy {}; nothing was written", kept_energy, *o.min_energy);
    return outcome;
  }
  const auto size = static_cast<Index>(rewrite.commit());
  if (!o.output.dry_run) r.facts.emplace_back("file_bytes_after", size);
  return outcome;
}

}  // namespace sten
