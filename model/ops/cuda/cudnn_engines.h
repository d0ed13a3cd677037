// Which of cuDNN's engines runs a graph, and with which settings.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "model/ops/cuda/cudnn_attention.h"
#include "model/ops/cuda/cudnn_descriptor.h"

namespace zoetrope::cudnn {

/// cuDNN's description of a GPU. Throws: Error when the JSON is not complete.
Descriptor device_descriptor(const DeviceProperties& device);

/// An engine with its settings.
struct EngineChoice {
  Descriptor config{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration"};
  Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine"};

  int64_t number() const { return engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX); }
  /// Whether cuDNN says this of the engine.
  bool has_note(cudnnBackendNumericalNote_t note) const;
};

/// What cuDNN proposes for a graph on a device, best first. It leaves out in silence what it can't do there:
/// a list may be empty.
std::deque<EngineChoice> proposed_engines(const Descriptor& graph, const Descriptor& device);

/// One engine with given settings. Throws: Error when cuDNN refuses them.
EngineChoice chosen_engine(const Descriptor& graph, const Descriptor& device, int64_t number,
                           const std::vector<std::pair<cudnnBackendKnobType_t, int64_t>>& settings);

}  // namespace zoetrope::cudnn
