// The five places where other ranks enter the model, each with a local default. The model calls all of them
// from the start and knows nothing of ranks; parallel/ implements them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/batch.h"
#include "model/ops/ops.h"

namespace zoetrope {

/// A unit of parameters and of execution, in forward order.
struct Unit {
  enum Kind { kPatchEmbedding, kTimeEmbedding, kTextEmbedding, kBlock, kHead } kind = kBlock;
  int64_t block = 0;
};

enum class Phase { kForward, kRecompute, kBackward };

/// Self-attention over whole samples, whose tokens may lie on several ranks.
class AttentionHook {
 public:
  virtual ~AttentionHook() = default;
  /// Shapes: out [T, D] compute; lse [T, H] wide; q, k, v [T, D] compute, rows as in `batch`.
  virtual void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                       const Tensor& v, const MicroBatch& batch, int64_t block, int64_t num_heads,
                       double scale) = 0;
  /// dq, dk, dv [T, D] wide, overwritten with the complete gradients of this rank's rows.
  virtual void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        const Tensor& lse, const MicroBatch& batch, int64_t block, int64_t num_heads,
                        double scale) = 0;
};

/// Told when the gradient of a unit is final for this micro-batch.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void unit_done(Unit) {}
};

/// Makes a unit's parameters available before use (fully sharded parameters gather here).
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  virtual void acquire(Unit, Phase) {}
  virtual void release(Unit, Phase) {}
};

/// Column- and row-parallel regions. `enter` runs before a column-parallel product, `leave` after a
/// row-parallel one; both may change the number of rows; each has its backward.
class WidthShard {
 public:
  virtual ~WidthShard() = default;
  virtual Tensor enter(const Tensor& x) { return x; }
  virtual Tensor enter_backward(const Tensor& dx) { return dx; }
  virtual Tensor leave(const Tensor& y) { return y; }
  virtual Tensor leave_backward(const Tensor& dy) { return dy; }
  /// Completes per-row sums of squares of a norm over split columns.
  virtual void reduce_statistics(const Tensor&) {}
  virtual void reduce_statistics_backward(const Tensor&) {}
  /// Parameters whose gradients are partial sums on this rank.
  virtual std::vector<std::string> partial_gradients() const { return {}; }
};

/// The range of blocks that this rank runs, and the boundary tensors to its neighbours: x, the per-sample
/// modulation and the text context forward, the gradients of all three back.
class BlockRange {
 public:
  struct Boundary {
    Tensor x, modulation, text;
  };
  virtual ~BlockRange() = default;
  virtual int64_t begin() const { return 0; }
  virtual int64_t end(int64_t num_blocks) const { return num_blocks; }
  virtual void receive_forward(Boundary&) {}
  virtual void send_forward(const Boundary&) {}
  virtual void receive_backward(Boundary&) {}
  virtual void send_backward(const Boundary&) {}
};

/// Local default of self-attention: every sample's tokens are all here; samples of the micro-batch attend
/// within themselves.
class LocalAttention : public AttentionHook {
 public:
  /// `delta_arena`: where backward takes its [T, H] delta from.
  LocalAttention(const Ops& ops, Arena& arena) : ops_(ops), arena_(arena) {}
  void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override;
  void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override;

 private:
  const Ops& ops_;
  Arena& arena_;
};

/// All five, owned by whoever assembles the step.
struct ParallelHooks {
  AttentionHook* attention = nullptr;
  GradientSink* gradients = nullptr;
  ParameterSource* parameters = nullptr;
  WidthShard* width = nullptr;
  BlockRange* blocks = nullptr;
};

/// Rows of each sample on this rank: consecutive segments of one sample joined.
/// Returns one (first segment index, row begin, row end) per sample, in row order.
struct SampleRows {
  int64_t first_segment = 0, begin = 0, end = 0;
};
/// The samples of a micro-batch.
std::vector<SampleRows> sample_rows(const MicroBatch& batch);

}  // namespace zoetrope
