#include "model/ops/cuda/cudnn_engines.h"

#include <algorithm>

namespace zoetrope::cudnn {

Descriptor device_descriptor(const DeviceProperties& device) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties");
  properties.set_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, device.json);
  properties.finalize();
  return properties;
}

bool EngineChoice::has_note(cudnnBackendNumericalNote_t note) const {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const int64_t found = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   int64_t(notes.size()), notes.data());
  const auto end = notes.begin() + found;
  return std::find(notes.begin(), end, note) != end;
}

std::deque<EngineChoice> proposed_engines(const Descriptor& graph, const Descriptor& device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics");
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set_one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  heuristics.finalize();
  const int64_t count = heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  std::deque<EngineChoice> found;
  if (count == 0) return found;
  found.resize(size_t(count));
  std::vector<void*> configs;
  for (const EngineChoice& each : found) configs.push_back(each.config.handle());
  found.resize(size_t(
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, configs.data())));
  for (EngineChoice& each : found) {
    void* engine = each.engine.handle();
    each.config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
  }
  return found;
}

EngineChoice chosen_engine(const Descriptor& graph, const Descriptor& device, int64_t number,
                           const std::vector<std::pair<cudnnBackendKnobType_t, int64_t>>& settings) {
  EngineChoice choice;
  choice.engine.set_descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  choice.engine.set_one(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
  choice.engine.set_descriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, device);
  choice.engine.finalize();
  std::deque<Descriptor> knobs;
  std::vector<void*> handles;
  for (const auto& [type, value] : settings) {
    Descriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "engine setting");
    knob.set_one(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
    knob.set_one(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
    knob.finalize();
    handles.push_back(knob.handle());
  }
  choice.config.set_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, choice.engine);
  choice.config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(handles.size()),
                    handles.data());
  choice.config.finalize();
  return choice;
}

}  // namespace zoetrope::cudnn
