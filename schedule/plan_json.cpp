// Plan <-> JSON, design.md's format. Writing is by hand to keep the keys in the order of the format.
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "schedule/plan.h"

namespace zoetrope {
namespace {

using nlohmann::json;

void require_keys(const json& object, std::initializer_list<const char*> keys, const std::string& where) {
  ZT_REQUIRE(object.is_object(), where, ": found ", object.type_name(), ", expected an object");
  for (const char* key : keys) ZT_REQUIRE(object.contains(key), where, ": key '", key, "' is missing");
  for (const auto& entry : object.items()) {
    bool known = false;
    for (const char* key : keys) known = known || entry.key() == key;
    ZT_REQUIRE(known, where, ": unknown key '", entry.key(), "'");
  }
}

const json& require_array(const json& value, const std::string& where) {
  ZT_REQUIRE(value.is_array(), where, ": found ", value.type_name(), ", expected an array");
  return value;
}

int64_t require_integer(const json& value, const std::string& where) {
  ZT_REQUIRE(value.is_number_integer(), where, ": found ", value.dump(), ", expected an integer");
  return value.get<int64_t>();
}

Shard read_shard(const json& value, const std::string& where) {
  require_array(value, where);
  ZT_REQUIRE(value.size() == 3, where, ": a shard has ", value.size(),
             " numbers, expected [sample, begin, end]");
  return {require_integer(value[0], where), require_integer(value[1], where),
          require_integer(value[2], where)};
}

Wave read_wave(const json& value, const std::string& where) {
  require_keys(value, {"slots", "rings"}, where);
  Wave wave;
  for (const json& slot : require_array(value["slots"], where + ".slots")) {
    const std::string slot_where = where + ".slots[" + std::to_string(wave.slots.size()) + "]";
    wave.slots.emplace_back();
    for (const json& shard : require_array(slot, slot_where))
      wave.slots.back().push_back(read_shard(shard, slot_where));
  }
  for (const json& ring : require_array(value["rings"], where + ".rings")) {
    const std::string ring_where = where + ".rings[" + std::to_string(wave.rings.size()) + "]";
    require_keys(ring, {"sample", "exchange"}, ring_where);
    const json& exchange = ring["exchange"];
    ZT_REQUIRE(exchange.is_string(), ring_where, ": exchange is ", exchange.dump(), ", expected a name");
    try {
      wave.rings.push_back(
          {require_integer(ring["sample"], ring_where), exchange_from(exchange.get<std::string>())});
    } catch (const Error& problem) { throw Error(join_message(ring_where, ": ", problem.what())); }
  }
  order_rings(wave);  // files may list them in another order
  return wave;
}

template <class Items, class Write>
void write_list(std::string& text, const Items& items, const Write& write) {
  text += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += ',';
    first = false;
    write(item);
  }
  text += ']';
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  std::string text = "{\"version\":1,\"waves\":";
  write_list(text, plan.waves, [&](const Wave& wave) {
    text += "{\"slots\":";
    write_list(text, wave.slots, [&](const std::vector<Shard>& slot) {
      write_list(text, slot, [&](const Shard& shard) {
        text += '[' + std::to_string(shard.sample) + ',' + std::to_string(shard.begin) + ',' +
                std::to_string(shard.end) + ']';
      });
    });
    text += ",\"rings\":";
    write_list(text, wave.rings, [&](const Ring& ring) {
      text +=
          "{\"sample\":" + std::to_string(ring.sample) + ",\"exchange\":\"" + name_of(ring.exchange) + "\"}";
    });
    text += '}';
  });
  return text + "}";
}

Plan plan_from_json(const std::string& text, const std::string& name_for_errors) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& problem) {
    ZT_REQUIRE(false, name_for_errors, ": no JSON: ", problem.what());
  }
  require_keys(root, {"version", "waves"}, name_for_errors);
  ZT_REQUIRE(root["version"] == 1, name_for_errors, ": plan version ", root["version"].dump(),
             ", this program reads version 1");
  Plan plan;
  for (const json& wave : require_array(root["waves"], name_for_errors + ": waves"))
    plan.waves.push_back(
        read_wave(wave, name_for_errors + ": waves[" + std::to_string(plan.waves.size()) + "]"));
  return plan;
}

}  // namespace zoetrope
