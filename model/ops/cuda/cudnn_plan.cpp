#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "model/ops/cuda/cudnn_attention.h"
#include "model/ops/cuda/cudnn_attention_graphs.h"
#include "model/ops/cuda/cudnn_cubin.h"
#include "model/ops/cuda/cudnn_engines.h"

namespace zoetrope::cudnn {
namespace {

void check_shape(const AttentionShape& s) {
  ZT_CHECK(s.batch > 0 && s.num_heads > 0 && s.q_rows > 0 && s.kv_rows > 0, "cuDNN attention of ", text_of(s),
           ": nothing to compute");
  ZT_CHECK(s.head_width == 64 || s.head_width == 128, "cuDNN attention of ", text_of(s),
           ": heads must be 64 or 128 wide; use the attention kernel 'own'");
  for (const int64_t stride : {s.q_stride, s.k_stride, s.v_stride, s.out_stride, s.dout_stride})
    ZT_CHECK(stride >= s.num_heads * s.head_width && stride % 8 == 0, "cuDNN attention of ", text_of(s),
             ": rows ", stride, " elements apart, expected a multiple of 8 that holds a row");
}

/// cuDNN's first choice, unless it says itself that its bits differ from run to run and that isn't allowed.
EngineChoice first_choice(Pass pass, const Descriptor& graph, const AttentionShape& shape,
                          const DeviceProperties& device, const Descriptor& properties, Bits bits) {
  std::deque<EngineChoice> proposed = proposed_engines(graph, properties);
  const auto chosen = std::find_if(proposed.begin(), proposed.end(), [&](const EngineChoice& each) {
    return bits == Bits::kAny || !each.has_note(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  });
  ZT_CHECK(chosen != proposed.end(), "cuDNN ", cudnnGetVersion(), " proposes ", proposed.size(),
           " engines for attention ", name_of(pass), " of ", text_of(shape), " on a GPU of version ",
           device.version(), bits == Bits::kAny ? "" : ", none with reproducible bits",
           "; use the attention kernel 'own'");
  return std::move(*chosen);
}

/// The engine of a backward pass that adds nothing up across blocks: dq goes straight to memory. On Hopper
/// cuDNN's first choice for such a graph keeps all of ds in its work space; on Blackwell it proposes none,
/// but has one in two kernels when asked for by number.
EngineChoice reproducible_backward(const Descriptor& graph, const AttentionShape& shape,
                                   const DeviceProperties& device, const Descriptor& properties) {
  if (device.version() / 100 == 10)
    return chosen_engine(graph, properties, 5,
                         {{CUDNN_KNOB_TYPE_KERNEL_CFG, 31}, {CUDNN_KNOB_TYPE_STAGES, 2}});
  return first_choice(Pass::kBackward, graph, shape, device, properties, Bits::kReproducible);
}

void check_reproducible(const std::vector<PlanKernel>& kernels) {
  for (const PlanKernel& kernel : kernels)
    ZT_CHECK(kernel.float_reductions == 0, "cuDNN ", cudnnGetVersion(), ": kernel '", kernel.name,
             "' adds floats in no fixed order (", kernel.float_reductions,
             " instructions); use the attention kernel 'own', or --allow-nondeterministic");
}

}  // namespace

int64_t DeviceProperties::version() const {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  ZT_CHECK(parsed.is_object() && parsed.contains("deviceVer"),
           "cuDNN's description of the GPU has no deviceVer: ", json);
  return parsed["deviceVer"].get<int64_t>();
}

DeviceProperties device_properties(int device_index) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties");
  properties.set_one(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, int32_t(device_index));
  properties.finalize();
  return {properties.text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)};
}

LseLayout lse_layout(const DeviceProperties& device) {
  const int64_t major = device.version() / 100;
  return major == 8 || major == 12 ? LseLayout::kPadded : LseLayout::kPacked;
}

struct AttentionPlan::Parts {
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan"};
  int64_t engine = 0;
};

AttentionPlan::AttentionPlan() : parts_(std::make_unique<Parts>()) {}
AttentionPlan::~AttentionPlan() = default;

std::shared_ptr<const AttentionPlan> AttentionPlan::build(Pass pass, const AttentionShape& shape,
                                                          const DeviceProperties& device, Bits bits,
                                                          int64_t most_workspace_bytes) {
  check_shape(shape);
  ZT_CHECK(pass == Pass::kForward || shape.lse == lse_layout(device), "cuDNN attention backward of ",
           text_of(shape), ": log-sum-exps must be ",
           lse_layout(device) == LseLayout::kPadded ? "padded" : "packed", " on a GPU of version ",
           device.version());
  Graph nodes;
  if (pass == Pass::kForward) add_forward(nodes, shape);
  else add_backward(nodes, shape, bits);
  const Descriptor graph = nodes.finish(), properties = device_descriptor(device);
  const EngineChoice choice = pass == Pass::kBackward && bits == Bits::kReproducible
                                  ? reproducible_backward(graph, shape, device, properties)
                                  : first_choice(pass, graph, shape, device, properties, bits);
  ZT_CHECK(bits == Bits::kAny || !choice.has_note(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC), "cuDNN ",
           cudnnGetVersion(), " says that its engine ", choice.number(), " gives other bits each time");
  const int64_t workspace = choice.config.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
  ZT_CHECK(workspace <= most_workspace_bytes, "cuDNN's engine ", choice.number(), " wants ", workspace,
           " bytes of work space for attention ", name_of(pass), " of ", text_of(shape), ", at most ",
           most_workspace_bytes, " are reserved");
  auto built = std::make_shared<AttentionPlan>();
  built->parts_->engine = choice.number();
  built->parts_->plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choice.config);
  built->parts_->plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
  built->parts_->plan.finalize();
  if (bits == Bits::kReproducible) check_reproducible(kernels_of(built->json()));
  return built;
}

std::shared_ptr<const AttentionPlan> AttentionPlan::load(const std::string& json,
                                                         const DeviceProperties& device) {
  auto loaded = std::make_shared<AttentionPlan>();
  Descriptor& plan = loaded->parts_->plan;
  // The device first: without it cuDNN reads a null pointer.
  plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device_descriptor(device));
  plan.set_text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, json);
  plan.finalize();
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  ZT_CHECK(parsed.is_object() && parsed.contains("engine"), "a cuDNN plan's JSON names no engine");
  loaded->parts_->engine = parsed["engine"].value("engineId", int64_t(-1));
  return loaded;
}

int64_t AttentionPlan::engine() const { return parts_->engine; }
void* AttentionPlan::handle() const { return parts_->plan.handle(); }
int64_t AttentionPlan::workspace_bytes() const {
  return parts_->plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
}
std::string AttentionPlan::json() const {
  return parts_->plan.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

}  // namespace zoetrope::cudnn
