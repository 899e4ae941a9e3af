"""Power failures: after all processes of a server were killed, a random part of what no fsync
has made durable is undone.  power.c, with which the server is started, has recorded it.

What a file system may do, and this does:
    - sectors written since the file's last fsync have the bytes that they had then, or had
      between two writes since, in any combination;
    - a length that has grown since is as it was, or something between;
    - the last unlinks, truncations and creations of files did not happen.  They are lost in the
      reverse of their order only, as file systems with a journal do it, and none that is
      older than the last fsync of any file.
Renames are taken as durable: all that matter are followed by an fsync of the directory.
"""

import collections
import os
import re
import shutil
import struct
import time

from preload import PreloadServer

RECORD = struct.Struct('=7Q')   # power.c: Record
BLCKSZ = 8192

# A sector of the lock file's size is either whole or not there; people remove such a file.
# Temporary files and statistics do not survive a crash anyway.
SPARED = re.compile(r'postmaster\.pid$|/pg_stat|pgsql_tmp')
RELATION = re.compile(r'/(base|global|pg_tblspc)/')

# pages of the free space map are not in WAL; the server says so, and does without
HARMLESS = re.compile(r'(WARNING|LOG):  (page verification failed|invalid page in block \d+ of relation \S+_fsm"?;)'
                      r'|\] XX\d\d\d \S* ?CONTEXT:')


class Record:
    def __init__(self, kind, inode, time, offset, length, size, data_length, log, position):
        self.kind, self.inode, self.time, self.offset = chr(kind), inode, time, offset
        self.length, self.size, self.data_length, self.log, self.position = length, size, data_length, log, position

    def data(self):
        with open(self.log, 'rb') as f:
            f.seek(self.position)
            return f.read(self.data_length)


def read_log(directory):
    """All records in the order of time.  The last of a killed process may be cut off."""
    records = []
    for name in os.listdir(directory):
        if not name.startswith('log.'):
            continue
        path = os.path.join(directory, name)
        end = os.path.getsize(path)
        with open(path, 'rb') as f:
            while f.tell() + RECORD.size <= end:
                fields = RECORD.unpack(f.read(RECORD.size))
                if f.tell() + fields[6] > end:
                    break
                records.append(Record(*fields, path, f.tell()))
                f.seek(fields[6], os.SEEK_CUR)
    return sorted(records, key=lambda r: r.time)


