#!/usr/bin/env python3
"""Find names in the READMEs of src/ and in CHANGELOG.md that are nowhere else.

usage: names.py [ROOT]; exit 1 if anything is printed.

A name is a word in backticks with an underscore: a function, field, setting or view.  It must
occur in a file that is no document, be the name of a file, or be one of SERVER.
"""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else "."
FOLDERS = ("src", "include", "sql", "test", "bench")
# static functions of the server, and of its contrib modules
SERVER = {"heap_entry_is_visible", "ri_LockPKTuple", "currtid_internal", "index_fetch_heap",
          "unique_key_recheck", "validate_index", "check_exclusion_or_unique_constraint"}
# what a line of the change log says was renamed
RENAMED = re.compile(r"\(was `\w+`\)")
NAME = re.compile(r"`([a-z]\w*_\w+)(?:\(\))?`")


def files():
    for folder in FOLDERS:
        for place, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                yield os.path.join(place, name)


def main():
    known = set(SERVER)
    documents = [os.path.join(ROOT, "CHANGELOG.md")]
    for path in files():
        known.add(os.path.basename(path).split(".")[0])
        if path.endswith(".md"):
            if os.path.relpath(path, ROOT).startswith("src"):
                documents.append(path)
        elif not path.endswith(".out"):
            with open(path, errors="replace") as file:
                known.update(re.findall(r"\w+", file.read()))
    found = 0
    for path in documents:
        with open(path) as file:
            for number, line in enumerate(file, 1):
                for name in NAME.findall(RENAMED.sub("", line)):
                    if name not in known:
                        found += 1
                        print(f"{os.path.relpath(path, ROOT)}:{number}: {name} is nowhere else")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
