#include "libsten/programs/run/run_options.h"

namespace sten {

const char* check_of(const RunOptions& o) {
  return o.min_accuracy     ? "--min-accuracy"
         : o.max_loss       ? "--max-loss"
         : o.max_difference ? "--max-difference"
         : o.min_agreement  ? "--min-agreement"
         : o.fail_if_slower ? "--fail-if-slower"
                            : nullptr;
}

}  // namespace sten
