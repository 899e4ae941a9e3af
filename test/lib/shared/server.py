"""Servers of test/torture, test/damage, test/flips, test/races and test/replication: made, started, killed, and their logs read.

A postmaster is our own child, so that a killed one is gone as soon as it is reaped.
"""

import os
import re
import shutil
import signal
import subprocess
import time

from wire import Lost, Session

START = 120                     # seconds within which a server must accept connections
BAD = re.compile(r'PANIC:|TRAP:|inconsistent page found|\] XX\d\d\d |'
                 r'terminated by signal (?!9:)\d')


# A backend whose postmaster is killed while the backend aborts its transaction, and unlinks a file, exits there, and so
# reports its statistics within the transaction.
ORPHAN = re.compile(r'\[(\d+)\] .*terminating connection due to unexpected postmaster exit')
LEAVING = re.compile(r'TRAP: .*!IsTransactionOrTransactionBlock\(\).*pgstat\.c.* PID: (\d+)')


class SqlError(Exception):
    def __init__(self, code, message, sql):
        super().__init__('%s: %s [%s]' % (code, message, sql[:300]))
        self.code, self.sql = code, sql


class Db(Session):
    """A session whose errors are SqlError, or Lost where the server is gone."""

    def run(self, sql, timeout=200):
        try:
            self.send(sql)
            self.wait(timeout)
        except TimeoutError:
            raise SqlError('hang', 'no answer in %s s' % timeout, sql)
        except OSError as e:
            raise Lost(str(e))
        reply = self.take()
        for item in reply:
            if item[0] == 'error':
                if item[1] in ('57P01', '57P02', '57P03'):      # the server goes
                    raise Lost(item[2])
                raise SqlError(item[1], item[2], sql)
        self.tags = [item[1] for item in reply if item[0] == 'tag']
        return [item[1] for item in reply if item[0] == 'row']

    def value(self, sql):
        return self.run(sql)[0][0]


class Server:
    def __init__(self, bindir, directory, name, conf, port):
        self.bindir, self.name, self.port = bindir, name, port
        self.data = os.path.join(directory, name)
        self.sockets = os.path.join(directory, 's')
        self.log = self.data + '.log'
        self.conf = conf
        self.read_to = 0
        self.process = None
        os.makedirs(self.sockets, exist_ok=True)

    def program(self, name, *args):
        with open(self.log, 'a') as log:
            subprocess.run([os.path.join(self.bindir, name), *args], check=True,
                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def major(self):
        version = subprocess.run([os.path.join(self.bindir, 'initdb'), '--version'], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        return int(re.search(r'(\d+)', version.split('PostgreSQL)')[1])[1])

    def init(self, checksums=True, options=()):
        # since PostgreSQL 18 initdb turns checksums on by default
        if checksums or self.major() >= 18:
            options = [*options, '--data-checksums' if checksums else '--no-data-checksums']
        self.program('initdb', '-D', self.data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8',
                     '--locale=C', '--no-sync', *options)

    def init_standby(self, primary):
        self.program('pg_basebackup', '-D', self.data, '-h', primary.sockets, '-p',
                     str(primary.port), '-U', 'postgres', '-X', 'stream', '-c', 'fast', '-R', '--no-sync')
        with open(os.path.join(self.data, 'postgresql.auto.conf'), 'a') as f:
            f.write("primary_conninfo = 'host=%s port=%s user=postgres application_name=%s'\n"
                    % (primary.sockets, primary.port, self.name))

    def set(self, settings):
        """Settings for the next start."""
        path = os.path.join(self.data, 'postgresql.conf')
        if not os.path.exists(path + '.first'):
            shutil.copy(path, path + '.first')
        shutil.copy(path + '.first', path)
        with open(path, 'a') as f:
            f.write(self.conf)
            f.write("\nlisten_addresses = ''\nunix_socket_directories = '%s'\nport = %s\n"
                    "log_line_prefix = '%%m [%%p] %%e %%q%%a '\n" % (self.sockets, self.port))
            for name, value in settings.items():
                f.write("%s = '%s'\n" % (name, value))

    def launch(self):
        log = open(self.log, 'a')
        self.process = subprocess.Popen(
            [os.path.join(self.bindir, 'postgres'), '-D', self.data],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def start(self):
        """Returns the seconds until the first query was answered."""
        if self.process is None:
            self.launch()
        begin = time.time()
        while True:
            try:
                db = self.connect()
                db.run('select 1')
                db.close()
                return time.time() - begin
            except (Lost, OSError):
                pass
            if self.process.poll() is not None:
                self.process = None
                raise RuntimeError('%s did not start' % self.name)
            if time.time() > begin + START:
                raise RuntimeError('%s does not accept connections' % self.name)
            time.sleep(0.05)

    def connect(self, options=''):
        return Db(self.sockets, self.port, 'postgres', options)

    def children(self):
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % pid) as f:
                    if int(f.read().rsplit(')', 1)[1].split()[1]) == self.process.pid:
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def kill(self, random):
        """SIGKILL to all its processes, in any order."""
        if self.process is None:
            return
        # no more children, or one that we miss would keep the shared memory
        signal_to(self.process.pid, signal.SIGSTOP)
        while state(self.process.pid) not in 'TZ':
            time.sleep(0.001)
        victims = self.children() + [self.process.pid]
        random.shuffle(victims)
        for pid in victims:
            signal_to(pid, signal.SIGKILL)
        self.process.wait()
        for pid in victims:
            while alive(pid):
                time.sleep(0.01)
        self.process = None

    def stop(self, how=signal.SIGINT):
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(START)
        finally:
            self.process = None

    def promote(self):
        self.program('pg_ctl', '-D', self.data, '-w', 'promote')

    def remove(self):
        shutil.rmtree(self.data, ignore_errors=True)

    def new_lines(self):
        """What the log says since the last call."""
        with open(self.log, errors='replace') as f:
            f.seek(self.read_to)
            lines = f.read().split('\n')
            self.read_to = f.tell()
        return lines

    def bad_lines(self):
        """What of that must never be said."""
        lines = self.new_lines()
        orphans = {found.group(1) for line in lines for found in [ORPHAN.search(line)] if found}
        return [line for line in lines if BAD.search(line) and
                not (LEAVING.search(line) and LEAVING.search(line).group(1) in orphans)]


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def state(pid):
    """One letter; Z if it is gone."""
    try:
        with open('/proc/%s/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return 'Z'


def alive(pid):
    return state(pid) != 'Z'
