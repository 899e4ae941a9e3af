"""How long pages are locked, in instructions of the backend that holds the lock.

A backend runs until it locks a page of a table or index, and from there is stepped one instruction
at a time (ptrace) until it has unlocked it.  An instruction that repeats itself counts once.  The
server's static functions have no names; their instructions count for the function that calls them.
"""

import collections
import ctypes
import dataclasses
import os
import re
import struct
import subprocess

TRACEME, CONT, SINGLESTEP, GETREGS, SETREGS = 0, 7, 9, 12, 13
TRAP = 5
UNLOCK, SHARE, EXCLUSIVE = range(3)
LOCKING = ("LockBuffer", "UnlockReleaseBuffer", "ConditionalLockBuffer")
DESCRIPTOR = 64         # bytes of a buffer's description; it begins with tablespace, database, relation, fork and block
BREAKPOINT = b"\xcc"

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss"
        " fs_base gs_base ds es fs gs").split()]


@dataclasses.dataclass
class Hold:
    """A page lock: instructions while it was held, by path of calls."""
    relation: str
    block: int
    exclusive: bool
    paths: collections.Counter

    def length(self):
        return sum(self.paths.values())


def is_possible():
    return os.uname().sysname == "Linux" and os.uname().machine == "x86_64"


def symbols(file, dynamic):
    """Addresses of functions and variables, relative to where the file is loaded."""
    command = ["nm", "--defined-only"] + ["-D"] * dynamic + [file]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: int(address, 16) for address, name in re.findall(r"^(\w+) [TtWDB] (\w[\w.]*)$", out, re.M)}


class Backend:
    """A single-user backend that runs from breakpoint to breakpoint."""

    def __init__(self, command, server, library, text, errors):
        self.process = subprocess.Popen(command, stdin=text, stdout=subprocess.DEVNULL, stderr=errors,
                                        preexec_fn=lambda: libc.ptrace(TRACEME, 0, None, None))
        self.pid = self.process.pid
        self.registers = Registers()
        self.server = os.path.realpath(server)
        self.library = os.path.realpath(library)
        self.breakpoints = {}
        # exec has stopped it: setpriv's, if there is one, and the server's
        os.waitpid(self.pid, 0)
        while os.readlink(f"/proc/{self.pid}/exe") != self.server:
            self.ptrace(CONT)
            os.waitpid(self.pid, 0)
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
        base = self.base(self.server)
        self.names = {name: base + address for name, address in symbols(self.server, True).items()}

    def base(self, path):
        with open(f"/proc/{self.pid}/maps") as maps:
            return min((int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path)), default=None)

    def functions(self):
        """Names of functions by address."""
        names = {address: name for name, address in self.names.items()}
        base = self.base(self.library)
        if base is not None:
            names.update({base + address: name for name, address in symbols(self.library, False).items()})
        return names

    def ptrace(self, request, data=None):
        if libc.ptrace(request, self.pid, None, data) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def read(self, address, size):
        return os.pread(self.memory, size, address)

    def pointer(self, name):
        return struct.unpack("<Q", self.read(self.names[name], 8))[0]

    def go(self, request):
        """Let it go on, until it stops with its registers known; signals are passed on.  Returns false at its end."""
        signal = 0
        while True:
            self.ptrace(request, signal)
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                return False
            signal = os.WSTOPSIG(status)
            if signal == TRAP:
                self.ptrace(GETREGS, ctypes.addressof(self.registers))
                return True

    def break_at(self, *names):
        for name in names:
            self.breakpoints[self.names[name]] = self.read(self.names[name], 1)

    def run(self):
        """Run to the next breakpoint; returns false if the backend has ended."""
        for address in self.breakpoints:
            os.pwrite(self.memory, BREAKPOINT, address)
        if not self.go(CONT):
            return False
        for address, byte in self.breakpoints.items():
            os.pwrite(self.memory, byte, address)
        self.registers.rip -= 1
        self.ptrace(SETREGS, ctypes.addressof(self.registers))
        return True

    def end(self):
        os.close(self.memory)
        self.process.kill()
        self.process.wait()


class Calls:
    """The path of calls at each step, from where the stepping began."""

    def __init__(self, functions):
        self.functions = functions
        self.stack = []
        self.path = ()

    def step(self, address, rsp):
        before = len(self.stack)
        while self.stack and rsp > self.stack[-1][1]:
            self.stack.pop()
        name = self.functions.get(address)
        if name is not None:
            self.stack.append((name, rsp))
        if name is not None or len(self.stack) != before:
            self.path = tuple(frame[0] for frame in self.stack)


class Watch:
    """The page locks of a backend from here to the next call of pg_sleep()."""

    def __init__(self, backend, functions, relations):
        self.backend = backend
        self.functions = functions
        self.relations = relations
        self.at = {backend.names[name]: name for name in LOCKING}
        self.descriptors = backend.pointer("BufferDescriptors")
        self.held = {}
        self.holds = []

    def look(self):
        """Note what the call at which the backend stands does to locks."""
        registers = self.backend.registers
        name = self.at.get(registers.rip)
        if name is None:
            return
        buffer = ctypes.c_int(registers.rdi & 0xFFFFFFFF).value
        mode = {"LockBuffer": registers.rsi & 0xFFFFFFFF, "ConditionalLockBuffer": EXCLUSIVE}.get(name, UNLOCK)
        if mode == UNLOCK:
            if buffer in self.held:
                self.holds.append(self.held.pop(buffer))
        elif buffer > 0:
            tag = struct.unpack("<5I", self.backend.read(self.descriptors + (buffer - 1) * DESCRIPTOR, 20))
            relation = self.relations.get(tag[2])
            if relation and tag[3] == 0:
                self.held[buffer] = Hold(relation, tag[4], mode == EXCLUSIVE, collections.Counter())

    def step_through(self):
        """Step until no page is locked any more."""
        calls = Calls(self.functions)
        last = None
        while self.held:
            registers = self.backend.registers
            if registers.rip != last:
                last = registers.rip
                calls.step(last, registers.rsp)
                for hold in self.held.values():
                    hold.paths[calls.path] += 1
            self.backend.go(SINGLESTEP)
            if self.backend.registers.rip != last:
                self.look()

    def watch(self):
        backend = self.backend
        while backend.run():
            if backend.registers.rip == backend.names["pg_sleep"]:
                break
            self.look()
            self.step_through()
            # behind the breakpoint
            backend.go(SINGLESTEP)
        return self.holds


def in_order(paths):
    """Paths in the order in which they were first called: each behind the one that it is below."""
    first = list(paths)
    place = {path: i for i, path in enumerate(first)}
    return sorted(first, key=lambda path: [place[path[:depth]] for depth in range(len(path) + 1)])


def measure(command, server, library, text, times, relations, errors):
    """All holds, for each of the stretches between two calls of pg_sleep() in the statements."""
    backend = Backend(command, server, library, text, errors)
    try:
        backend.break_at("pg_sleep")
        backend.run()
        backend.break_at(*LOCKING)
        functions = backend.functions()
        runs = []
        for _ in range(times):
            backend.go(SINGLESTEP)
            runs.append(Watch(backend, functions, relations).watch())
        return runs
    finally:
        backend.end()