class Volatile:
    """Of a file: what was written since its last fsync."""

    def __init__(self, size):
        self.size = size                # that is durable
        self.written = []

    def cut(self, length):
        self.size = min(self.size, length)
        self.written = [w for w in self.written if w.offset < length]

    def sectors(self, sector):
        """number -> what it contained before, oldest first"""
        found = {}
        for w in self.written:
            data = w.data().ljust(w.length, b'\0')
            for at in range(0, w.length, sector):
                found.setdefault((w.offset + at) // sector, []).append(data[at:at + sector])
        return found


class Failure:
    """One failure; data and log are directories of a server that does not run."""

    def __init__(self, data, log, random, lies_since=None):
        """To try the test itself: since then, the disk has not done what an fsync of WAL asked for."""
        self.data, self.log, self.r, self.lies_since = data, log, random, lies_since
        self.counts = dict.fromkeys(('files', 'sectors', 'undone', 'lengths', 'unlinks', 'truncations', 'creations'), 0)

    def happen(self):
        records = self.undo_names(read_log(self.log))
        paths = self.paths()
        volatile = {}
        for r in records:
            if r.kind == 'W':
                volatile.setdefault(r.inode, Volatile(r.size)).written.append(r)
            elif r.kind == 'F' and self.is_lie(r, paths):
                pass
            elif r.kind in 'FU':
                volatile.pop(r.inode, None)
            elif r.kind == 'T' and r.inode in volatile:
                volatile[r.inode].cut(r.offset)
        for inode in sorted(volatile, key=lambda i: paths.get(i, '')):
            path = paths.get(inode)
            if path and volatile[inode].written and not SPARED.search(path):
                self.undo_writes(path, volatile[inode])
        shutil.rmtree(self.log)
        os.makedirs(self.log)
        return self.counts

    def is_lie(self, r, paths):
        return self.lies_since is not None and r.time > self.lies_since and '/pg_wal/' in paths.get(r.inode, '')

    def paths(self):
        """inode -> path, of all files"""
        return {os.lstat(path).st_ino: path for where, _, names in os.walk(self.data)
                for path in (os.path.join(where, name) for name in names)}

    # ------------------------------------------------------------ names

    def undo_names(self, records):
        """Unlinks, truncations and creations of which some are lost; returns the other records."""
        lost, changed = [], set()
        for r in reversed(records):
            if r.kind in 'FR' or (r.kind == 'T' and r.inode in changed):
                break
            if r.kind == 'W':
                changed.add(r.inode)
            else:
                lost.append(r)
        lost = lost[:self.r.randrange(len(lost) + 1)]
        for r in lost:
            {'U': self.undo_unlink, 'T': self.undo_truncation, 'C': self.undo_creation}[r.kind](r)
        lost = set(lost)
        return [r for r in records if r not in lost]

    def undo_unlink(self, r):
        path = os.path.join(self.data, r.data().decode())
        if not os.path.exists(path) and os.path.isdir(os.path.dirname(path)):
            os.link(os.path.join(self.log, 'kept.%d' % r.inode), path)
            self.counts['unlinks'] += 1

    def undo_truncation(self, r):
        path = self.paths().get(r.inode)
        if path and os.path.getsize(path) == r.offset:
            with open(path, 'r+b') as f:
                f.seek(r.offset)
                f.write(r.data())
                f.truncate(r.size)
            self.counts['truncations'] += 1

    def undo_creation(self, r):
        path = os.path.join(self.data, r.data().decode())
        if os.path.exists(path) and os.stat(path).st_ino == r.inode:
            os.unlink(path)
            self.counts['creations'] += 1

    # ------------------------------------------------------------ bytes

    def undo_writes(self, path, volatile):
        r, sector = self.r, self.r.choice([512, 4096])
        share = r.choice([0, 0.02, 0.3, 0.5, 0.9, 1]) if self.lies_since is None else 1
        by_page = r.random() < 0.2      # else by sector
        any_version = r.random() < 0.5  # else the oldest
        size = os.path.getsize(path)
        decided, undone = {}, 0
        with open(path, 'r+b') as f:
            for number, versions in sorted(volatile.sectors(sector).items()):
                at = number * sector
                unit = at // BLCKSZ if by_page else number
                if unit not in decided:
                    decided[unit] = r.random() < share
                if decided[unit] and at < size:
                    f.seek(at)
                    f.write((r.choice(versions) if any_version and not by_page else versions[0])[:size - at])
                    undone += 1
                self.counts['sectors'] += 1
            if size > volatile.size and r.random() < 0.3:
                length = r.choice([volatile.size, r.randrange(volatile.size, size)])
                # md.c takes no file with a part of a page
                f.truncate(length // BLCKSZ * BLCKSZ if RELATION.search(path) else length)
                self.counts['lengths'] += 1
        self.counts['files'] += 1
        self.counts['undone'] += undone


class PowerServer(PreloadServer):
    SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'power.c')
    lying = False
    started = None
    total = collections.Counter()       # of all failures of all servers

    def __init__(self, bindir, directory, *rest):
        super().__init__(bindir, directory, *rest)
        self.power_log = self.data + '.power'
        os.makedirs(self.power_log)

    def environment(self):
        return {'POWER_LOG': self.power_log}

    def launch(self):
        if self.lying:
            self.started = time.monotonic_ns()
        super().launch()

    def kill(self, random):
        """The server's processes, and most times the power fails as well."""
        if self.process is None:
            return
        super().kill(random)
        if random.random() < 0.9 or self.lying:
            self.fail(random)

    def fail(self, random):
        counts = Failure(self.data, self.power_log, random, self.started).happen()
        said = '%s: power failed, %s' % (self.name, ', '.join('%d %s' % (n, what) for what, n in counts.items()))
        with open(self.log, 'a') as f:
            f.write('%s %s\n' % (time.strftime('%H:%M:%S'), said))
        self.total.update(counts, failures=1)

    def remove(self):
        super().remove()
        shutil.rmtree(self.power_log, ignore_errors=True)

    def bad_lines(self):
        return [line for line in super().bad_lines() if 'TRAP' in line or not HARMLESS.search(line)]
