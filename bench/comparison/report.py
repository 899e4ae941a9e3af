"""The report: Markdown for people, JSON for programs."""

import json
import os
import platform


def machine():
    release = ".".join(platform.release().split(".")[:2])
    facts = {"system": f"{platform.system()} {release}, {platform.machine()}", "processors": os.cpu_count()}
    with open("/proc/cpuinfo") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    facts["processor"] = models[0] if models else "unknown"
    with open("/proc/meminfo") as f:
        facts["memory"] = f"{int(f.readline().split()[1]) / 1024 / 1024:.1f} GB"
    return facts


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def verdict(figure):
    ratio = figure.ratio()
    if ratio is None:
        return "-"
    ratios = figure.ratios()
    spread = f" ({min(ratios):.2f}-{max(ratios):.2f})" if len(ratios) > 1 else ""
    ahead = figure.ahead()
    text = f"{ratio:.2f}{spread}"
    return f"**{text}** {ahead}" if ahead else text


def scenario_lines(scenario, result, pictures):
    yield f"## {scenario.name}: {scenario.title}"
    yield ""
    yield scenario.lesson
    yield ""
    if result is None:
        yield "Not measured."
        yield ""
        return
    yield "| | unit | heap | zheap | zheap/heap |"
    yield "|---|---|---:|---:|---:|"
    for figure in result.figures:
        yield (f"| {figure.name} | {figure.unit} | {number(figure.median('heap'))} |"
               f" {number(figure.median('zheap'))} | {verdict(figure)} |")
    yield ""
    for note in result.notes:
        yield note
        yield ""
    if pictures:
        for plot in result.plots:
            yield f"![{plot.title}]({plot.name}.svg)"
            yield ""


def read_parts(out):
    """What the report that is there has of each scenario: (lines, JSON)."""
    if not os.path.exists(f"{out}/report.json"):
        return {}
    with open(f"{out}/report.md") as f:
        parts = f.read().split("\n## ")[1:]
    sections = {part.split(":", 1)[0]: f"## {part.rstrip()}\n".splitlines() + [""] for part in parts}
    with open(f"{out}/report.json") as f:
        return {s["name"]: (sections[s["name"]], s) for s in json.load(f)["scenarios"]}


def scenario_json(scenario, result, version):
    return {"name": scenario.name, "zheap": version, "lesson": scenario.lesson,
            "figures": [x.as_dict() for x in result.figures] if result else None,
            "plots": [{"name": p.name, "lines": p.lines} for p in result.plots] if result else None}


def make_part(scenario, result, version, pictures):
    """The same of what has been measured now."""
    return list(scenario_lines(scenario, result, pictures)), scenario_json(scenario, result, version)


def write(out, bench, parts):
    facts = machine()
    lines = ["# heap and zheap compared", "",
             f"`{'BENCH_SHORT=1 ' if bench.short else ''}bench/run {'--full' if bench.full else '--quick'}`, {bench.server_version}; each scenario says of which zheap it is. "
             f"{facts['processor']}, {facts['processors']} processors, "
             f"{facts['memory']}, {facts['system']}.", "",
             "Medians of runs on heap and zheap in turn on one server; the ratio is the median of the pairs' ratios, with "
             "smallest and largest. In bold: who is ahead by more than 3 %. `fsync` is off, so speed is that of processor and "
             "memory. Processor time is that of all processes of the server, and depends least on what else the machine does.",
             ""]
    for section, _ in parts:
        lines += section
    lines += ["## Instructions of single operations", "",
              "By callgrind, which the machine's mood does not change (`bench/instructions --write`):", "", "```"]
    lines += [line.rstrip() for line in bench.instructions.splitlines()[2:]]
    lines += ["```", ""]
    with open(f"{out}/report.md", "w") as f:
        f.write("\n".join(lines))
    with open(f"{out}/report.json", "w") as f:
        json.dump({"machine": facts, "server": bench.server_version, "full": bench.full,
                   "scenarios": [data for _, data in parts]}, f, indent=1)
        f.write("\n")
