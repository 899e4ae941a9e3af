"""The server that is measured: its settings, its SQL, its processes, its files."""

import glob
import os
import subprocess
import threading
import time


class Server:
    def __init__(self, bindir, run, memory_limit=None):
        self.bindir = bindir
        self.memory_limit = memory_limit
        self.data = f"{run}/cluster"
        self.socket = f"{run}/sock"
        self.base_conf = open(f"{run}/server.conf").read()
        os.mkdir(self.socket, 0o700)
        self._call("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                   "--locale=C.UTF-8", "--no-sync")
        self.start({})

    def environment(self):
        return dict(os.environ, PGHOST=self.socket, PGPORT="54329", PGUSER="postgres",
                    PATH=f"{self.bindir}:/usr/bin:/bin", LC_ALL="C.UTF-8")

    def _call(self, program, *args):
        done = subprocess.run([f"{self.bindir}/{program}", *args], capture_output=True, text=True,
                              env=self.environment())
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")
        return done.stdout

    # ---- start and stop

    def start(self, settings):
        with open(f"{self.data}/postgresql.conf", "w") as conf:
            conf.write(self.base_conf)
            conf.write(f"listen_addresses = ''\nunix_socket_directories = '{self.socket}'\n"
                       "port = 54329\nlogging_collector = off\n")
            for name, value in settings.items():
                conf.write(f"{name} = '{value}'\n")
        # not through pipes, which the server would hold open
        subprocess.run([f"{self.bindir}/pg_ctl", "-D", self.data, "-l", f"{self.data}.log",
                        "-w", "-t", "300", "start"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=self.environment())

    def stop(self):
        self._call("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def restart(self, settings):
        self.stop()
        self.start(settings)

    # ---- SQL

    def sql(self, database, *statements):
        args = [x for s in statements for x in ("-c", s)]
        return self._call("psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", database,
                          *args).strip()

    def timed(self, database, *statements):
        """Seconds that the last statement took, in a session that ran the others first."""
        out = self.sql(database, *statements[:-1], "\\timing on", statements[-1])
        last = [line for line in out.splitlines() if line.startswith("Time: ")][-1]
        return float(last.split()[1]) / 1000

    def databases(self):
        """heap and zheap, both empty."""
        for name in ("heap", "zheap"):
            self.sql("postgres", "set client_min_messages = warning",
                     f"drop database if exists {name} with (force)")
            self.sql("postgres", f"create database {name}")
        self.sql("zheap", "create extension if not exists zheap",
                 "alter database zheap set default_table_access_method = zheap")

    def settle(self):
        """What has been written is on disk, so that nobody after it pays for that."""
        self.sql("postgres", "checkpoint")
        os.sync()

    def pages(self, database, relation):
        return int(self.sql(database, f"select pg_relation_size('{relation}') / 8192"))

    def undo_bytes(self, database):
        return int(self.sql(database, "select coalesce(pg_relation_size(to_regclass('zheap.undo')), 0)"))

    def wal_position(self):
        return int(self.sql("postgres", "select (pg_current_wal_insert_lsn() - '0/0')::bigint"))

    # ---- processes and files

    def can_limit_memory(self):
        return self.memory_limit is not None

    def limit_memory(self, megabytes):
        """Of this program and all that it has started, the kernel's cache of their files included; None: no limit."""
        none = "max" if self.memory_limit.endswith(".max") else "-1"
        with open(self.memory_limit, "w") as f:
            f.write(none if megabytes is None else str(megabytes * 1048576))

    def processor_seconds(self):
        """Of the postmaster, its children, and those that have ended."""
        with open(f"{self.data}/postmaster.pid") as f:
            postmaster = f.readline().strip()
        ticks = 0
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path) as f:
                    pid, rest = f.read().split(" ", 1)
            except OSError:
                continue
            fields = rest.rsplit(")", 1)[1].split()
            if pid == postmaster:
                ticks += sum(int(x) for x in fields[11:15])
            elif fields[1] == postmaster:
                ticks += sum(int(x) for x in fields[11:13])
        return ticks / os.sysconf("SC_CLK_TCK")

    def wait_until_idle(self):
        """Until no client of a load is left, whose processor time the postmaster has by then."""
        while self.sql("postgres", "select count(*) from pg_stat_activity where backend_type ="
                       " 'client backend' and application_name <> 'psql'") != "0":
            time.sleep(0.05)
        time.sleep(0.1)

    def drop_kernel_cache(self):
        """Of the cluster's files: what has been written is dropped from the kernel's cache."""
        for path in glob.glob(f"{self.data}/base/*/*"):
            try:
                fd = os.open(path, os.O_RDONLY)
            except OSError:
                continue
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def make_cold(self, settings):
        self.sql("postgres", "checkpoint")
        self.restart(settings)
        self.drop_kernel_cache()


class Session:
    """A psql that stays: for snapshots that are held."""

    def __init__(self, server, database):
        self.process = subprocess.Popen([f"{server.bindir}/psql", "-X", "-qAt", "-d", database],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=server.environment())

    def run(self, statement):
        self.process.stdin.write(f"{statement};\n\\echo done\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "done\n":
                break
            lines.append(line.rstrip("\n"))
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Sampler:
    """The value of a query, about each second, while something else runs."""

    def __init__(self, server, database, query, seconds=1.0):
        self.session = Session(server, database)
        self.query = query
        self.seconds = seconds
        self.samples = []
        self.begin = time.time()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._sample)
        self.thread.start()

    def _sample(self):
        while not self.ended.is_set():
            value = self.session.run(self.query)
            if value:
                self.samples.append((time.time() - self.begin, float(value[0])))
            self.ended.wait(self.seconds)

    def end(self):
        self.ended.set()
        self.thread.join()
        self.session.close()
        return self.samples
