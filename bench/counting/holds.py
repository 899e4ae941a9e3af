"""How long table pages are locked exclusively, in instructions of the backend that holds the lock.

A backend is stepped through its statements one instruction at a time (ptrace), with an eye on the
server's functions that lock and unlock buffers.  An instruction that repeats itself counts once.
"""

import array
import ctypes
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time

TRACEME, CONT, SINGLESTEP, GETREGS = 0, 7, 9, 12
EXCLUSIVE = 2
BLOCK = 8192
SYSCALL = b"\x0f\x05"
LOCKING = ("LockBuffer", "UnlockReleaseBuffer", "ConditionalLockBuffer")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss"
        " fs_base gs_base ds es fs gs").split()]


def is_possible():
    return os.uname().sysname == "Linux" and os.uname().machine == "x86_64"


def symbols(server):
    """Addresses of the server's names, relative to where it is loaded."""
    names = LOCKING + ("BufferBlocks",)
    out = subprocess.run(["nm", "-D", "--defined-only", server], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: int(address, 16) for address, _, name in re.findall(r"^(\w+) (\w) (\w+)$", out, re.M) if name in names}


class Backend:
    """A single-user backend that stands still unless it is told to go on."""

    def __init__(self, command, server, errors):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
                                        preexec_fn=lambda: libc.ptrace(TRACEME, 0, None, None))
        self.pid = self.process.pid
        self.registers = Registers()
        self.waits_at = None
        # exec has stopped it: setpriv's, if there is one, and the server's
        os.waitpid(self.pid, 0)
        while os.readlink(f"/proc/{self.pid}/exe") != os.path.realpath(server):
            self.ptrace(CONT)
            os.waitpid(self.pid, 0)
        with open(f"/proc/{self.pid}/maps") as maps:
            self.base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(os.path.realpath(server)))
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY)

    def ptrace(self, request, data=None):
        if libc.ptrace(request, self.pid, None, data) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def read(self, address, size):
        return os.pread(self.memory, size, address)

    def input_left(self):
        left = array.array("i", [0])
        fcntl.ioctl(self.process.stdin.fileno(), termios.FIONREAD, left)
        return left[0]

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def is_asleep(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            state = stat.read().rsplit(")", 1)[1].split()[0]
        if state in "Zt":
            raise RuntimeError("the backend has ended, or got a signal, before it was measured")
        return state == "S" and self.input_left() == 0

    def run(self):
        """Run freely until all input is read, and stop where the backend waits for more."""
        self.ptrace(CONT)
        calm = 0
        while calm < 3:
            time.sleep(0.02)
            calm = calm + 1 if self.is_asleep() else 0
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, 0)
        self.look()
        # behind the instruction that asks for input; the kernel repeats it
        self.waits_at = self.registers.rip - len(SYSCALL)
        assert self.read(self.waits_at, len(SYSCALL)) == SYSCALL

    def look(self):
        self.ptrace(GETREGS, ctypes.addressof(self.registers))

    def steps(self):
        """Step until the backend is about to wait for input; yields each new instruction's address."""
        registers = self.registers
        last = 0
        while True:
            self.ptrace(SINGLESTEP)
            os.waitpid(self.pid, 0)
            self.look()
            if registers.rip == self.waits_at and registers.rax == 0 and registers.rdi == 0 and self.input_left() == 0:
                return
            if registers.rip != last:
                last = registers.rip
                yield last

    def end(self):
        os.close(self.memory)
        self.process.kill()
        self.process.wait()


class Holds:
    """The exclusive locks of table pages in a stretch of instructions."""

    def __init__(self, backend, addresses):
        self.backend = backend
        self.at = {backend.base + addresses[name]: name for name in LOCKING}
        self.blocks = struct.unpack("<Q", backend.read(backend.base + addresses["BufferBlocks"], 8))[0]
        self.count = 0
        self.since = {}
        self.lengths = []

    def is_table(self, buffer):
        page = self.blocks + (buffer - 1) * BLOCK
        special, = struct.unpack("<H", self.backend.read(page + 16, 2))
        if special == BLOCK:
            return True         # heap
        # zheap's pages end with their kind
        return self.backend.read(page + BLOCK - 2, 2) == struct.pack("<H", 0x5A48)

    def step(self, address):
        self.count += 1
        name = self.at.get(address)
        if name is None:
            return
        buffer = ctypes.c_int(self.backend.registers.rdi & 0xFFFFFFFF).value
        mode = self.backend.registers.rsi & 0xFFFFFFFF
        if name == "ConditionalLockBuffer" or (name == "LockBuffer" and mode == EXCLUSIVE):
            if buffer > 0 and self.is_table(buffer):
                self.since[buffer] = self.count
        elif (name == "UnlockReleaseBuffer" or mode == 0) and buffer in self.since:
            self.lengths.append(self.count - self.since.pop(buffer))


def measure(command, server, warm, statements, errors):
    """Lengths of all holds in each of the statements' runs."""
    addresses = symbols(server)
    backend = Backend(command, server, errors)
    try:
        backend.send("\n".join(warm))
        backend.run()
        runs = []
        for lines in statements:
            backend.send("\n".join(lines))
            holds = Holds(backend, addresses)
            for address in backend.steps():
                holds.step(address)
            runs.append(holds.lengths)
        return runs
    finally:
        backend.end()
