// Self-attention of samples whose tokens lie on several ranks: rings of any members with uneven shards.
// Every member sends its own K, V straight to each mate, one exchange step after the other, and merges the
// mates' blocks into its running (output, log-sum-exp); backward sends dK, dV back to their owner. Every
// transfer has compute to hide behind: in backward one part of a rank's own keys is computed first and the
// rest last.
#pragma once

#include <memory>
#include <vector>

#include "model/config.h"
#include "model/parallel_hooks.h"
#include "parallel/comm.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Time that a rank spent where nothing was computed, and bytes it received; reset by the caller.
struct ExchangeStats {
  double wait_seconds = 0, transfer_bytes = 0;
  int64_t exchanges = 0;
};

/// Faults that tests plant, to show that they would be noticed.
enum class RingFault { kNone, kSkipStep, kLoseGradient };

/// AttentionHook over a Comm. Per wave it is told the plan; KV of ring mates arrives in double-buffered
/// fixed areas while blocks already here are computed. Transfers are issued in the order of
/// schedule/issue_order.h, on every rank.
class ContextAttention : public AttentionHook {
 public:
  /// `max_tokens`: largest shard of a split sample; sizes the fixed ring buffers. While it lives, `ops` calls
  /// `comm.progress()` between blocks of attention.
  ContextAttention(const Ops& ops, Comm& comm, Arena& arena, const ModelConfig& config, Precision precision,
                   int64_t max_tokens);
  ~ContextAttention() override;

  /// Sets the rings of wave `wave` of `plan`; must run before the wave's forward on every rank.
  void begin_wave(const Plan& plan, int64_t wave);
  void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override;
  void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override;

  ExchangeStats& stats();
  /// Persistent bytes of the ring buffers for this many tokens.
  static int64_t buffer_bytes(const ModelConfig& config, Precision precision, int64_t max_tokens);
  /// Tests only.
  void plant_fault(RingFault fault);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
