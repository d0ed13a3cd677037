#include "schedule/chrome_trace.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "core/check.h"

namespace zoetrope {
namespace {

const char* name_of(SimSpan::Kind kind) {
  switch (kind) {
    case SimSpan::kCompute: return "compute";
    case SimSpan::kTransfer: return "transfer";
    case SimSpan::kWait: return "wait";
    case SimSpan::kAllReduce: return "all-reduce";
    case SimSpan::kOptimizer: return "optimizer";
  }
  return "";
}

/// Nanoseconds as the format's microseconds.
std::string micros(int64_t ns) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%lld.%03d", static_cast<long long>(ns / 1000), int(ns % 1000));
  return text.data();
}

/// Writes the events of one trace; all text in them is made of names and numbers, so that nothing is escaped.
class TraceWriter {
 public:
  TraceWriter(const Simulation& simulation, const Plan& plan, const ChromeTraceNames& names)
      : simulation_(simulation), plan_(plan), names_(names), stages_(size_t(simulation.num_stages)) {}

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    int64_t last_process = -1;
    for (size_t lane = 0; lane < simulation_.lanes.size(); ++lane) {
      if (process_of(lane) != last_process) name_process(last_process = process_of(lane));
      name_thread(lane);
      write_lane(lane);
      write_counter(lane);
    }
    return std::move(text_) + "\n]}\n";
  }

 private:
  int64_t process_of(size_t lane) const {
    const int64_t slot = int64_t(lane / stages_);
    return stages_ > 1 ? slot : slot / std::max<int64_t>(1, names_.ranks_per_node);
  }
  std::string thread_name(size_t lane) const {
    return stages_ > 1 ? join_message("stage ", lane % stages_) : join_message("rank ", lane);
  }
  /// `{"ph":PHASE,"pid":...,"tid":...,` of an event; the caller adds the rest up to the brace.
  void event(char phase, int64_t process, size_t lane, const std::string& rest) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ += join_message("{\"ph\":\"", phase, "\",\"pid\":", process, ",\"tid\":", lane, ",", rest, "}");
  }
  void name_process(int64_t process) {
    const std::string name = join_message(stages_ > 1 ? "pipeline " : "node ", process);
    event('M', process, 0, "\"name\":\"process_name\",\"args\":{\"name\":\"" + name + "\"}");
    event('M', process, 0,
          join_message("\"name\":\"process_sort_index\",\"args\":{\"sort_index\":", process, "}"));
  }
  void name_thread(size_t lane) {
    event('M', process_of(lane), lane,
          "\"name\":\"thread_name\",\"args\":{\"name\":\"" + thread_name(lane) + "\"}");
    event('M', process_of(lane), lane,
          join_message("\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", lane, "}"));
  }
  void slice(size_t lane, const std::string& name, const char* category, int64_t begin, int64_t end,
             const std::string& arguments) {
    event('X', process_of(lane), lane,
          "\"name\":\"" + name + "\",\"cat\":\"" + category + "\",\"ts\":" + micros(begin) +
              ",\"dur\":" + micros(end - begin) + (arguments.empty() ? "" : ",\"args\":{" + arguments + "}"));
  }

  /// Tokens and samples of the lane in a wave.
  std::string holdings(size_t lane, int64_t wave) const {
    constexpr size_t kMostNamed = 20;
    const std::vector<Shard>& shards = plan_.waves[size_t(wave)].slots[lane / stages_];
    std::string samples;
    for (size_t i = 0; i < std::min(shards.size(), kMostNamed); ++i) {
      const size_t sample = size_t(shards[i].sample);
      samples += join_message(i == 0 ? "" : ", ", "#",
                              names_.samples.empty() ? int64_t(sample) : names_.samples[sample], " [",
                              shards[i].begin, ", ", shards[i].end, ")");
    }
    if (shards.size() > kMostNamed) samples += join_message(" and ", shards.size() - kMostNamed, " more");
    return join_message("\"wave\":", wave, ",\"tokens\":", tokens_of(shards), ",\"segments\":", shards.size(),
                        ",\"samples\":\"", samples, "\"");
  }

  void write_lane(size_t lane) {
    const std::vector<SimSpan>& spans = simulation_.lanes[lane];
    for (size_t i = 0; i < spans.size(); ++i) {
      const SimSpan& span = spans[i];
      const auto same = [&](const SimSpan& other) {
        return other.wave == span.wave && other.backward == span.backward;
      };
      if (span.wave >= 0 && (i == 0 || !same(spans[i - 1]))) {
        size_t last = i;
        while (last + 1 < spans.size() && same(spans[last + 1])) ++last;
        slice(lane, join_message("wave ", span.wave, span.backward ? " backward" : " forward"), "pass",
              span.begin_ns, spans[last].end_ns, holdings(lane, span.wave));
      }
      slice(lane, name_of(span.kind), name_of(span.kind), span.begin_ns, span.end_ns, "");
    }
  }

  /// A wave's tokens are held from the first thing that is computed of it to the last.
  void write_counter(size_t lane) {
    std::map<int64_t, std::pair<int64_t, int64_t>> waves;  // first begin and last end
    for (const SimSpan& span : simulation_.lanes[lane])
      if (span.kind == SimSpan::kCompute || span.kind == SimSpan::kTransfer)
        waves.try_emplace(span.wave, span.begin_ns, span.end_ns).first->second.second = span.end_ns;
    std::map<int64_t, int64_t> change;
    for (const auto& [wave, times] : waves) {
      const int64_t tokens = tokens_of(plan_.waves[size_t(wave)].slots[lane / stages_]);
      change[times.first] += tokens;
      change[times.second] -= tokens;
    }
    int64_t held = 0;
    for (const auto& [time, tokens] : change) {
      held += tokens;
      event('C', process_of(lane), lane,
            "\"name\":\"tokens held, " + thread_name(lane) + "\",\"ts\":" + micros(time) +
                join_message(",\"args\":{\"tokens\":", held, "}"));
    }
  }

  const Simulation& simulation_;
  const Plan& plan_;
  const ChromeTraceNames& names_;
  size_t stages_;
  std::string text_;
  bool is_first_ = true;
};

}  // namespace

std::string chrome_trace(const Simulation& simulation, const Plan& plan, const ChromeTraceNames& names) {
  ZT_CHECK(int64_t(simulation.lanes.size()) == plan.num_slots() * simulation.num_stages, "a simulation of ",
           simulation.lanes.size(), " lanes for a plan of ", plan.num_slots(), " slots and ",
           simulation.num_stages, " stages");
  return TraceWriter(simulation, plan, names).write();
}

}  // namespace zoetrope
