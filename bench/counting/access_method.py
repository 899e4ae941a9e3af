"""Finds the functions that the server calls in a table access method and in its slots.

Distributions strip the server, so its static functions have no names; callgrind calls
them by their address.  The addresses are in the two structs of callbacks, which the
dynamic loader fills in: the relocations tell with what.
"""

import re
import subprocess


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path):
    """Names by address, and (address, size) by name."""
    by_address, by_name = {}, {}
    for dynamic in ([], ["-D"]):
        for line in output("nm", "-S", *dynamic, path).splitlines():
            fields = line.split()
            if len(fields) == 4:
                address, size, kind, name = int(fields[0], 16), int(fields[1], 16), fields[2], fields[3]
                by_name[name.split("@")[0]] = (address, size)
                if kind in "tT":
                    by_address[address] = name.split("@")[0]
    return by_address, by_name


def relocations(path):
    found = {}
    for line in output("readelf", "-rW", path).splitlines():
        relative = re.match(r"([0-9a-f]{16}) .*R_X86_64_RELATIVE +([0-9a-f]+)", line)
        symbol = re.match(r"([0-9a-f]{16}) .*R_X86_64_64 +([0-9a-f]{16}) +\S+ \+ ", line)
        if relative or symbol:
            match = relative or symbol
            found[int(match.group(1), 16)] = int(match.group(2), 16)
    return found


def callbacks(path, structs):
    """Callgrind's names of the functions that these structs, (address, size), point to."""
    by_address, _ = symbols(path)
    moved = relocations(path)
    return {by_address.get(moved[place], f"0x{moved[place]:016x}")
            for address, size in structs
            for place in range(address, address + size, 8)
            if moved.get(place)}


def zheap(library):
    _, names = symbols(library)
    return callbacks(library, [names["zheap_methods"], names["TTSOpsZheap"]]) | {"end_of_transaction"}


def heap(server, library):
    _, names = symbols(server)
    start = names["GetHeapamTableAmRoutine"][0]
    # the function returns the struct's address: lea 0x...(%rip),%rax  # address
    code = output("objdump", "-d", f"--start-address={start}", f"--stop-address={start + 16}", server)
    methods = int(re.search(r"lea .*# ([0-9a-f]+)", code).group(1), 16)
    _, ours = symbols(library)
    return callbacks(server, [(methods, ours["zheap_methods"][1]), names["TTSOpsBufferHeapTuple"]])
