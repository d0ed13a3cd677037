#!/usr/bin/env python3
"""Recomputes the figures of a plan from nothing but the plan file, the lengths and a cost set on paper.

  zoetrope plan --lengths L.csv --ranks G --tokens-per-rank M --cost ring:1700 --json --plan-out P.json > R.json
  tools/check_plan.py L.csv P.json --ranks G --tokens-per-rank M --cost ring:1700 --report R.json

Prints its own figures as JSON; with --report it compares them with that file's. Exit code 1: the plan breaks
a law, or a figure differs. Shares no code with the product. Costs: a shard of k of a sample's S tokens costs
k*k + max(k, H)*(S - k) + L*k, a whole sample S*S + L*S.
"""
import argparse
import csv
import json
import sys

LINEAR = 6 * 3072


class Broken(Exception):
    """The plan breaks a law."""


def require(condition, *text):
    if not condition:
        raise Broken(" ".join(str(each) for each in text))


def read_lengths(path):
    with open(path, encoding="utf-8-sig") as file:
        lines = file.read().splitlines()
    if lines[0].startswith("{"):
        return [json.loads(line)["tokens"] for line in lines]
    if lines[0].strip().isdigit():
        return [int(line) for line in lines]
    return [int(row["tokens"]) for row in csv.DictReader(lines)]


def cost_of(name):
    """(L, H) of a cost set."""
    if name == "square":
        return 0, 0
    if name == "square-linear":
        return LINEAR, 0
    require(name.startswith("ring:"), "no cost set on paper:", name)
    return LINEAR, int(name[5:])


def check_coverage(waves, lengths):
    """Every sample lies in one wave, its tokens covered exactly once."""
    ranges, home = {}, {}
    for w, wave in enumerate(waves):
        for slot in wave["slots"]:
            for sample, begin, end in slot:
                require(0 <= sample < len(lengths), "sample", sample, "does not exist")
                require(home.setdefault(sample, w) == w, "sample", sample, "lies in two waves")
                ranges.setdefault(sample, []).append((begin, end))
    for sample, tokens in enumerate(lengths):
        at = 0
        for begin, end in sorted(ranges.get(sample, [])):
            require(begin == at and end > begin, "sample", sample, "is not covered once at token", at)
            at = end
        require(at == tokens, "sample", sample, "is covered up to", at, "of", tokens)


def holdings_of(wave):
    """Per sample of a wave: {rank: tokens}."""
    held = {}
    for rank, slot in enumerate(wave["slots"]):
        for sample, begin, end in slot:
            ranks = held.setdefault(sample, {})
            ranks[rank] = ranks.get(rank, 0) + end - begin
    return held


def figures_of(waves, lengths, ranks, cost, execution):
    linear, hidden_by = cost
    free_at = [0] * ranks
    moved = split = 0
    largest_ring, most_tokens = 1, 0
    for wave in waves:
        held = holdings_of(wave)
        rings = {sample: on for sample, on in held.items() if len(on) > 1}
        listed = [ring["sample"] for ring in wave["rings"]]
        expected = sorted(rings, key=lambda sample: (lengths[sample], sample))
        require(listed == expected, "the wave lists rings", listed, "and splits", expected)
        work, load = [0] * ranks, [0] * ranks
        start = list(free_at)
        for sample, on in held.items():
            size = lengths[sample]
            for rank, tokens in on.items():
                work[rank] += tokens * tokens + max(tokens, hidden_by) * (size - tokens) + linear * tokens
                load[rank] += tokens
                start[rank] = max([start[rank]] + [free_at[mate] for mate in on])
            moved += (len(on) - 1) * size
            largest_ring = max(largest_ring, len(on))
        split += len(rings)
        most_tokens = max([most_tokens] + load)
        if execution == "waves":
            free_at = [max(free_at) + max(work)] * ranks
        else:
            free_at = [start[r] + work[r] if work[r] else free_at[r] for r in range(ranks)]
    whole = sum(tokens * tokens + linear * tokens for tokens in lengths)
    makespan, ideal = max(free_at), whole // ranks
    return {"makespan": makespan, "ideal": ideal, "efficiency": ideal / makespan, "waves": len(waves),
            "max_tokens_per_rank": most_tokens, "moved": moved / sum(lengths), "split_samples": split,
            "largest_ring": largest_ring}


def compare(figures, report):
    for key, value in figures.items():
        same = abs(report[key] - value) <= 1e-12 * abs(value) if isinstance(value, float) else report[key] == value
        require(same, "the report says", key, report[key], "and the plan gives", value)
    require(report["bound"] <= figures["makespan"], "the bound", report["bound"], "is above the makespan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lengths")
    parser.add_argument("plan")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--tokens-per-rank", type=int, required=True)
    parser.add_argument("--cost", required=True, help="square, square-linear or ring:H")
    parser.add_argument("--execution", choices=["free", "waves"], default="free")
    parser.add_argument("--report", help="what `zoetrope plan --json` printed")
    given = parser.parse_args()
    lengths = read_lengths(given.lengths)
    try:
        with open(given.plan, encoding="utf-8") as file:
            plan = json.load(file)
        require(plan["version"] == 1, "plan version", plan["version"])
        for wave in plan["waves"]:
            require(len(wave["slots"]) == given.ranks, "a wave of", len(wave["slots"]), "ranks")
        check_coverage(plan["waves"], lengths)
        figures = figures_of(plan["waves"], lengths, given.ranks, cost_of(given.cost), given.execution)
        require(figures["max_tokens_per_rank"] <= given.tokens_per_rank, "a rank holds",
                figures["max_tokens_per_rank"], "tokens, and may hold", given.tokens_per_rank)
        if given.report:
            with open(given.report, encoding="utf-8") as file:
                compare(figures, json.load(file))
    except Broken as problem:
        print("check_plan:", problem, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
