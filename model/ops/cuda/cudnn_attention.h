// Attention of packed samples by cuDNN: its shape, the tensors a plan is started with, and the plan itself.
// Needs no cuDNN header and, for building plans, no GPU.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

namespace zoetrope::cudnn {

enum class Pass { kForward, kBackward };
/// "forward", "backward".
const char* name_of(Pass pass);

/// Whether a plan may give other bits each time it runs: then it may be faster and need less work space.
enum class Bits { kReproducible, kAny };

/// How the log-sum-exps lie in memory: as the operators have them, [T, H], or [batch, H, q_rows], where rows
/// that a sample doesn't have stay unused.
enum class LseLayout { kPacked, kPadded };

/// What one plan is built for: `batch` samples of up to q_rows and kv_rows rows, each anywhere in its packed
/// tensor. bf16 but for log-sum-exps and sums, which are f32. Strides between rows are in elements.
struct AttentionShape {
  int64_t batch = 1, num_heads = 1, head_width = 128;
  int64_t q_rows = 0, kv_rows = 0;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0, dout_stride = 0;
  LseLayout lse = LseLayout::kPacked;

  auto operator<=>(const AttentionShape&) const = default;
};
/// For messages.
std::string text_of(const AttentionShape& shape);
/// The shape with row counts rounded up to one of few, so that plans are shared: the next of 4, 5, 6, 7 times
/// a power of two, at least 64. That adds less than a quarter to the rows.
AttentionShape bucketed(AttentionShape shape);

/// Ids of the tensors that a plan is started with. Offsets are i64 [batch + 1], in elements, lengths i32
/// [batch]; the three scalars are f32 on the host. Gradients are bf16 with rows of num_heads head_width.
enum class TensorId : int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kLse,
  kScale,
  kQLengths,
  kKvLengths,
  kQOffsets,
  kKOffsets,
  kVOffsets,
  kOutOffsets,
  kLseOffsets,
  // Backward alone.
  kDout,
  kDq,
  kDk,
  kDv,
  kDoutOffsets,
  kDqOffsets,
  kDkvOffsets,
  kDelta,  ///< work space, f32 [batch, H, q_rows]
  kDqSum,  ///< work space, f32 [batch, H, q_rows, K]; of plans with Bits::kAny alone
  kOne,
  kMinusInfinity
};

/// A GPU as cuDNN's JSON describes it: enough to build plans for it anywhere.
struct DeviceProperties {
  std::string json;

  /// A hundred times the compute capability: 800, 890, 900, 1000. Throws: Error when the JSON lacks it.
  int64_t version() const;
};
/// What a device says of itself. Throws: Error without a GPU.
DeviceProperties device_properties(int device_index);
/// How log-sum-exps must lie for a plan on the device: the backward kernels of sm_8x and sm_12x have a known
/// fault with packed ones, which cuDNN 9.19 doesn't refuse.
LseLayout lse_layout(const DeviceProperties& device);

/// A compiled kernel, or some, and what it takes to start them.
class AttentionPlan {
 public:
  /// Compiles a plan for a device, which takes 1 to 3 s.
  /// Throws: Error when cuDNN has none, as no backward pass with reproducible bits on sm_8x, or only one that
  /// wants more work space.
  static std::shared_ptr<const AttentionPlan> build(
      Pass pass, const AttentionShape& shape, const DeviceProperties& device, Bits bits,
      int64_t most_workspace_bytes = std::numeric_limits<int64_t>::max());
  /// The plan that `json` of another describes, without compiling.
  /// Throws: Error when it is of another kind of device or of another version of cuDNN.
  static std::shared_ptr<const AttentionPlan> load(const std::string& json, const DeviceProperties& device);

  AttentionPlan();
  ~AttentionPlan();
  AttentionPlan(const AttentionPlan&) = delete;
  AttentionPlan& operator=(const AttentionPlan&) = delete;

  /// cuDNN's number of the engine.
  int64_t engine() const;
  /// What the engine wants besides the tensors of TensorId.
  int64_t workspace_bytes() const;
  /// Graph, device, settings and compiled kernels.
  std::string json() const;
  /// cuDNN's execution plan.
  void* handle() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Where a tensor of a plan is: device memory, or host memory of the three scalars.
struct PlacedTensor {
  TensorId id;
  const void* data;
};

/// Runs plans on one stream of the current device.
class Runner {
 public:
  /// `stream` is CUDA's handle. Throws: Error when cuDNN can't be loaded or finds no GPU.
  explicit Runner(void* stream);
  ~Runner();

  const DeviceProperties& device() const;
  /// Starts a plan, which outlives this, and returns at once. All of the plan's tensors are given; scalars
  /// are read now. `workspace`: the plan's bytes of device memory.
  void run(const std::shared_ptr<const AttentionPlan>& plan, std::span<const PlacedTensor> tensors,
           void* workspace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace zoetrope::cudnn
