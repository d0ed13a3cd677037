#!/usr/bin/env python3
"""Registers, stack and spills of every CUDA kernel on every architecture, as ptxas reported them to the build.

ptxas_table.py BUILD: BUILD is a folder with zoetrope_cuda built; beside each object lies its report (cmake/keep_ptxas_report).

Exits with 1 when a kernel spills more bytes than .ci/ptxas_spills.txt records for it (none, when it has no line
there), or ptxas gives up to run a warpgroup's products beside other work; a line is ARCHITECTURE BYTES KERNEL. Kernels
that spill less than recorded are named, so that the record can be lowered. Exits with 2 when a source has no report.
Files *_hopper.cu are compiled for sm_90a, in the column of sm_90.
"""
import argparse, collections, glob, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, ".ci", "ptxas_spills.txt")
Usage = collections.namedtuple("Usage", "registers stack spills shared")


def read_report(build, path):
    """Usage by (mangled kernel name, architecture) of one source."""
    reports = glob.glob(os.path.join(build, "CMakeFiles", "*.dir", path + ".o.ptxas"))
    if len(reports) != 1:
        print(f"error: {path} has {len(reports)} reports of ptxas in {build}; build zoetrope_cuda there first", file=sys.stderr)
        sys.exit(2)
    with open(reports[0]) as file:
        report = file.read()
    for line in report.splitlines():
        # C7508: setmaxnreg ignored; C7510 to C7519: products serialized, or waits put in.
        if re.search(r"\(C75(08|1\d)\)", line):
            print(f"error: {path}: {line.strip()}", file=sys.stderr)
            sys.exit(1)
    found = parse(report)
    if not found and "__global__" in open(os.path.join(ROOT, path)).read():
        print(f"error: {reports[0]} names no kernel of {path}", file=sys.stderr)
        sys.exit(2)
    return found


def parse(report):
    found, kernel, stack, spills = {}, None, 0, 0
    for line in report.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)' for 'sm_(\d+)a?'", line):
            kernel, stack, spills = (match[1], match[2]), 0, 0
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if kernel:
                stack, spills = int(match[1]), int(match[2]) + int(match[3])
        elif (match := re.search(r"Used (\d+) registers", line)) and kernel:
            shared = re.search(r"(\d+) bytes smem", line)
            found[kernel] = Usage(int(match[1]), stack, spills, int(shared[1]) if shared else 0)
            kernel = None
    return found


def demangle(names):
    """Readable names without parameters and namespaces."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = []
    for line in text.splitlines():
        name = line.replace("(anonymous namespace)::", "").replace("zoetrope::cuda::", "").replace("zoetrope::", "")
        depth, end = 0, len(name)
        for at, letter in enumerate(name):  # up to the parenthesis of the parameters
            depth += (letter == "<") - (letter == ">")
            if letter == "(" and depth == 0:
                end = at
                break
        short.append(re.sub(r"\((\w+)\)", "", name[:end]).removeprefix("void "))
    return dict(zip(names, short))


def read_record():
    record = {}
    if os.path.exists(RECORD):
        for line in open(RECORD):
            if line.strip() and not line.startswith("#"):
                architecture, spills, kernel = line.split(maxsplit=2)
                record[architecture, kernel.strip()] = int(spills)
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    build = os.path.abspath(parser.parse_args().build)
    os.chdir(ROOT)
    files = sorted(glob.glob("model/ops/cuda/*.cu"))
    results = {path: read_report(build, path) for path in files}
    architectures = sorted({arch for found in results.values() for _, arch in found}, key=int)
    record, worse, better, kernels = read_record(), [], [], 0
    print(f"{'kernel':<72}" + "".join(f"{'sm_' + arch:>24}" for arch in architectures))
    print(f"{'':<72}" + "registers shared spills".rjust(24) * len(architectures))
    for path in files:
        names = sorted({name for name, _ in results[path]})
        if not names:
            continue
        print(path)
        short = demangle(names)
        for name in sorted(names, key=short.get):
            kernels += 1
            row = f"  {short[name]:<70}"
            for arch in architectures:
                usage = results[path].get((name, arch))
                row += f"{usage.registers:>11}{usage.shared:>7}{usage.spills:>6}" if usage else f"{'-':>24}"
                if usage:
                    allowed = record.get((arch, short[name]), 0)
                    (worse if usage.spills > allowed else better if usage.spills < allowed else []).append(
                        f"{short[name]} on sm_{arch}: spills {usage.spills} bytes, recorded {allowed}")
            print(row.rstrip())
    print(f"{kernels} kernels in {len(files)} files")
    for line in better:
        print("less than recorded: " + line)
    for line in worse:
        print("error: " + line, file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
