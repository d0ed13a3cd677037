#include "tools/verdict.h"

#include <algorithm>
#include <cmath>

#include "tools/text_format.h"

namespace zoetrope {
namespace {

/// Lengths are alike when the longest is at most this much longer than the shortest.
constexpr double kAlike = 0.05;
/// Most of a whole.
constexpr double kMost = 0.9;

double gain_of(int64_t rival_ns, int64_t ours_ns) {
  return ours_ns > 0 ? double(rival_ns) / double(ours_ns) - 1 : 0;
}

std::string faster(double gain) {
  return gain >= 1 ? format_text("%.2f times as fast", 1 + gain) : percent(gain) + " faster";
}

/// "12.3 % faster", "2.50 times as fast", "nothing (1.2 %)", "4.0 % slower".
std::string gain_words(double gain) {
  if (gain >= kLeastGain) return faster(gain);
  if (gain > -kLeastGain) return "nothing (" + percent(gain) + ")";
  return percent(1 / (1 + gain) - 1) + " slower";
}

std::string with_size(const VerdictRival& rival) {
  return rival.cp > 0 ? format_text("%s (CP %lld)", rival.planner.c_str(), static_cast<long long>(rival.cp))
                      : rival.planner;
}

void add_headline(const VerdictFigures& f, Verdict& verdict) {
  const std::string& ours = f.ours;
  if (f.balanced.total_ns == 0) {
    verdict.pays = true;
    verdict.headline = "It pays: " + ours +
                       " has a plan, balanced static CP has none: no size that divides " +
                       with_commas(f.num_ranks) + " ranks holds the longest sample.";
    return;
  }
  verdict.gain = gain_of(f.balanced.total_ns, f.ours_ns);
  verdict.pays = verdict.gain >= kLeastGain;
  const std::string best =
      "the best balanced static plan" +
      (f.balanced.cp > 0 ? format_text(" (CP %lld)", static_cast<long long>(f.balanced.cp)) : std::string());
  if (verdict.pays)
    verdict.headline =
        "It pays: " + ours + " is " + faster(verdict.gain) + (verdict.gain >= 1 ? " as " : " than ") + best;
  else if (verdict.gain > -kLeastGain)
    verdict.headline =
        "It does not pay: against " + best + " " + ours + " gains nothing (" + percent(verdict.gain) + ")";
  else verdict.headline = "It does not pay: " + ours + " is " + gain_words(verdict.gain) + " than " + best;
  if (f.simulated_balanced_ns > 0 && f.simulated_ours_ns > 0) {
    const double simulated = gain_of(f.simulated_balanced_ns, f.simulated_ours_ns);
    verdict.headline += "; simulated layer by layer: " + gain_words(simulated);
    if (verdict.pays && simulated < kLeastGain) {
      verdict.pays = false;
      verdict.headline.replace(0, std::string("It pays").size(), "It is not sure to pay");
    }
  }
  verdict.headline += ".";
}

void add_rivals(const VerdictFigures& f, Verdict& verdict) {
  for (const VerdictRival& rival : f.others) {
    verdict.rivals += verdict.rivals.empty() ? "Over " : "; over ";
    verdict.rivals += with_size(rival) + ": ";
    verdict.rivals += rival.total_ns > 0 ? gain_words(gain_of(rival.total_ns, f.ours_ns)) : "it has no plan";
  }
  if (!verdict.rivals.empty()) verdict.rivals += ".";
}

/// What the lengths alone say.
void add_lengths(const VerdictFigures& f, Verdict& verdict) {
  if (f.num_samples > 1 && double(f.longest) <= (1 + kAlike) * double(f.shortest))
    verdict.reasons.push_back("Lengths are uniform, " + with_commas(f.shortest) + " to " +
                              with_commas(f.longest) + " tokens: one CP size suits all samples.");
  if (f.first_bound_ns > 0 && double(f.longest_alone_ns) >= (1 - kLeastGain) * double(f.first_bound_ns))
    verdict.reasons.push_back("One giant sample is the critical path: its " + with_commas(f.longest) +
                              " tokens alone take at least " +
                              percent(double(f.longest_alone_ns) / double(f.first_bound_ns)) +
                              " of the bound on any number of ranks.");
  if (f.num_above_cap == 0) return;
  const double share = double(f.tokens_above_cap) / double(f.total_tokens);
  const std::string above =
      format_text("%s of %s samples (%s of the tokens)", with_commas(f.num_above_cap).c_str(),
                  with_commas(f.num_samples).c_str(), percent(share).c_str());
  if (share >= kMost)
    verdict.reasons.push_back("The cap of " + with_commas(f.tokens_per_rank) +
                              " tokens per rank forces splits: " + above + " must be split by any planner.");
  else if (verdict.pays && f.least_static_cp > 1)
    verdict.reasons.push_back(
        "The cap of " + with_commas(f.tokens_per_rank) +
        " tokens per rank forces static CP to split every sample " +
        format_text("on %lld ranks or more", static_cast<long long>(f.least_static_cp)) + "; only " + above +
        " must be split.");
}

/// What the balanced static plan says.
void add_balanced(const VerdictFigures& f, Verdict& verdict) {
  if (f.first_balanced_ns == 0) return;
  const double room = gain_of(f.first_balanced_ns, f.first_bound_ns);
  if (room < kLeastGain)
    verdict.reasons.push_back("Balanced static CP is already within " + percent(room) +
                              " of the bound that no plan beats.");
  else
    verdict.reasons.push_back("The bound leaves " + percent(room) + " over balanced static CP at most; " +
                              f.ours + " gets " +
                              percent(std::max(0.0, gain_of(f.first_balanced_ns, f.first_ours_ns))) + ".");
  if (f.balanced_moved == 0)
    verdict.reasons.push_back("Every sample fits one rank whole, and balanced static CP sends nothing.");
  else if (f.balanced_free_links_ns > 0) {
    const double links = gain_of(f.first_balanced_ns, f.balanced_free_links_ns);
    if (links < kLeastGain)
      verdict.reasons.push_back("Links are fast: if transfers took no time, balanced static CP would gain " +
                                percent(links) + ".");
    else
      verdict.reasons.push_back("Transfers slow balanced static CP by " + percent(links) + "; " +
                                format_text("per token it sends %.2f tokens, %s %.2f.", f.balanced_moved,
                                            f.ours.c_str(), f.ours_moved));
  }
  if (!verdict.pays && f.least_waves > 1 && f.balanced_waves == f.least_waves)
    verdict.reasons.push_back("Micro-batches are full: balanced static CP needs " +
                              with_commas(f.balanced_waves) + ", and the cap allows no fewer.");
}

void add_changes(const VerdictFigures& f, Verdict& verdict) {
  const double before = gain_of(f.first_balanced_ns, f.first_ours_ns);
  std::string little;
  for (const VerdictTrial& trial : f.trials) {
    if (trial.ours_ns == 0) continue;
    if (trial.balanced_ns == 0) {
      verdict.changes.push_back("With " + trial.change + " balanced static CP has no plan, " + f.ours +
                                " has.");
      continue;
    }
    const double after = gain_of(trial.balanced_ns, trial.ours_ns);
    if (f.first_balanced_ns > 0 && std::abs(after - before) < kLeastGain)
      little += (little.empty() ? "" : ", ") + trial.change + " (" + percent(after) + ")";
    else
      verdict.changes.push_back(
          "With " + trial.change + " " + f.ours + " gains " +
          (std::abs(after) < kLeastGain ? "nothing (" + percent(after) + ")" : percent(after)) +
          " over balanced static CP.");
  }
  if (!little.empty()) verdict.changes.push_back("Little changes with " + little + ".");
  if (!f.untried.empty()) verdict.changes.push_back(f.untried);
}

/// Lines of at most 100 columns; a number stays with its "%".
std::string wrapped(const std::string& text, const std::string& first, const std::string& rest) {
  constexpr size_t kColumns = 100;
  std::string out, line = first;
  bool at_start = true;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(' ', begin);
    if (end != std::string::npos && text.compare(end, 2, " %") == 0) end = text.find(' ', end + 1);
    end = std::min(end, text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!at_start && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = rest;
      at_start = true;
    }
    line += (at_start ? "" : " ") + word;
    at_start = false;
    begin = end + 1;
  }
  return out + line + "\n";
}

}  // namespace

Verdict verdict_of(const VerdictFigures& figures) {
  Verdict verdict;
  add_headline(figures, verdict);
  add_rivals(figures, verdict);
  if (figures.num_steps > 1 && figures.first_balanced_ns > 0)
    verdict.reasons.push_back("What follows is of the first step, where " + figures.ours + " gains " +
                              percent(gain_of(figures.first_balanced_ns, figures.first_ours_ns)) + ".");
  add_lengths(figures, verdict);
  add_balanced(figures, verdict);
  add_changes(figures, verdict);
  return verdict;
}

std::string verdict_text(const Verdict& verdict) {
  std::string text = wrapped("Does it pay off? " + verdict.headline, "", "");
  if (!verdict.rivals.empty()) text += wrapped(verdict.rivals, "", "");
  for (const std::string& reason : verdict.reasons) text += wrapped(reason, "  - ", "    ");
  for (const std::string& change : verdict.changes) text += wrapped(change, "  > ", "    ");
  return text;
}

}  // namespace zoetrope
