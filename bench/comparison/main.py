"""bench/run: all scenarios, or some, and the report."""

import sys
import time

import figures
import plots
import report
import scenarios
from bench import Bench, options_parser


def measure(bench, scenario):
    result = figures.Result(scenario.name)
    begin = time.time()
    print(f"[{time.time() - started:4.0f}s] {scenario.name}: {scenario.title}", file=sys.stderr,
          flush=True)
    bench.server.restart(scenario.settings)
    try:
        if scenario.measure(bench, result) is False:
            return None
    except RuntimeError as error:
        print(f"{scenario.name}: {error}", file=sys.stderr, flush=True)
        failed.append(scenario.name)
        return None
    for figure in result.figures:
        ratio = figure.ratio()
        print(f"        {figure.name}: {report.number(figure.median('heap'))} "
              f"{report.number(figure.median('zheap'))} {figure.unit}"
              f"{f', {ratio:.2f}' if ratio is not None else ''}", file=sys.stderr, flush=True)
    result.notes.append(f"zheap {bench.version}, {time.time() - begin:.0f} s.")
    return result


def parse():
    parser = options_parser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    return parser.parse_args()


def main():
    options = parse()
    if options.list:
        for scenario in scenarios.ALL:
            print(f"{scenario.name:15} {scenario.lesson}")
            for name in scenario.parameters:
                print(f"{'':15} {scenario.choices(name)}")
        return 0
    chosen = [s for s in scenarios.ALL if not options.only or s.name in options.only]
    unknown = set(options.only) - {s.name for s in chosen}
    if unknown:
        print(f"no such scenario: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    bench = Bench(options)
    out = f"{options.run}/out"
    pictures = plots.can_draw()
    parts = report.read_parts(out)
    try:
        for scenario in chosen:
            result = measure(bench, scenario)
            if result is None and scenario.name in parts:
                continue        # what an earlier run has told stays
            parts[scenario.name] = report.make_part(scenario, result, bench.version, pictures)
            for plot in result.plots if result and pictures else []:
                plots.draw(plot, f"{out}/{plot.name}.svg")
            # anew each time: what interrupts a long run loses no scenario before it
            report.write(out, bench, [parts[s.name] for s in scenarios.ALL if s.name in parts])
    finally:
        bench.server.stop()
    return 1 if failed else 0


started = time.time()
failed = []
sys.exit(main())
