#include "schedule/issue_order.h"

#include <algorithm>
#include <map>

#include "core/check.h"

namespace zoetrope {
namespace {

/// First sends and receives of a channel that were posted but not yet matched, as indices into sequences.
struct Channel {
  std::vector<size_t> sends, receives;
};

const char* name_of(TransferKind kind) {
  switch (kind) {
    case TransferKind::kForwardKeys: return "forward keys";
    case TransferKind::kBackwardKeys: return "backward keys";
    case TransferKind::kGradients: return "gradients";
  }
  return "?";
}

std::string describe(const IssuedTransfer& issued) {
  return join_message("wave ", issued.wave, ", block ", issued.block, ", sample ", issued.sample, ", ",
                      name_of(issued.transfer.kind), " step ", issued.transfer.step);
}

bool same_transfer(const IssuedTransfer& a, const IssuedTransfer& b) {
  return a.wave == b.wave && a.block == b.block && a.sample == b.sample &&
         a.transfer.kind == b.transfer.kind && a.transfer.step == b.transfer.step;
}

using Sequences = std::vector<std::vector<IssuedTransfer>>;

std::string describe_circle(const Sequences& sequences, const std::vector<size_t>& position) {
  std::string text = "no rank can go on:";
  for (size_t rank = 0; rank < sequences.size(); ++rank)
    if (position[rank] < sequences[rank].size()) {
      const IssuedTransfer& at = sequences[rank][position[rank]];
      text += join_message(" rank ", rank, " sends to ", at.transfer.send_to, " and receives from ",
                           at.transfer.receive_from, " (", describe(at), ");");
    }
  return text;
}

}  // namespace

std::vector<RingTransfer> ring_transfers(const std::vector<int>& members, int member, bool backward) {
  const int c = int(members.size());
  ZT_CHECK(member >= 0 && member < c, "member ", member, " of a ring of ", c);
  const auto at = [&](int offset) { return (member + offset % c + c) % c; };
  const auto keys = [&](int step) {
    return RingTransfer{backward ? TransferKind::kBackwardKeys : TransferKind::kForwardKeys, step,
                        members[size_t(at(step))], members[size_t(at(-step))], at(-step)};
  };
  std::vector<RingTransfer> order;
  if (c > 1) order.push_back(keys(1));
  for (int step = 1; step < c; ++step) {
    if (step + 1 < c) order.push_back(keys(step + 1));
    if (backward)
      order.push_back(
          {TransferKind::kGradients, step, members[size_t(at(-step))], members[size_t(at(step))], at(-step)});
  }
  return order;
}

std::vector<IssuedTransfer> issue_order(const Plan& plan, int slot, int64_t num_blocks) {
  std::vector<IssuedTransfer> order;
  for (int64_t w = 0; w < int64_t(plan.waves.size()); ++w) {
    const std::vector<RingView> rings = split_samples(plan.waves[size_t(w)]);
    for (const bool backward : {false, true})
      for (int64_t i = 0; i < num_blocks; ++i)
        for (const RingView& ring : rings) {
          const auto found = std::find(ring.members.begin(), ring.members.end(), slot);
          if (found == ring.members.end()) continue;
          const int member = int(found - ring.members.begin());
          for (const RingTransfer& transfer : ring_transfers(ring.members, member, backward))
            order.push_back({w, backward ? num_blocks - 1 - i : i, ring.sample, transfer});
        }
  }
  return order;
}

std::string run_blocking(const Sequences& sequences) {
  std::vector<size_t> position(sequences.size(), 0);
  std::vector<bool> posted(sequences.size(), false);
  std::vector<int> open(sequences.size(), 0);  // halves of the current call that still wait
  std::map<std::pair<int, int>, Channel> channels;
  const auto post = [&](size_t rank) -> std::string {
    const RingTransfer& transfer = sequences[rank][position[rank]].transfer;
    posted[rank] = true;
    open[rank] = 2;
    channels[{int(rank), transfer.send_to}].sends.push_back(position[rank]);
    channels[{transfer.receive_from, int(rank)}].receives.push_back(position[rank]);
    for (const auto& [from, to] :
         {std::pair{int(rank), transfer.send_to}, std::pair{transfer.receive_from, int(rank)}}) {
      Channel& channel = channels[{from, to}];
      while (!channel.sends.empty() && !channel.receives.empty()) {
        const IssuedTransfer& sent = sequences[size_t(from)][channel.sends.front()];
        const IssuedTransfer& received = sequences[size_t(to)][channel.receives.front()];
        if (!same_transfer(sent, received))
          return join_message("rank ", from, " sends (", describe(sent), ") while rank ", to, " receives (",
                              describe(received), ")");
        --open[size_t(from)];
        --open[size_t(to)];
        channel.sends.erase(channel.sends.begin());
        channel.receives.erase(channel.receives.begin());
      }
    }
    return "";
  };
  bool moved = true, all_done = false;
  while (moved && !all_done) {
    moved = false;
    all_done = true;
    for (size_t rank = 0; rank < sequences.size(); ++rank) {
      if (position[rank] == sequences[rank].size()) continue;
      all_done = false;
      if (!posted[rank]) {
        if (std::string problem = post(rank); !problem.empty()) return problem;
        moved = true;
      } else if (open[rank] == 0) {
        posted[rank] = false;
        ++position[rank];
        moved = true;
      }
    }
  }
  return all_done ? "" : describe_circle(sequences, position);
}

}  // namespace zoetrope
