// A Comm that tells a ReplayRecorder of every exchange, wait and collective, and is otherwise the one it
// wraps. Sits between ContextAttention, GradientSync and the real Comm, so that none of them knows of
// recording.
#pragma once

#include <memory>

#include "parallel/comm.h"
#include "schedule/replay.h"

namespace zoetrope {

/// `inner` and `recorder` outlive the result.
std::unique_ptr<Comm> make_recording_comm(Comm& inner, ReplayRecorder& recorder);

/// The traces of all ranks, the same on every rank. `comm` must be the one that is not recorded.
std::vector<ReplayTrace> gather_traces(Comm& comm, const ReplayTrace& own);

}  // namespace zoetrope
