// How calls of several ranks meet in the NCCL stand-in.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/dtype.h"
#include "tests/simt/nccl.h"
#include "tests/simt/simt.h"

namespace simt::nccl {
namespace {

/// The group that runs on each device.
std::vector<std::weak_ptr<Group>>& running() {
  static auto* one = new std::vector<std::weak_ptr<Group>>;
  return *one;
}
std::shared_ptr<Group> running_on(int device) {
  if (size_t(device) >= running().size()) return nullptr;
  const std::shared_ptr<Group> group = running()[size_t(device)].lock();
  return group && group->started && !group->finished ? group : nullptr;
}

Group* started_group(const Clique& clique, int rank) {
  const ncclComm* comm = clique.members[size_t(rank)];
  if (comm == nullptr || comm->groups.empty() || !comm->groups.front()->started) return nullptr;
  return comm->groups.front().get();
}

template <class Wanted>
Part* find_part(Group* group, const Wanted& wanted) {
  if (group == nullptr) return nullptr;
  for (Part& part : group->parts)
    if (!part.done && wanted(part)) return &part;
  return nullptr;
}

size_t width_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclFloat64: return 8;
    case ncclBfloat16: return 2;
    default: return 1;
  }
}

bool match_message(const Clique& clique, int from, int to) {
  Part* send = find_part(started_group(clique, from),
                         [to](const Part& p) { return p.kind == Kind::kSend && p.peer == to; });
  Part* receive = find_part(started_group(clique, to),
                            [from](const Part& p) { return p.kind == Kind::kReceive && p.peer == from; });
  if (send == nullptr || receive == nullptr) return false;
  if (send->bytes() != receive->bytes())
    throw Error("rank " + std::to_string(from) + " has come to its " + send->text() + ", rank " +
                std::to_string(to) + " to its " + receive->text() + ": sizes differ");
  std::memcpy(receive->to, send->from, send->bytes());
  send->done = receive->done = true;
  return true;
}

/// Starts at another rank from slice to slice, as rings do: who counts on rank order must sum by himself.
template <class T>
void reduce(const std::vector<Part*>& parts, ncclRedOp_t operation) {
  const size_t ranks = parts.size(), count = parts[0]->count;
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i * ranks / count;
    for (size_t step = 0; step < ranks; ++step) {
      const T value = static_cast<const T*>(parts[(first + step) % ranks]->from)[i];
      if (step == 0) result[i] = value;
      else if (operation == ncclMax) result[i] = std::max(result[i], value);
      else result[i] += value;
    }
  }
  for (Part* part : parts) std::copy(result.begin(), result.end(), static_cast<T*>(part->to));
}

void run_collective(const std::vector<Part*>& parts) {
  const Part& first = *parts[0];
  if (first.kind == Kind::kAllReduce) {
    if (first.type == ncclFloat32) reduce<float>(parts, first.reduction);
    else reduce<double>(parts, first.reduction);
  }
  if (first.kind == Kind::kAllGather) {
    std::vector<char> all;
    for (const Part* part : parts) {
      const char* from = static_cast<const char*>(part->from);
      all.insert(all.end(), from, from + part->bytes());
    }
    for (Part* part : parts) std::memcpy(part->to, all.data(), all.size());
  }
  if (first.kind == Kind::kBroadcast)
    for (Part* part : parts) std::memmove(part->to, parts[size_t(first.peer)]->from, first.bytes());
  for (Part* part : parts) part->done = true;
}

bool match_collective(const Clique& clique) {
  std::vector<Part*> parts;
  for (int rank = 0; rank < clique.size; ++rank) {
    Part* part = find_part(started_group(clique, rank), [](const Part& p) { return p.collective(); });
    if (part == nullptr) return false;
    parts.push_back(part);
  }
  for (int rank = 1; rank < clique.size; ++rank)
    if (parts[size_t(rank)]->text() != parts[0]->text())
      throw Error("rank 0 has come to its " + parts[0]->text() + ", rank " + std::to_string(rank) +
                  " to its " + parts[size_t(rank)]->text());
  run_collective(parts);
  return true;
}

