// What builds without cuDNN have in its place: an error that says so.
#include "core/check.h"
#include "model/ops/cuda/cudnn_attention.h"

namespace zoetrope::cudnn {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      "attention kernel 'cudnn' is not in this build; use 'own', or build with cuDNN 9.19 or later "
      "(-DZT_CUDNN_ROOT=folder)");
}

}  // namespace

struct AttentionPlan::Parts {};
AttentionPlan::AttentionPlan() = default;
AttentionPlan::~AttentionPlan() = default;
std::shared_ptr<const AttentionPlan> AttentionPlan::build(Pass, const AttentionShape&,
                                                          const DeviceProperties&, Bits, int64_t) {
  refuse();
}
int64_t AttentionPlan::workspace_bytes() const { refuse(); }
LseLayout lse_layout(const DeviceProperties&) { refuse(); }

struct Runner::Parts {};
Runner::Runner(void*) { refuse(); }
Runner::~Runner() = default;
const DeviceProperties& Runner::device() const { refuse(); }
void Runner::run(const std::shared_ptr<const AttentionPlan>&, std::span<const PlacedTensor>, void*) {
  refuse();
}

}  // namespace zoetrope::cudnn
