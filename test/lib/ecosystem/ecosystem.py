#!/usr/bin/env python3
"""Other extensions on zheap tables: statements of each on heap and on zheap, the output compared.  Called by test/ecosystem.

extensions/NAME.sql has the statements for one extension.  psql runs them twice, in a database in which
default_table_access_method is heap, and in one in which it is zheap, CREATE EXTENSION included; parts/ has what several
of them \\i.  The comment that the file begins with says what is done, and

-- package: NAME    Debian's, if the server itself does not bring the extension
-- preload: NAME    for shared_preload_libraries
-- library: NAME    an output plugin, not preloaded
-- program: NAME    that the file calls
-- set: NAME = VALUE  another setting of the server
-- errors: N        statements that fail on heap, if there are any
-- < LINE           a line of heap's output, and
-- > LINE           of zheap's, that the other lacks: all that differ, in order; why is told above them

Besides, with zheap: at least one table of the database is a zheap table, zheap_verify_all() and amcheck find nothing, the
log has no internal error that heap's has not, and after kill -9 all rows are there.
"""

import argparse
import collections
import difflib
import glob
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, '..', 'shared'))
from server import Db, Lost, Server, SqlError

TIMEOUT = 900                   # seconds that a file may take on any machine
MESSAGE = re.compile(r'^(?:ERROR|WARNING|NOTICE|LOG|INFO|DETAIL|CONTEXT|HINT): ')
SETTINGS = {'autovacuum': 'off', 'max_connections': 30, 'max_replication_slots': 10, 'max_wal_senders': 10,
            'log_statement': 'none', 'log_min_error_statement': 'error', 'statement_timeout': '600s',
            'log_replication_commands': 'off', 'max_worker_processes': 24}

TABLES = """select c.oid::regclass, amname, relpersistence from pg_class c join pg_namespace n on n.oid = relnamespace
join pg_am a on a.oid = relam where relkind in ('r', 'm') and relpersistence <> 't' and nspname !~ '^pg_(catalog|toast|temp)'
and nspname not in ('information_schema', 'zheap') order by c.oid::regclass::text collate "C" """
INDEXES = """select c.oid::regclass, bt_index_check(c.oid, true) from pg_class c join pg_index i on i.indexrelid = c.oid
join pg_am a on a.oid = relam join pg_class t on t.oid = indrelid join pg_namespace n on n.oid = c.relnamespace
where amname = 'btree' and indisvalid and c.relkind = 'i' and c.relpersistence <> 't' and nspname !~ '^pg_(catalog|toast|temp)'
and t.relam <> 0"""


class Extension:
    """A file of extensions/."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[:-len('.sql')]
        self.packages, self.preload, self.libraries, self.settings, self.differs = [], [], [], [], []
        self.programs = []
        self.errors = 0
        with open(path) as f:
            for line in f:
                if not line.startswith('--'):
                    break
                self.learn(line[2:].strip())

    def learn(self, line):
        key, _, value = line.partition(' ')
        if key == 'package:':
            self.packages.append(value)
        elif key == 'preload:':
            self.preload.append(value)
        elif key == 'library:':
            self.libraries.append(value)
        elif key == 'program:':
            self.programs.append(value)
        elif key == 'errors:':
            self.errors = int(value)
        elif key == 'set:':
            self.settings.append(tuple(re.split(r'\s*=\s*', value, maxsplit=1)))
        elif key in ('<', '>'):
            self.differs.append('%s %s' % (key, value.strip()))

    def needs(self):
        return tuple(self.preload), tuple(self.settings)

    def missing(self, bindir):
        """What is not installed of what it needs."""
        def directory(option):
            return subprocess.run([bindir + '/pg_config', option], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
        with open(self.path) as f:
            names = re.findall(r'^create extension (?:if not exists )?"?([\w-]+)', f.read(), re.M)
        lib, share = directory('--pkglibdir'), directory('--sharedir')
        return [name for name in self.preload + self.libraries if not os.path.exists('%s/%s.so' % (lib, name))] + [
            name for name in self.programs if not os.path.exists('%s/%s' % (bindir, name))] + [
            name for name in names if not os.path.exists('%s/extension/%s.control' % (share, name))]


def differences(heap, zheap):
    """The lines that only one has, as an extension's head lists them."""
    found = []
    for what, a, b, c, d in difflib.SequenceMatcher(None, heap, zheap, autojunk=False).get_opcodes():
        if what != 'equal':
            found += ['< ' + line.strip() for line in heap[a:b]] + ['> ' + line.strip() for line in zheap[c:d]]
    return found


