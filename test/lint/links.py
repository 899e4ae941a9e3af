#!/usr/bin/env python3
"""Links of the documentation lead somewhere.  Usage: links.py [ROOT]; exit 1 if anything is printed.

Each relative link in a *.md file names a file of the tree, and its anchor a heading there.  Anchors are
made of headings as forges do it: lower case, without punctuation, hyphens for spaces.
"""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else "."
FOLDERS = ("docs", "src", "bench", "test")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)


def documents():
    """All *.md files, relative to ROOT."""
    yield from sorted(name for name in os.listdir(ROOT) if name.endswith(".md"))
    for base in FOLDERS:
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, base))):
            for name in sorted(names):
                if name.endswith(".md"):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def read(path):
    """The text without what is in code blocks, whose lines stay, empty."""
    with open(os.path.join(ROOT, path)) as file:
        return FENCE.sub(lambda block: "\n" * block.group().count("\n"), file.read())


def anchors(path):
    seen = {}
    for heading in HEADING.findall(read(path)):
        name = re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower()).replace(" ", "-")
        n = seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{n}" if n else name


def wrong(path, link):
    """What is wrong with a link, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    target, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
    if not os.path.exists(os.path.join(ROOT, target)):
        return f"there is no {target}"
    if anchor and (not target.endswith(".md") or anchor not in anchors(target)):
        return f"{target} has no heading #{anchor}"
    return None


def main():
    found = 0
    for path in documents():
        for number, line in enumerate(read(path).split("\n"), 1):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                text = wrong(path, link)
                if text:
                    print(f"{path}:{number}: {text}")
                    found += 1
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