/// Whether the two parts would meet, seen from the part of rank `rank`.
bool fits(const Part& part, int rank, const Part& other, int other_rank) {
  if (part.collective()) return other.collective();
  const Kind wanted = part.kind == Kind::kSend ? Kind::kReceive : Kind::kSend;
  return other.kind == wanted && other.peer == rank && part.peer == other_rank;
}

/// What keeps `other` from coming to its counterpart of `part`.
cuda::Need need_of(const Group& group, const Part& part, int other) {
  const Clique& clique = *group.comm->clique;
  const std::string who = "rank " + std::to_string(group.comm->rank) + " in its " + part.text();
  const std::string whom = "rank " + std::to_string(other);
  const ncclComm* peer = clique.members[size_t(other)];
  if (peer == nullptr) return {{}, cuda::kNever, who + " needs " + whom + ", which has left"};
  for (const auto& theirs : peer->groups)
    for (const Part& candidate : theirs->parts)
      if (!candidate.done && fits(part, group.comm->rank, candidate, other))
        return {theirs->position, -1, who + " needs " + whom + " to come to its " + candidate.text()};
  return {{}, peer->thread, who + " needs a call of " + whom + " that is not issued yet"};
}

}  // namespace

size_t Part::bytes() const { return count * width_of(type); }

std::string Part::text() const {
  std::ostringstream out;
  switch (kind) {
    case Kind::kSend: out << "send to rank " << peer; break;
    case Kind::kReceive: out << "receive from rank " << peer; break;
    case Kind::kAllReduce: out << (reduction == ncclMax ? "all-reduce (max)" : "all-reduce (sum)"); break;
    case Kind::kAllGather: out << "all-gather"; break;
    case Kind::kBroadcast: out << "broadcast from rank " << peer; break;
  }
  out << " of " << count << " elements of " << width_of(type) << " bytes";
  return out.str();
}

std::string Group::text() const {
  std::string all = "NCCL on rank " + std::to_string(comm->rank) + ":";
  for (const Part& part : parts) all += " " + part.text() + ";";
  return all;
}

bool Group::can_start() const { return comm->groups.front().get() == this && !running_on(comm->device); }

void Group::start() {
  started = true;
  if (running().size() <= size_t(comm->device)) running().resize(size_t(comm->device) + 1);
  running()[size_t(comm->device)] = comm->groups.front();
  match(*comm->clique);
}

std::vector<cuda::Need> Group::needs() const {
  if (finished) return {};
  if (!started) {
    const Group& first = *comm->groups.front();
    if (&first != this) return {{first.position, -1, "an earlier call on the communicator: " + first.text()}};
    if (const auto other = running_on(comm->device))
      return {{other->position, -1,
               "another communicator holds device " + std::to_string(comm->device) + ": " + other->text()}};
    return {};
  }
  std::vector<cuda::Need> all;
  for (const Part& part : parts) {
    if (part.done) continue;
    if (!part.collective()) all.push_back(need_of(*this, part, part.peer));
    for (int rank = 0; part.collective() && rank < comm->clique->size; ++rank)
      if (!find_part(started_group(*comm->clique, rank), [](const Part& p) { return p.collective(); }))
        all.push_back(need_of(*this, part, rank));
  }
  return all;
}

void forget_running() { running().clear(); }

void finish(Group& group) {
  group.finished = true;
  auto& groups = group.comm->groups;
  std::erase_if(groups, [&](const auto& each) { return each.get() == &group; });
}

void match(Clique& clique) {
  for (bool again = true; again;) {
    again = match_collective(clique);
    for (int from = 0; from < clique.size; ++from)
      for (int to = 0; to < clique.size; ++to) again = match_message(clique, from, to) || again;
    for (int rank = 0; rank < clique.size; ++rank) {
      Group* group = started_group(clique, rank);
      const auto is_done = [](const Part& part) { return part.done; };
      if (group && std::all_of(group->parts.begin(), group->parts.end(), is_done)) finish(*group);
    }
  }
}

}  // namespace simt::nccl