class Group:
    """A server, for all the extensions that need the same settings."""

    def __init__(self, run, number, needs, extensions):
        self.run, self.extensions = run, extensions
        self.server = Server(run.args.bindir, run.args.directory, 'server%d' % number, run.conf, run.args.port)
        shutil.copytree(run.template, self.server.data, copy_function=shutil.copy)
        os.chmod(self.server.data, 0o700)
        preload, settings = needs
        self.server.set({'shared_preload_libraries': ', '.join(preload + ('zheap',)), **SETTINGS})
        with open(os.path.join(self.server.data, 'postgresql.conf'), 'a') as f:
            f.writelines('%s = %s\n' % setting for setting in settings)
            if any(e.libraries for e in extensions) and run.restricts_plugins:
                f.write("output_plugin_libraries = '%s'\n" % ', '.join(sum((e.libraries for e in extensions), [])))
        self.server_has_workers = bool(preload)      # one that has been terminated does not come again
        self.kept = {}              # database of zheap tables: their digests

    def go(self):
        try:
            self.server.start()
            for extension in self.extensions:
                self.compare(extension)
            self.crash()
            self.server.stop()
        except (Lost, SqlError, RuntimeError) as e:
            with open(self.server.log, errors='replace') as f:
                end = f.read().split('\n')[-20:]
            self.run.result(self.extensions[0].name, 'and those after it', ['the server is gone: %s' % e] + end)
            self.server.kill(random.Random(1))
        self.server.remove()

    def connect(self, database):
        return Db(self.server.sockets, self.server.port, database)

    # ------------------------------------------------------------ one extension

    def compare(self, extension):
        problems, logs, output = [], {}, {}
        self.about = ''
        for am in ('heap', 'zheap'):
            self.create(am)
            output[am] = self.psql(extension, am)
            self.server.start()         # waits, if it has crashed
            try:
                output[am] += self.count_rows()
                if am == 'zheap':
                    problems += self.check(extension)
            except Lost as e:
                problems.append('the server is gone: %s' % e)
                self.server.start()
            logs[am] = [re.sub(r'^.*?\] ', '', line) for line in self.server.bad_lines()]
            self.release('heap_' + extension.name if am == 'heap' else extension.name)
        problems += ['log: ' + line for line in logs['zheap'] if line not in logs['heap']]
        failed = sum(line.startswith('ERROR: ') for line in output['heap'])
        if failed != extension.errors:
            problems.append('%d statements fail on heap, not %d' % (failed, extension.errors))
            problems += [line for line in output['heap'] if line.startswith('ERROR: ')][:10]
        found = differences(output['heap'], output['zheap'])
        if found != extension.differs:
            problems += list(difflib.unified_diff(output['heap'], output['zheap'], 'heap', 'zheap', lineterm='', n=6))
            problems += ['as the head of %s.sql would list it:' % extension.name] + ['-- ' + line for line in found]
        if self.run.args.output:
            for am, lines in output.items():
                with open(os.path.join(self.run.args.output, '%s.%s' % (extension.name, am)), 'w') as f:
                    f.write('\n'.join(lines) + '\n')
        self.run.result(extension.name, self.about, problems)

    def create(self, am):
        db = self.connect('postgres')
        db.run('create database eco')
        db.run("alter database eco set default_table_access_method = '%s'" % am)
        db.close()

    def psql(self, extension, am):
        """Lines of output; messages without what differs from run to run."""
        env = dict(os.environ, PGHOST=self.server.sockets, PGPORT=str(self.server.port), PGUSER='postgres', PGDATABASE='eco',
                   PATH=self.run.args.bindir + ':' + os.environ['PATH'])
        with open(extension.path) as script:
            p = subprocess.Popen(['psql', '-X', '-A', '-t', '-a', '-q', '-v', 'am=' + am], stdin=script, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, cwd=HERE, env=env)
            try:
                out = p.communicate(timeout=TIMEOUT)[0]
            except subprocess.TimeoutExpired:
                p.kill()
                out = p.communicate()[0] + b'\nno answer in %d s' % TIMEOUT
        lines = re.sub(r'with PID \d+', 'with PID N', out.decode(errors='replace')).split('\n')
        return [re.sub(r'\d{5,}', 'N', line) if MESSAGE.match(line) else line for line in lines if not line.startswith('--')]

    def count_rows(self):
        db = self.connect('eco')
        rows = []
        for table, _, _ in db.run(TABLES):
            try:
                rows.append('%s: %s rows' % (table, db.value('select count(*) from ' + table)))
            except SqlError as e:
                rows.append(str(e))
        db.close()
        return rows

    def check(self, extension):
        """What is wrong with the database, beyond what its statements have said."""
        problems = []
        db = self.connect('eco')
        methods = collections.Counter(am for _, am, _ in db.run(TABLES))
        versions = db.run("select extname || ' ' || extversion from pg_extension where extname not in ('plpgsql', 'zheap') "
                          "order by oid desc")
        self.about = '%s (%d zheap tables, %d heap tables)' % (
            ', '.join(row[0] for row in versions) or ' '.join(extension.preload + extension.packages),
            methods['zheap'], methods['heap'])
        if not methods['zheap']:
            problems.append('no table is a zheap table')
        try:
            db.run('create extension if not exists amcheck schema zheap')
            problems += [' '.join(map(str, row)) for row in db.run('select * from zheap.zheap_verify_all()')]
            db.run('set search_path = zheap, public, pg_catalog')
            db.run(INDEXES)
            self.kept[extension.name] = self.digests(db)
        except (SqlError, Lost) as e:
            problems.append(str(e))
        db.close()
        return problems

    def digests(self, db):
        db.run('reset search_path')
        return {table: db.value("select coalesce(md5(string_agg(t::text, ',' order by t::text)), '') from %s t" % table)
                for table, _, persistence in db.run(TABLES) if persistence == 'p'}

    def release(self, name):
        """Give the database another name, though background workers come back to it."""
        db = self.connect('postgres')
        for attempt in range(1000):
            db.run("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = 'eco'")
            try:
                db.run('alter database eco rename to "%s"' % name)
                break
            except SqlError as e:
                if e.code != '55006':
                    raise
        db.close()
        if self.server_has_workers:
            self.server.stop()
            self.server.start()

    # ------------------------------------------------------------ all of them

    def crash(self):
        """Kill the server; then all must be as it was."""
        self.server.kill(random.Random(1))
        self.server.start()
        for name, expected in self.kept.items():
            try:
                db = self.connect(name)
                if self.digests(db) != expected:
                    self.run.result(name, 'after kill -9', ['rows differ'])
                found = db.run('select * from zheap.zheap_verify_all()')
                if found:
                    self.run.result(name, 'after kill -9', [str(row) for row in found])
                db.run('set search_path = zheap, public, pg_catalog')
                db.run(INDEXES)
                db.close()
            except (SqlError, Lost) as e:
                self.run.result(name, 'after kill -9', [str(e)])
        bad = self.server.bad_lines()
        if bad:
            self.run.result('server', 'after kill -9', bad)


