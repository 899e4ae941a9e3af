"""A client of the publisher: random transactions until it is told to stop, or until the server is
gone.
"""

import random
import threading

from server import Lost, SqlError
from tables import Statements

# lock timeout, deadlock, serialization, key there already, cancelled, column dropped meanwhile
EXPECTED = {'55P03', '40P01', '40001', '23505', '57014', '42703'}


class Client(threading.Thread):
    def __init__(self, run, number, seed):
        super().__init__(daemon=True)
        self.run_, self.number = run, number
        self.r = random.Random(seed)
        self.statements = Statements(self.r, number, run.ids[number])
        self.end = threading.Event()
        self.prepared = []          # transactions that wait to be finished
        self.db = None

    def run(self):
        try:
            self.db = self.run_.publisher.connect('-c lock_timeout=2s -c deadlock_timeout=50ms -c statement_timeout=100s')
            while not self.end.is_set():
                try:
                    self.transaction()
                except SqlError as e:
                    self.failed(e)
            while self.prepared:
                self.finish_prepared()
            self.db.close()
        except (Lost, OSError):
            pass
        except SqlError as e:
            self.run_.finding('client %d: %s' % (self.number, e))
        except Exception as e:      # a defect of the test: not to be lost in a thread
            self.run_.finding('client %d: %s: %r' % (self.number, type(e).__name__, e))

    def failed(self, e):
        if e.code == 'hang':
            self.run_.finding('client %d: %s' % (self.number, e))
            raise Lost('hang')
        if e.code not in EXPECTED:
            self.run_.finding('client %d: %s' % (self.number, e))
        if self.db.status != 'I':
            self.db.run('rollback')
        self.run_.count('rolled back')

    def transaction(self):
        r, db = self.r, self.db
        db.run('begin isolation level ' + r.choices(['read committed', 'repeatable read', 'serializable'], [8, 2, 1])[0])
        savepoints = 0
        for _ in range(r.choice([1, 1, 2, 3, 5, 10])):
            what = r.random()
            if what < 0.15 and savepoints < 5:
                savepoints += 1
                db.run('savepoint s%d' % savepoints)
            elif what < 0.25 and savepoints:
                keep = r.randint(1, savepoints)
                db.run('rollback to s%d' % keep)
                savepoints = keep
            elif what < 0.3 and savepoints:
                savepoints = r.randint(1, savepoints) - 1
                db.run('release s%d' % (savepoints + 1))
            else:
                savepoints = self.step(savepoints)
        self.finish()

    def step(self, savepoints):
        """A statement; how many savepoints there are after it."""
        table = self.r.choice(self.run_.tables)
        name, sql = self.statements.step(table, self.run_.columns.extra.get(table.name, {}))
        try:
            self.db.run(sql)
            self.run_.count(name)
        except SqlError as e:
            # the transaction goes on, if it can
            if e.code not in EXPECTED or e.code == '40001' or not savepoints or self.r.random() < 0.3:
                raise
            savepoints = self.r.randint(1, savepoints)
            self.db.run('rollback to s%d' % savepoints)
        return savepoints

    def finish(self):
        what = self.r.random()
        if what < 0.2:
            self.db.run('rollback')
            self.run_.count('rolled back')
        elif what < 0.35 and len(self.prepared) < 2:
            gid = 'p%d' % self.statements.own()
            # Of a transaction that has only locked rows core decodes COMMIT PREPARED, but no PREPARE, on heap, too.
            self.db.run("select pg_logical_emit_message(true, 'prepared', '')")
            self.db.run("prepare transaction '%s'" % gid)
            self.run_.count('prepared')
            if self.db.tags == ['PREPARE TRANSACTION']:
                self.prepared.append(gid)
        else:
            self.db.run('commit')
            self.run_.count('committed')
        if self.prepared and self.r.random() < 0.4:
            self.finish_prepared()

    def finish_prepared(self):
        gid = self.prepared.pop(self.r.randrange(len(self.prepared)))
        how = self.r.choice(['commit', 'commit', 'rollback'])
        self.db.run("%s prepared '%s'" % (how, gid))
        self.run_.count('committed' if how == 'commit' else 'rolled back')


class Chores(threading.Thread):
    """Maintenance on both sides, and processes that end."""

    def __init__(self, run, seed):
        super().__init__(daemon=True)
        self.run_ = run
        self.r = random.Random(seed)
        self.end = threading.Event()

    def run(self):
        while not self.end.wait(self.r.random()):
            side = self.r.choice([self.run_.publisher, self.run_.subscriber])
            sql = self.chore(side)
            try:
                db = side.connect('-c lock_timeout=500ms')
                db.run(sql)
                self.run_.count('chores')
                db.close()
            except (Lost, OSError, SqlError) as e:
                if isinstance(e, SqlError) and e.code not in EXPECTED:
                    self.run_.finding('%s: %s' % (side.name, e))

    def chore(self, side):
        table = self.r.choice(self.run_.tables)
        what = self.r.random()
        if what < 0.5:
            return 'vacuum %s' % table.name
        if what < 0.65:
            return 'vacuum full %s' % table.name
        if what < 0.75 and table.kind != 'parted':
            return 'alter table %s set access method %s' % (table.name, self.r.choice(['heap', 'zheap', 'zheap']))
        if what < 0.85:
            return 'checkpoint'
        # a sender or who applies, on whichever side this is
        return ("select pg_terminate_backend(pid) from pg_stat_activity where (backend_type = 'walsender' "
                "or backend_type like 'logical replication%worker') and random() < 0.5")
