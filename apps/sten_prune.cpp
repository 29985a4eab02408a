// SPDX-License-Identifier: Apache-2.0
// sten-prune: flags -> StagedOptions -> prune(), prune_batch() or prune_in_stages(); or flags ->
// DropOptions -> drop_modules().
#include "apps/batch_options.h"
#include "apps/drop_options.h"
#include "apps/prune_stages.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/files/checkpoint/output_paths.h"

namespace groups = sten::app::groups;
constexpr const char* criterion = "Pruning criterion";

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-prune",
      "Prune the weights of a checkpoint: in one shot, or in stages with training in between.",
      "sten-prune model.safetensors -o pruned.safetensors --sparsity 0.9 --to bitmask",
      {{"Keep one of every ten weights, by n:m:g with g = 4, and store the nmg layout:",
        "sten-prune model.safetensors -o small.safetensors --structure nmg:n=1,m=10,g=4 --to nmg"},
       {"Apply one threshold to all tensors, and write an HTML report:",
        "sten-prune model.safetensors -o global.safetensors --sparsity 0.9 --scope global "
        "--report report.html"},
       {"Check, without an output, that a fifth of the magnitude is kept:",
        "sten-prune model.safetensors --dry-run --sparsity 0.9 --min-energy 0.2"},
       {"Prune and convert in a pipe:",
        "sten-prune model.safetensors -o - --sparsity 0.9 | sten-convert - -o piped.safetensors "
        "--to csr"}},
      {"--calibrate-samples", "--calibrate-window", "--calibration-cache", "--statistics",
       "--damping", "--reorder", "--nan", "--finetune-timeout", "--tolerance", "--rounds",
       "--patience", "--keep-other-weights"}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto many = std::make_shared<sten::ManyInputs>();
    auto staged = std::make_shared<sten::StagedOptions>();
    auto drop = std::make_shared<sten::DropOptions>();
    auto* o = &staged->prune;
    sten::app::add_inputs(app, *many, "Several inputs need --out-dir.");
    sten::app::add_output(app, o->output);
    sten::app::add_batch(app, *many);
    sten::app::allow_percent(
        app.add_option("--sparsity", o->tensors.sparsity,
                       "Fraction of weights or blocks to remove from each tensor, 0 to 1 or 0% to "
                       "100%"))
        ->type_name("X")
        ->group(groups::common);
    app.add_option(
           "--structure", staged->structures,
           "Sparsity structure: unstructured (default), block:h=4,w=4, 2:4 (n:m), 1:10:4 (n:m:g) "
           "or 1:4:2:32 (n:m:g of tiles)\n"
           "- block:h=4,w=4: removes the blocks of the smallest magnitude.\n"
           "- nm:n=2,m=4[,axis=1] or 2:4[@1]: keeps n of every m weights along a row.\n"
           "- nmg:n=1,m=10,g=4[,axis=0][,fit=exact] or 1:10:4[@0]: keeps n of every m weights "
           "down a column, and uses each pattern of kept positions g times in each chunk of "
           "columns. fit=exact (default up to 1024 patterns) and fit=swaps keep the most "
           "magnitude, fit=heuristic nearly as much; fit=greedy is the paper's algorithm.\n"
           "- nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0] or 1:4:2:32[x2]: n:m:g of tiles of v rows and w "
           "columns.\n"
           "With nm, nmg and nmgv the sparsity is 1 - n/m, and --sparsity may be omitted.")
        ->type_name("SPEC")
        ->allow_extra_args(false)
        ->group(groups::common);
    sten::app::add_parsed(
        app, "--to", o->tensors.to, sten::Spec::parse,
        fmt::format(
            "Layout of the result: dense (default), {} or auto\n"
            "Parameters: bcsr:h=4,w=4, nm:n=2,m=4, nmg:n=1,m=10,g=4, nmgv:n=1,m=4,g=2,v=32; "
            "without them, those of --structure.\n"
            "auto stores tensors pruned to nm, nmg or nmgv in that layout, and all others as "
            "bitmask.",
            sten::app::sparse_layouts()))
        ->type_name("LAYOUT")
        ->group(groups::common);
    sten::app::add_type(app, o->output);
    sten::app::add_named<sten::PruneMethod>(
        app, "--method", o->tensors.method,
        "Pruning criterion: magnitude (default), random, threshold, movement, gradient, l0, "
        "wanda, ria, sparsegpt or admm\n"
        "- magnitude: removes the smallest magnitudes.\n"
        "- random: removes each weight with the probability --sparsity.\n"
        "- threshold: removes all magnitudes below --at.\n"
        "- movement (with --scores): removes the smallest signed scores.\n"
        "- gradient (with --scores): removes the smallest |weight * score|.\n"
        "- l0 (with --scores): removes the weights with a closed gate.\n"
        "- wanda: removes the smallest |weight| times the norm of its input.\n"
        "- ria: removes the smallest |weight|, relative to the sums of its row and of its "
        "column, times the square root of the norm of its input.\n"
        "- sparsegpt: removes by second-order scores and updates the other weights.\n"
        "- admm: alternates selection and least squares, usually with the smallest error.\n"
        "wanda, ria, sparsegpt and admm need --calibrate or --statistics.")
        ->type_name("METHOD")
        ->group(criterion);
    app.add_option("--scores", o->files.scores,
                   "Scores for --method movement, gradient or l0\n"
                   "A safetensors file or Hugging Face directory that has a tensor of the same "
                   "name and shape for each weight.\n"
                   "- movement: the sum of -weight * dLoss/dweight over training.\n"
                   "- gradient: dLoss/dweight.\n"
                   "- l0: the parameter a of the gate; weights with 1.2 * sigmoid(a) - 0.1 > 0 are "
                   "kept.")
        ->type_name("FILE")
        ->group(criterion);
    app.add_option(
           "--calibrate", o->calibration.data,
           "Calibration data: a recipe of sten-train, a .csv file, a text, .jsonl, arrays or a "
           "folder of images\n"
           "The model runs on the data, and layers are pruned one after another by the "
           "statistics of their inputs. A recipe stands for its training data.")
        ->type_name("DATA")
        ->group(criterion);
    app.add_option("--calibrate-samples", o->calibration.samples,
                   "Rows, windows or images of the calibration data (default 64)")
        ->type_name("N")
        ->group(criterion);
    app.add_option("--calibrate-window", o->calibration.window,
                   "Tokens of each window of a text, at most those of the model (default 128, or "
                   "as in the recipe)")
        ->type_name("N")
        ->group(criterion);
    app.add_option("--calibration-cache", o->calibration.cache,
                   "Directory for the state of the calibration; a run that was interrupted "
                   "continues from there\n"
                   "It holds activations, too, and is removed when the output is written.")
        ->type_name("DIR")
        ->group(criterion);
    app.add_option("--statistics", o->calibration.statistics,
                   "Statistics of the layers' inputs, a safetensors file, instead of --calibrate\n"
                   "For each weight NAME: NAME.squares, the sums of squares [in], or NAME.gram, "
                   "the sums of products [in, in].")
        ->type_name("FILE")
        ->group(criterion);
    app.add_flag("--reconstruct", o->tensors.reconstruct,
                 "Refit the kept weights to the dense model's outputs\n"
                 "Row by row, by least squares.")
        ->group(criterion);
    sten::app::add_named<sten::AllocationMethod>(
        app, "--allocate", o->calibration.allocate,
        "Sparsity per tensor, with calibration: error, sensitivity or owl (default: the "
        "same for all)\n"
        "- error: minimizes the change of all layers' outputs.\n"
        "- sensitivity: minimizes the change of the loss.\n"
        "- owl: removes less from tensors with more outliers.")
        ->type_name("HOW")
        ->group(criterion);
    app.add_option("--damping", o->calibration.damping,
                   "Damping added to the diagonal of the sums of products, as a fraction of its "
                   "mean (default 0.01)")
        ->type_name("X")
        ->group(criterion);
    sten::app::add_drop(app, *drop, criterion);
    app.add_option("--at", o->tensors.at, "Smallest magnitude that --method threshold keeps")
        ->type_name("X")
        ->group(criterion);
    sten::app::add_named<sten::PruneScope>(
        app, "--scope", o->tensors.scope,
        "Scope of --sparsity: local (each tensor; default), row (each row) or global "
        "(all tensors)\n"
        "global applies one threshold to all tensors. row needs calibration, and is the "
        "default of wanda.")
        ->type_name("SCOPE")
        ->group(criterion);
    app.add_option(
           "--rule", o->rules,
           "PATTERN=SPEC: prune the tensors that match PATTERN by SPEC; repeatable, the first "
           "match wins\n"
           "SPEC is keep (leave unchanged), nm:... or 2:4, nmg:... or 1:10:4, nmgv:... or "
           "1:4:2:32, "
           "magnitude:sparsity=X, random:fraction=X, threshold:at=X, "
           "block-magnitude:sparsity=X,h=4,w=4, movement:sparsity=X, gradient:sparsity=X, l0 or "
           "relu (keeps values above 0).")
        ->type_name("RULE")
        ->allow_extra_args(false)
        ->group(criterion);
    app.add_option("--rules", o->files.rules,
                   "Rules in FILE, one per line; those of --rule come first")
        ->type_name("FILE")
        ->group(criterion);
    app.add_option(
           "--reorder", o->reorder,
           "Permute the rows of FIRST, and the columns of NEXT, to keep more magnitude in nmgv; "
           "repeatable\n"
           "The bias of FIRST is permuted, too. Valid if every operator between the two weights "
           "works on each feature separately. * in NEXT stands for the text that * matched in "
           "FIRST.")
        ->type_name("FIRST=NEXT")
        ->allow_extra_args(false)
        ->group(criterion);
    app.add_option("--mask", o->files.mask,
                   "Apply the masks in a safetensors file\n"
                   "A mask is a BOOL or U8 tensor under the weight's name; true and 1 keep.")
        ->type_name("FILE")
        ->group(criterion);
    app.add_option("--mask-out", o->files.mask_out, "Also write the applied masks to FILE")
        ->type_name("FILE")
        ->group(groups::outputs);
    sten::app::add_named<sten::Nan>(
        app, "--nan", o->tensors.nan,
        "NaN and infinity in weights: error (default), keep or zero\n"
        "keep ranks them above all other values; zero replaces them by 0.")
        ->type_name("POLICY")
        ->group(criterion);
    sten::app::add_device(
        app, o->device,
        "Weights are selected and measured there, with the same results. With --recipe, "
        "stages are trained there, with results that differ by rounding.");
    sten::app::add_patterns(app, o->patterns);
    sten::app::allow_percent(
        app.add_option(
            "--min-energy", o->min_energy,
            "Exit with 3, and write only reports, if less than the fraction X (0 to 1) of "
            "the magnitude is kept"))
        ->type_name("X")
        ->group(groups::checks);
    sten::app::add_stages(app, *staged);
    return [many, staged, drop, &app, &common] {
      auto& o = staged->prune;
      if (drop->is_given()) {
        sten::app::refuse_pruning_flags(app, *drop);
        (void)sten::app::is_batch(*many, o.output);
        drop->input = many->inputs.front();
        drop->output = o.output;
        drop->output.force = common.force;
        drop->calibration = o.calibration;
        drop->device = o.device;
        drop->show_progress = common.show_progress();
        sten::map_large_blocks();
        return sten::drop_modules(*drop);
      }
      if (staged->structures.size() > 1 && staged->schedule.empty())
        sten::fail_usage("--structure: expected one without --schedule iterative");
      if (staged->schedule.empty()) sten::app::refuse_stage_flags(*staged);
      if (o.tensors.sparsity == 1.0 && !common.force && !o.output.dry_run)
        sten::fail_usage(
            "--sparsity 1 removes every weight of the selected tensors (--force allows this)");
      o.output.force = common.force;
      o.tensors.seed = common.seed;
      o.show_progress = common.show_progress();
      if (!staged->schedule.empty() && !many->out_dir.empty())
        sten::fail_usage("--schedule and --out-dir exclude each other");
      if (staged->structures.size() == 1)
        o.tensors.structure = sten::Spec::parse(staged->structures.front());
      if (sten::app::is_batch(*many, o.output)) {
        if (many->inputs.size() > 1 && !o.calibration.cache.empty())
          sten::fail_usage("--calibration-cache is for one model: expected one input, got {}",
                           many->inputs.size());
        sten::app::print_errors(*many, "sten-prune");
        return sten::prune_batch(*many, o);
      }
      o.input = many->inputs.front();
      o.output.path = sten::output_for(o.input, o.output.path, true, o.tensors.to.str());
      if (o.calibration.is_given()) sten::map_large_blocks();
      if (staged->schedule.empty()) return sten::prune(o);
      if (!staged->trainer.recipe.empty()) {
        sten::enlarge_memory_pool();
        sten::enable_device_memory_pool();
      }
      if (!common.quiet)
        staged->say = [](const std::string& text) { sten::app::print_line("sten-prune", text); };
      return sten::prune_in_stages(*staged);
    };
  });
}