class Run:
    def __init__(self, args):
        self.args = args
        self.passed, self.failed = 0, collections.OrderedDict()
        with open(args.conf) as f:
            self.conf = f.read()
        server = Server(args.bindir, args.directory, 'template', self.conf, args.port)
        server.init()
        server.set({})
        server.start()
        db = Db(server.sockets, server.port, 'template1')
        db.run('create extension zheap')
        # minor versions since 15.20 want to know of plugins that are not the server's own
        self.restricts_plugins = db.run("select from pg_settings where name = 'output_plugin_libraries'") != []
        db.close()
        server.stop()
        self.template = server.data
        os.replace(self.template + '/postgresql.conf.first', self.template + '/postgresql.conf')

    def result(self, name, about, problems):
        print('%-8s %-20s %s' % ('FAILED' if problems else 'ok', name, about), flush=True)
        for line in problems:
            print('    ' + line, flush=True)
        if not problems:
            self.passed += 1
        elif name not in self.failed:
            self.failed[name] = True


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('--bindir', required=True)
    p.add_argument('--directory', required=True, help='where servers are made')
    p.add_argument('--conf', required=True, help='file with their settings')
    p.add_argument('--port', type=int, default=54329)
    p.add_argument('--output', help='directory for the output of both runs')
    p.add_argument('--files', default=os.path.join(HERE, 'extensions'), help='another directory with NAME.sql')
    p.add_argument('--of-server', action='store_true', help="only extensions that need no package")
    p.add_argument('names', nargs='*', help='only these')
    args = p.parse_args()
    args.directory = os.path.realpath(args.directory)
    extensions = [Extension(path) for path in sorted(glob.glob(os.path.join(args.files, '*.sql')))]
    chosen = [e for e in extensions if (not args.names or e.name in args.names) and not (args.of_server and e.packages)]
    groups = collections.OrderedDict()
    for e in sorted(chosen, key=Extension.needs):
        missing = e.missing(args.bindir)
        if missing:
            print('skipped  %-20s not installed: %s' % (e.name, ', '.join(missing)), flush=True)
        else:
            groups.setdefault(e.needs(), []).append(e)
    run = Run(args)
    for number, (needs, members) in enumerate(groups.items()):
        Group(run, number, needs, members).go()
    print('%d passed, %d failed' % (run.passed, len(run.failed)))
    sys.exit(1 if run.failed or not run.passed else 0)


main()
