#!/usr/bin/env python3
"""Check that each exported function says what it does.  Usage: contracts.py [ROOT [--draw N [SEED]]].

A function that a header declares or defines has a comment right above it; functions that follow
one another without a blank line share one.  Not in pg_compat*.h, where functions do what the
server's do in other majors.  Exit 1 if anything is printed.

--draw prints N of these functions with their comments instead, drawn at random with SEED
(default 41): to judge whether they say what is returned, which locks, which errors.
"""
import random
import re
import sys

sys.dont_write_bytecode = True
import tidy  # noqa: E402

FUNCTION = re.compile(r"(?:extern|static (?:pg_attribute_always_inline|inline))\s+"
                      r"(?:PGDLLEXPORT |pg_attribute_\w+ |pg_noinline |pg_noreturn )?"
                      r"(?:const |struct |enum )?\w+(?: \*| |\n)+(?P<name>\w+)\(")


class Function:
    """What a header says of a function, and where."""

    def __init__(self, path, line, match, comment):
        self.place = f"{path}:{line}"
        self.name = match.group("name")
        self.comment = comment


def functions(path):
    lines = tidy.read(path)
    comment, number = "", 0
    while number < len(lines):
        line = lines[number]
        if not line.strip():
            comment = ""
        elif line.startswith("/*"):
            first = number
            while "*/" not in lines[number]:
                number += 1
            comment = "\n".join(lines[first:number + 1])
        else:
            match = FUNCTION.match("\n".join(lines[number:number + 3]))
            if match:
                yield Function(path, number + 1, match, comment)
        number += 1


def main():
    every = [function for path in tidy.files((".h",)) if "pg_compat" not in path
             for function in functions(path)]
    if "--draw" in sys.argv:
        numbers = [int(arg) for arg in sys.argv[sys.argv.index("--draw") + 1:]]
        random.seed(numbers[1] if len(numbers) > 1 else 41)
        for function in random.sample(every, numbers[0]):
            print(f"{function.place}: {function.name}\n{function.comment}\n")
        return 0
    bare = [function for function in every if not function.comment]
    for function in bare:
        print(f"{function.place}: {function.name} has no comment")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
