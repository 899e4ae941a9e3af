#!/usr/bin/env python3
"""Compare the results of one of PostgreSQL's own suites on heap with those on zheap.
Called by test/core/suites: suites.py {regress|isolation} HEAP-DIRECTORY ZHEAP-DIRECTORY

A result is cut at the lines of the script that psql or isolationtester echoes; the output between
two of them belongs to the statement before.  Each statement whose output differs is of one kind:

    order-only   the same lines in another order, and the statement has no ORDER BY
    plan-only    output of EXPLAIN on both sides
    am-name      the same once the access method's name is heap, or without the rows that name it
    other        anything else

A test is of the worst kind of its statements.
"""

import collections
import os
import re
import subprocess
import sys

KINDS = ('same', 'am-name', 'plan-only', 'order-only', 'other')
STEP = re.compile(r'(step \S+:|starting permutation:|Parsed test spec)')
MESSAGE = re.compile(r'\s*(psql:.*)?(ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|LOG|DETAIL|HINT|CONTEXT|LINE \d+):')
COUNT = re.compile(r'\(\d+ rows?\)$')


def read(path):
    """The lines of a file without trailing white space, or none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8', errors='surrogateescape') as f:
        return [line.rstrip() for line in f]


def plain(lines):
    """Lines without white space and rulers: the widths of columns do not matter."""
    bare = (re.sub(r'-{3,}', '---', ''.join(line.split())) for line in lines)
    return [line for line in bare if line]


def renamed(lines):
    return plain(re.sub(r'\bzheap\b', 'heap', line) for line in lines)


def unnamed(lines):
    """Lines without counts of rows, and without the rows that name the access method."""
    return plain(line for line in lines if not COUNT.match(line)
                 and (MESSAGE.match(line) or 'zheap' not in line))


def kind(statement, heap, zheap):
    """The kind of the difference between two outputs of a statement."""
    a, b = plain(heap), plain(zheap)
    if a == b:
        return 'same'
    if renamed(heap) == renamed(zheap) or unnamed(heap) == unnamed(zheap):
        return 'am-name'
    if a and b and all(re.match('QUERYPLAN$|explain_', x[0], re.I) for x in (a, b)):
        return 'plan-only'
    if (collections.Counter(a) == collections.Counter(b)
            and not re.search(r'\border\s+by\b', statement, re.I)):
        return 'order-only'
    return 'other'


def pieces(echoed, heap, zheap):
    """(statement, output on heap, output on zheap) of the two results of a script."""
    echo, outputs = [], ([], [])
    diff = subprocess.run(['diff', '-w', '-d', '-U', '1000000', heap, zheap], capture_output=True)
    for line in diff.stdout.decode('utf-8', 'surrogateescape').split('\n')[3:]:
        tag, line = line[:1], line[1:].rstrip()
        if tag != ' ' or not echoed(line):
            outputs[0].extend([line] if tag in ' -' else [])
            outputs[1].extend([line] if tag in ' +' else [])
            continue
        if any(outputs):
            yield statement_of(echo), *outputs
            echo, outputs = [], ([], [])
        echo.append(line)
    yield statement_of(echo), *outputs


def statement_of(echo):
    """The last statement among echoed lines."""
    lines = []
    for line in reversed(echo):
        if line.startswith('--'):
            continue
        if lines and re.search(r';(\s*--.*)?$', line):
            break
        lines.insert(0, line)
    return ' '.join(' '.join(lines).split())


def compare(suite, script, heap, zheap):
    """The differing statements of a test, as (kind, statement)."""
    if suite == 'isolation':
        echoed = STEP.match
    else:
        lines = {line for line in read(script) if line}
        echoed = lines.__contains__
    found = []
    for statement, a, b in pieces(echoed, heap, zheap):
        k = kind(statement, a, b)
        # an echoed line in the output of one side only: the scripts went different ways
        if k != 'same' and [x for x in a if echoed(x)] != [x for x in b if echoed(x)]:
            k = 'other'
        if k != 'same':
            found.append((k, statement))
    return found


def failed(directory):
    """The tests that pg_regress found to differ from the expected output."""
    heads = (re.match(r'diff .*/(\S+)\.out$', line) for line in read(directory + '/regression.diffs'))
    return {head[1] for head in heads if head}


def tests(suite, directory):
    schedule = {'regress': 'parallel_schedule', 'isolation': 'isolation_schedule'}[suite]
    lines = read(f'{directory}/{schedule}')
    names = [name for line in lines if line.startswith('test:') for name in line[5:].split()]
    if suite == 'isolation':
        names += ['prepared-transactions', 'prepared-transactions-cic']
    return names


def main():
    suite, heap, zheap = sys.argv[1:]
    names = tests(suite, heap)
    bad = failed(heap)
    missing, counts, text = 0, collections.Counter(), []
    for name in names:
        results = [f'{d}/results/{name}.out' for d in (heap, zheap)]
        if not all(os.path.exists(path) for path in results):
            missing += 1
            text.append(f'{name}: no result')
            continue
        found = []                          # what is expected may have several forms
        if name in failed(zheap):
            found = compare(suite, f'{heap}/sql/{name}.sql', *results)
        worst = max([k for k, _ in found], key=KINDS.index, default='same')
        counts[worst] += 1
        as_heap = ' (heap does not print what is expected)' if name in bad else ''
        if found or as_heap:
            text.append(f'{name}: {worst}{as_heap}')
        text.extend(f'    {k:<11} {statement[:160]}' for k, statement in found)
    print('\n'.join(text))
    print(f'{suite}: {len(names)} tests, heap prints what is expected in {len(names) - len(bad)}, '
          f'zheap prints heap\'s output in {counts["same"]};',
          ', '.join(f'{k} {counts[k]}' for k in KINDS[1:]) + f', no result {missing}')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
