// sten-prune: flags -> PruneOptions -> prune(), prune_batch() or prune_in_stages().
#include "apps/batch_options.h"
#include "apps/prune_stages.h"
#include "libsten/base/error.h"
#include "libsten/base/memory_pool.h"
#include "libsten/io/output_paths.h"

namespace groups = sten::app::groups;
constexpr const char* how_chosen = "How weights are chosen";

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-prune",
      "Prunes the weights of a checkpoint by magnitude: in one shot, or in stages with training "
      "between.",
      "sten-prune model.safetensors -o pruned.safetensors --sparsity 0.9 --to bitmask",
      {{"One of every ten weights in groups of four patterns, in the layout made for that:",
        "sten-prune model.safetensors -o small.safetensors --structure nmg:n=1,m=10,g=4 --to nmg"},
       {"One threshold for all tensors together, and a report as a page:",
        "sten-prune model.safetensors -o global.safetensors --sparsity 0.9 --scope global "
        "--report report.html"},
       {"Only what would happen, and whether a fifth of the magnitude stays:",
        "sten-prune model.safetensors --dry-run --sparsity 0.9 --min-energy 0.2"},
       {"In a pipe:",
        "sten-prune model.safetensors -o - --sparsity 0.9 | sten-convert - -o piped.safetensors "
        "--to csr"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto many = std::make_shared<sten::ManyInputs>();
    auto staged = std::make_shared<sten::StagedOptions>();
    sten::PruneOptions* o = &staged->prune;
    app.add_option("IN", many->inputs,
                   "A file (safetensors, PyTorch, ONNX), a HuggingFace directory or its index, or "
                   "- for standard "
                   "input; several with --out-dir")
        ->required();
    sten::app::add_output(app, o->output);
    sten::app::add_batch(app, *many);
    sten::app::allow_percent(
        app.add_option(
            "--sparsity", o->sparsity,
            "Fraction of each tensor's weights or blocks to remove, 0 to 1 or 0% to 100%"))
        ->type_name("X")
        ->group(groups::common);
    app.add_option(
           "--method", o->method,
           "What goes first: magnitude (smallest; default), random (each with probability "
           "X), threshold (all below --at); with --scores: movement (smallest signed "
           "score), gradient (smallest |weight * score|), l0 (all whose gate is shut); with "
           "--calibrate or --statistics: wanda (|weight| times the norm of its input), ria "
           "(relative importance), sparsegpt (second order), admm (chosen and solved in "
           "turns: the least error)")
        ->type_name("METHOD")
        ->group(how_chosen);
    app.add_option("--scores", o->scores,
                   "A number for each weight, as tensors of the same names and shapes in a "
                   "safetensors file or HuggingFace directory. Of movement: the score -sum(weight "
                   "* dLoss/dweight) of training; of gradient: dLoss/dweight; of l0: the gate's a, "
                   "and weights stay where 1.2 * sigmoid(a) - 0.1 > 0")
        ->type_name("FILE")
        ->group(how_chosen);
    app.add_option("--calibrate", o->calibrate,
                   "Data to run the model on, whose layers are pruned one after the other by what "
                   "goes into them: a recipe of sten-train, whose training data are taken, or a "
                   ".csv file, a text or a folder of images")
        ->type_name("DATA")
        ->group(how_chosen);
    app.add_option("--calibrate-samples", o->calibrate_samples,
                   "Rows, windows or images of it (default 64)")
        ->type_name("N")
        ->group(how_chosen);
    app.add_option("--statistics", o->statistics,
                   "What goes into layers, in a safetensors file: under NAME.squares sums of "
                   "squares [in], under NAME.gram sums of products [in, in], for each weight NAME")
        ->type_name("FILE")
        ->group(how_chosen);
    app.add_flag("--reconstruct", o->reconstruct,
                 "Solve the kept weights of each row anew, by least squares against the outputs of "
                 "the dense layer")
        ->group(how_chosen);
    app.add_option("--allocate", o->allocate,
                   "How much each tensor loses, with calibration: error: what changes the outputs "
                   "of all layers least; sensitivity: what changes the loss least; owl: less where "
                   "more weights are outliers (default: the "
                   "same share)")
        ->type_name("HOW")
        ->group(how_chosen);
    app.add_option("--damping", o->damping,
                   "Added to the diagonal of sums of products, as a share of its mean (default "
                   "0.01)")
        ->type_name("X")
        ->group(how_chosen);
    app.add_option("--at", o->at, "Smallest magnitude that --method threshold keeps")
        ->type_name("X")
        ->group(how_chosen);
    app.add_option("--scope", o->scope,
                   "local: the fraction of each tensor (default); row: of each of its rows, with "
                   "calibration, and the default of wanda; global: of all of them together, with "
                   "one threshold")
        ->type_name("SCOPE")
        ->group(how_chosen);
    app.add_option(
           "--structure", staged->structures,
           "Which patterns are allowed: unstructured (default), block:h=4,w=4 (whole blocks, the "
           "smallest sum first), nm:n=2,m=4[,axis=1] or 2:4[@1] (n kept of every m along a "
           "row), nmg:n=1,m=10,g=4[,axis=0][,fit=exact] or 1:10:4[@0] (n kept of m, patterns in "
           "groups of g; fit=exact "
           "keeps the most magnitude, fit=swaps too, fit=heuristic nearly, fit=greedy by the "
           "paper's rule), nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0] or 1:4:2:32[x2] (n:m:g of whole "
           "tiles of v rows and w columns). With nm, nmg "
           "and nmgv --sparsity is 1 - n/m and can be left out")
        ->type_name("SPEC")
        ->allow_extra_args(false)
        ->group(groups::common);
    app.add_option(
           "--to", o->to,
           "Layout of the pruned tensors: dense (default), masked, bitmask, csr, csc, coo, ell, "
           "bcsr:h=,w=, "
           "nm:n=,m=, "
           "nmg:n=,m=,g=, nmgv:n=,m=,g=,v=; nm, nmg, nmgv and bcsr alone take the numbers of "
           "--structure; auto: nm, nmg and nmgv as such, all else as bitmask")
        ->type_name("LAYOUT")
        ->group(groups::common);
    app.add_option(
           "--rule", o->rules,
           "Another way for some tensors: PATTERN=SPEC, where SPEC is magnitude:sparsity=X, "
           "random:fraction=X, threshold:at=X, block-magnitude:sparsity=X,h=4,w=4, "
           "movement:sparsity=X, gradient:sparsity=X, l0, relu (what is above 0 stays), nm:... or "
           "2:4, "
           "nmg:... or 1:10:4, nmgv:... or 1:4:2:32, or keep; repeatable, the first match wins")
        ->type_name("RULE")
        ->allow_extra_args(false)
        ->group(how_chosen);
    app.add_option("--rules", o->rules_file, "A file of rules, one a line, after those of --rule")
        ->type_name("FILE")
        ->group(how_chosen);
    app.add_option(
           "--reorder", o->reorder,
           "Rows of weight FIRST, which is pruned to nmgv, in the order in which most of it "
           "stays: its bias and the columns of weight NEXT follow. Right where what lies "
           "between works on each feature alone. * in NEXT stands for what it is in FIRST; "
           "repeatable")
        ->type_name("FIRST=NEXT")
        ->allow_extra_args(false)
        ->group(how_chosen);
    app.add_option("--mask", o->mask,
                   "Apply the masks of a safetensors file: a BOOL or U8 tensor under each name, "
                   "true and 1 stay")
        ->type_name("FILE")
        ->group(how_chosen);
    app.add_option("--mask-out", o->mask_out, "Also write the masks that were used")
        ->type_name("FILE")
        ->group(groups::outputs);
    app.add_option("--nan", o->nan,
                   "NaN and infinity in what is pruned: error (default), keep (they rank above all "
                   "numbers), zero (they become 0)")
        ->type_name("POLICY")
        ->group(how_chosen);
    sten::app::add_device(app, o->device,
                          "Where weights are chosen and measured, with the same results");
    sten::app::add_patterns(app, o->patterns);
    sten::app::allow_percent(
        app.add_option("--min-energy", o->min_energy,
                       "Fail with exit code 3, and write nothing but reports, if less of the total "
                       "magnitude is kept, 0 to 1"))
        ->type_name("X")
        ->group(groups::checks);
    sten::app::add_stages(app, *staged);
    return [many, staged, &common] {
      sten::PruneOptions& o = staged->prune;
      if (staged->structures.size() > 1 && staged->schedule.empty())
        sten::fail_usage("several --structure belong to --schedule iterative");
      if (staged->structures.size() == 1) o.structure = staged->structures.front();
      if (staged->schedule.empty()) sten::app::refuse_stage_flags(*staged);
      if (o.sparsity == 1.0 && !common.force && !o.output.dry_run)
        sten::fail_usage("--sparsity 1 leaves nothing of the selected tensors; --force does it");
      o.output.force = common.force;
      o.seed = common.seed;
      o.show_progress = common.show_progress();
      if (!staged->schedule.empty() && !many->out_dir.empty())
        sten::fail_usage("--schedule and --out-dir exclude each other");
      if (sten::app::is_batch(*many, o.output)) {
        sten::app::print_errors(*many, "sten-prune");
        return sten::prune_batch(*many, o);
      }
      o.input = many->inputs.front();
      o.output.path = sten::output_for(o.input, o.output.path, true, o.to);
      if (staged->schedule.empty()) return sten::prune(o);
      if (!staged->recipe.empty()) sten::enlarge_memory_pool();
      if (!common.quiet)
        staged->say = [](const std::string& text) { sten::app::print_line("sten-prune", text); };
      return sten::prune_in_stages(*staged);
    };
  });
}
