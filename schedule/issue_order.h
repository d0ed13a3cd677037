// The one order in which a rank issues its ring transfers: wave, forward before backward, block in execution
// order, ring, exchange step. parallel/ issues by it; a test runs it through blocking rendezvous, since a
// plan alone can't show a circle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/plan.h"

namespace zoetrope {

enum class TransferKind {
  kForwardKeys,   ///< K and V of a mate's block
  kBackwardKeys,  ///< the same again, in backward
  kGradients,     ///< dK and dV of a mate's block, back to its owner
};

/// One grouped call of a rank: send to one mate, receive from another.
struct RingTransfer {
  TransferKind kind = TransferKind::kForwardKeys;
  int step = 0;     ///< exchange step s, 1 .. c-1
  int send_to = 0;  ///< slot
  int receive_from = 0;
  /// Index among the members of the block that comes in (keys), or that the outgoing gradients belong to.
  int block_member = 0;
  bool operator==(const RingTransfer&) const = default;
};

/// Transfers of member `member` (its index) of a ring for one block of the network, in issue order.
/// Forward: for s = 1 .. c-1 receive K, V of member i - s and send the own ones to member i + s (mod c).
/// Backward: the same, and once block i - s is computed its dK, dV go back to it while the own ones come from
/// i + s. Keys are issued one step ahead of gradients (two buffers): K1, K2, G1, K3, G2, ..., G(c-1).
std::vector<RingTransfer> ring_transfers(const std::vector<int>& members, int member, bool backward);

/// One entry of a rank's whole step.
struct IssuedTransfer {
  int64_t wave = 0;
  int64_t block = 0;   ///< block of the network
  int64_t sample = 0;  ///< names the ring
  RingTransfer transfer;
};

/// Everything that `slot` issues in one step of a network of `num_blocks` blocks.
std::vector<IssuedTransfer> issue_order(const Plan& plan, int slot, int64_t num_blocks);

/// Runs the sequences of all ranks with calls that block until both peers have arrived. Returns an empty text
/// when all end, otherwise who waits for whom (a circle), or which peers disagree on a transfer.
std::string run_blocking(const std::vector<std::vector<IssuedTransfer>>& sequences);

}  // namespace zoetrope
