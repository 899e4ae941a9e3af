#!/usr/bin/env python3
"""Find wording that CONTRIBUTING.md, "Words", rules out.  Usage: words.py [ROOT [PATH...]].

Reads comments of .c and .h files in src/ and include/, and the READMEs of src/; with PATH only
files below it.  Exit 1 if anything is printed.  A finding is waived on its own line with
"tidy:", as in tidy.py.
"""
import re
import sys

sys.dont_write_bytecode = True
import tidy  # noqa: E402

PATHS = sys.argv[2:]

COMMENT = re.compile(r"/\*.*?\*/", re.S)
BAD_START = re.compile(r"(?:Who|Whoever|Whom|Whose|Of (?!course)|So (?:that|many|much|it|is|does|no)\b|As \b.*|Tell\b|Told\b|"
                       r"False[:;]|True[:;]|The same[.,;:]|The same as|Nobody|Somebody)")
BAD_ANYWHERE = re.compile(
    r"\b(?:nobody|somebody|anybody|everybody|whom|whoever|told of|tells? of|tell so|told so|"
    r"to be had|comes? by|came by|pass(?:es|ed)? by|passing by|so many|so much|of these alone|"
    r"lets? go of|gets? by with(?:out)?|none of its business|goes by|watch(?:es)? over|"
    r"of them alone|he|she|his|her|himself)\b|(?:^|[.,;:(] |\b(?:and|or|that|for|by|of|those|one) )who\b", re.I)


def files():
    for path in tidy.files((".c", ".h", ".md")):
        if not PATHS or any(path == p or path.startswith(p.rstrip("/") + "/") for p in PATHS):
            yield path


def comments(path, text):
    """Line number and text of each comment; of a document, of each line."""
    if path.endswith(".md"):
        for i, line in enumerate(text.split("\n"), 1):
            yield i, line, False
        return
    for match in COMMENT.finditer(text):
        body = match.group()[2:-2]
        yield text.count("\n", 0, match.start()) + 1, body, True


def main():
    found = 0
    for path in files():
        text = "\n".join(tidy.read(path))
        for line, body, is_comment in comments(path, text):
            if "tidy:" in body:
                continue
            plain = re.sub(r"\s*\n\s*\*?\s*", " ", body).strip(" *-\n\t.")
            bad = is_comment and BAD_START.match(plain) or BAD_ANYWHERE.search(plain)
            if bad:
                found += 1
                print(f"{path}:{line}: {bad.group().strip()[:30]!r} in: {plain[:100]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
