#!/usr/bin/env python3
"""Check include/zheap/base/server_calls.h (L2).  Usage: server_calls.py [ROOT]; exit 1 if anything is printed.

Complete    a function of the server that we call, and whose name is of a family that reads catalogs,
            waits for heavyweight locks or runs users' code, is listed there, or harmless below.
Used        what is listed, or harmless, is called somewhere.
Included    a file that calls what is listed includes the header, by way of others as a rule: else the
            call is not checked.
"""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else "."
HEADER = "include/zheap/base/server_calls.h"

FAMILY = re.compile("|".join([
    r"\w*(?:relation|table|index|indexes)_open\w*", r"RelationIdGetRelation",
    r"RelationGet(?:Index(?:List|Expr|Pred|Attr)|Replica|Stat|FKey)\w*", r"Relid\w+", r"RangeVarGet\w+",
    r"\w*SysCache\w*", r"systable_\w+", r"get_\w+", r"lookup_\w+", r"format_(?:type|procedure|operator)\w*",
    r"\w+_(?:ownercheck|aclcheck)", r"superuser\w*", r"has_privs\w*", r"GetUserName\w*", r"AcceptInvalidation\w*",
    r"Lock(?:Acquire|Relation|Database|Page|Tuple|Shared|Has)\w*", r"Conditional\w*Lock(?!Buffer)\w*",
    r"\w*XactLock(?!TableDelete)\w*", r"(?:RecordP|RecordA|RecordF|FreeSpaceMapV)\w+", r"visibilitymap_pin\w*",
    r"(?:Oid|Direct)?FunctionCall\w*", r"fmgr_info\w*", r"ScanKey\w*Init\w*", r"Exec\w*Qual\w*", r"ExecEval\w*", r"FormIndexDatum",
    r"BuildIndexInfo", r"index_(?:insert|begin|getnext|getbitmap|getprocinfo|fetch|bulk_delete|vacuum_cleanup)\w*",
    r"vac_(?:bulkdel|cleanup)\w+", r"_bt_(?:search|get|mkscankey|metaversion|first|next)\w*", r"\w*toast_\w+"]))

# A lock that is only asked about; what ends a look-up, or goes with one; a call by a pointer.
HARMLESS = set("""FunctionCallInvoke LockHasWaiters LockHasWaitersRelation LockHeldByMe ReleaseSysCache SysCacheGetAttr
    get_toast_snapshot index_insert_cleanup ReleaseSysCacheList systable_endscan systable_endscan_ordered toast_close_indexes""".split())

found = []


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"(?=[^\n]*\))', " ", file.read(), flags=re.S)


def sources():
    for base in ("src", "include/zheap"):
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, base))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def included(path, seen):
    """The files of the tree that the file includes, itself among them."""
    if path not in seen:
        seen.add(path)
        with open(os.path.join(ROOT, path)) as file:
            for name in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
                for folder in ("include", os.path.dirname(path)):
                    if os.path.exists(os.path.join(ROOT, folder, name)):
                        included(os.path.join(folder, name), seen)
    return seen


def main():
    texts = {path: read(path) for path in sources() if path != HEADER}
    listed = set(re.findall(r"^#define (\w+)\(\.\.\.\)", read(HEADER), re.M))
    # at the start of a line: a function's name, as pgindent has it, or a declaration; macros; parameters and locals
    ours = {name for text in texts.values()
            for name in re.findall(r"^(?:#define +|[a-z][^\n;=(){}]*?[ *])?(\w+)\(", text, re.M)}
    called = set()
    for path, text in texts.items():
        for match in re.finditer(r"\b(\w+)\s*\(", text):
            name, line = match.group(1), text.count("\n", 0, match.start()) + 1
            called.add(name)
            # macros of the server: SearchSysCacheExists1, RangeVarGetRelid
            behind = {name, re.sub(r"\d$", "", name), name + "Extended"}
            # pg_compat*.h call listed functions by their older names
            compat = os.path.basename(path).startswith("pg_compat")
            if FAMILY.fullmatch(name) and not compat and not behind & (listed | HARMLESS | ours):
                found.append(f"{path}: {name} is neither in {HEADER} nor harmless")
            if name in listed and path.endswith(".c") and HEADER not in included(path, set()):
                found.append(f"{path}: calls {name} without {HEADER}")
    by_macros = {"pg_detoast_datum"}
    for name in sorted((listed | HARMLESS) - by_macros):
        if not any(other.startswith(re.sub(r"(Extended|Coll)$", "", name)) for other in called):
            found.append(f"{HEADER}: {name} is not called")
    print("\n".join(sorted(set(found))), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
