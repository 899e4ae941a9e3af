#!/usr/bin/env python3
"""Compile each .c file with clang, which warns of other things than gcc does; writes nothing.
Usage: PG_CONFIG=... clang.py [ROOT]; exit 1 if there are warnings, 3 if there is no clang.

The compiler is the one that the server was built with for JIT, else the one in PATH.  Its flags are
the server's and the Makefile's, as far as clang has them.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else "."
PG_CONFIG = os.environ.get("PG_CONFIG", "pg_config")

FLAGS = ["-fsyntax-only", "-Werror", "-Wall", "-Wextra", "-Wno-unused-parameter", "-D_GNU_SOURCE",
         "-Iinclude", "-Itest/unit", "-fwrapv", "-fno-strict-aliasing",
         # the flags of gcc among the server's; its attribute of printf-like functions
         "-Wno-unknown-warning-option", "-Wno-ignored-attributes"]


def asked(option):
    return subprocess.run([PG_CONFIG, option], capture_output=True, text=True, check=True).stdout


def compiler():
    path = os.path.join(os.path.dirname(asked("--pgxs").strip()), "..", "Makefile.global")
    with open(path) as file:
        named = re.search(r"^CLANG *= *(\S*)", file.read(), re.M)
    return shutil.which(named.group(1) if named else "") or shutil.which("clang")


def main():
    clang = compiler()
    if not clang:
        print("there is no clang")
        return 3
    files = sorted(os.path.relpath(path, ROOT)
                   for pattern in ("src/**/*.c", "test/unit/*.c")
                   for path in glob.glob(os.path.join(ROOT, pattern), recursive=True))
    command = [clang] + [flag for flag in asked("--cflags").split() if flag.startswith("-W")]
    command += FLAGS + ["-I" + asked("--includedir-server").strip()]

    def warnings(path):
        return subprocess.run(command + [path], cwd=ROOT, capture_output=True, text=True).stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(warnings, files))
    print(said, end="")
    return 1 if said else 0


sys.exit(main())
