#include "video/sources/source_changes.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/thread_pool.h"
#include "video/media/media_file.h"

namespace zoetrope {
namespace {

std::string listed(const std::vector<std::string>& names, const char* what) {
  constexpr size_t kShown = 20;
  if (names.empty()) return "";
  std::string out = join_message("\n  ", names.size(), " ", what, ": ");
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? join_message(out, " and ", names.size() - kShown, " more") : out;
}

/// Compares two lists of names; is_same(then index, now index) decides for those in both.
SourceChanges compare(const std::vector<std::string>& then, const std::vector<std::string>& now,
                      const std::function<bool(size_t, size_t)>& is_same) {
  std::map<std::string, size_t> then_at, now_at;
  for (size_t i = 0; i < then.size(); ++i) then_at[then[i]] = i;
  for (size_t i = 0; i < now.size(); ++i) now_at[now[i]] = i;
  SourceChanges changes;
  for (size_t i = 0; i < then.size(); ++i) {
    const auto found = now_at.find(then[i]);
    const bool same = found != now_at.end() && is_same(i, found->second);
    if (found == now_at.end()) changes.removed.push_back(then[i]);
    else if (!same) changes.changed.push_back(then[i]);
    if (same && changes.same_prefix == int64_t(i) && found->second == i) ++changes.same_prefix;
  }
  for (const std::string& name : now)
    if (then_at.count(name) == 0) changes.added.push_back(name);
  return changes;
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace

std::string SourceChanges::text() const {
  return listed(added, "added") + listed(removed, "removed") + listed(changed, "changed");
}

SourceChanges compare_with_inventory(const std::vector<InventoryItem>& then,
                                     const std::vector<InventoryItem>& now,
                                     const std::vector<ManifestEntry>& decided,
                                     const std::vector<MediaLocation>& paths) {
  std::map<std::string, std::string> hashes;
  for (const ManifestEntry& entry : decided) hashes[entry.name] = entry.source_hash;
  return compare(names_of(then), names_of(now), [&](size_t a, size_t b) {
    if (then[a].bytes != now[b].bytes || then[a].caption_hash != now[b].caption_hash) return false;
    if (then[a].modified_ns == now[b].modified_ns) return true;
    const auto hash = hashes.find(then[a].name);
    return hash != hashes.end() && hash->second == hash_or_nothing(paths[b]);
  });
}

SourceChanges compare_with_manifest(const std::vector<ManifestEntry>& then,
                                    const std::vector<InventoryItem>& now,
                                    const std::vector<MediaLocation>& paths, int64_t workers) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < then.size(); ++i) by_name[then[i].name] = i;
  std::vector<char> same(then.size(), 0);
  ThreadPool(int(workers)).parallel_for(int64_t(now.size()), [&](int64_t index) {
    const InventoryItem& item = now[size_t(index)];
    const auto found = by_name.find(item.name);
    if (found == by_name.end()) return;
    const ManifestEntry& entry = then[found->second];
    same[found->second] = entry.source_bytes == item.bytes && entry.caption_hash == item.caption_hash &&
                          entry.source_hash == hash_or_nothing(paths[size_t(index)]);
  });
  return compare(names_of(then), names_of(now), [&](size_t a, size_t) { return same[a] != 0; });
}

}  // namespace zoetrope
