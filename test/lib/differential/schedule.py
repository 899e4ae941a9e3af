"""Random schedules: tables, and steps that are made while the schedule runs on heap.

A Schedule is made from a seed.  Its steps are chosen one by one with the same random
numbers and what is known of the sessions, then kept, so that a schedule that has run
is a plain list that can be run again, shortened, written to a file and read back.

Heap is the oracle only where its own answer does not depend on where rows lie, or on
which of two waiting sessions is faster.  So the statements are restricted:

order of rows       Without ORDER BY the rows of an answer are compared as a set.
order of locking    A statement that changes or locks several rows gets them in the
                    order of a key: by an ordered subquery FOR UPDATE, by ORDER BY, or
                    by a forced scan of the primary key.  A physical order would be
                    heap's, where each update moves the row to the end.  Rows that were
                    locked in order may then be changed in another, so no keys of theirs.
plans               Each session keeps to one kind of scan (enable_*), because sizes
                    differ and so would costs.  Sessions that force index scans also
                    force nested loops; only they join several rows in MERGE.
ctid                Never in a WHERE: after an update in place it still finds the row.
                    Nor in an output: addresses are what differs.
foreign keys        Children are found by an index on (pid, id), that is in the order
                    of id, in sessions that force index scans: all do if there are any.
xmin, pids, oids    Not selected; taken out of messages.
VACUUM              TRUNCATE off: it waits up to 5 s for a lock in small steps.  Only while
                    no session is blocked and no cursor is open: heap's waits for pins.
SERIALIZABLE        With small rows and no updates of indexed columns only.  Heap marks
                    index pages and moved rows as read or written that zheap does not
                    touch, so the false positives differ where a row moves.
                    A transaction that is to fail hears of it when it looks at its next row:
                    on heap that may be one of an aborted insertion that an index still
                    leads to, here it is gone (seed 1795289348).
deferred unique     Rows are small and no other column indexed.  A heap update that is not
                    HOT inserts an entry with the old key, which is checked at commit
                    against a duplicate that another one has inserted meanwhile; an
                    update in place is not, as a HOT one.
KEY SHARE           One difference is passed over (fails_early in differential.py): the version
                    that a REPEATABLE READ session wants to delete or lock FOR UPDATE has
                    been replaced by a transaction that committed, and is still locked
                    KEY SHARE by another one.  Heap waits for that one, then fails; zheap
                    fails at once, as locks there belong to the row, not to a version.
                    Heap may be cancelled, or terminated, while it waits.
                    Another (key_forgotten): heap's CLUSTER drops the mark of an update that
                    changed the key (HEAP_KEYS_UPDATED; rewrite_heap_tuple clears the bits
                    and restores t_infomask only), so heap goes on to lock the version before
                    KEY SHARE, and zheap fails as heap does without CLUSTER.
                    And a difference of time (deadlock_early): a row is being updated by one
                    and locked KEY SHARE by another; who wants to delete it waits for one of
                    them, then for the other.  Which one is first decides when a deadlock with
                    the other is found.
SHARE               Not where there is KEY SHARE.  Beside such a lock, an update that was
                    rolled back stays in heap's multixact, and until that is replaced FOR
                    SHARE lines up behind those who wait for the KEY SHARE lock, or skips
                    the row, though nothing that it minds is held.
waking up           The answers of the sessions that one step wakes are compared as a set:
                    after a MultiXactId has replaced an updater as heap's xmax, its
                    waiters come in another order.  What they did is in their answers.
sequences, random() None: a retried row would take other numbers.
"""

import random

from keys import Keys

LEVELS = {'RC': 'READ COMMITTED', 'RR': 'REPEATABLE READ', 'SER': 'SERIALIZABLE'}
MODES = {
    'index': 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; '
             'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off',
    'seq': 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off',
    'bitmap': 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
}


class Schedule:
    """What a run needs: setup, settings of the sessions, steps; zheap.initial_slots, if it
    is not the run's.  A step is (session, statement), or in place of the statement what
    side.py does to the session."""

    def __init__(self, setup, inits, steps=None, slots=None):
        self.setup = setup
        self.inits = inits
        self.steps = steps or []
        self.slots = slots

    def with_steps(self, steps):
        return Schedule(self.setup, self.inits, steps, self.slots)

    def sessions(self):
        """The highest number of a session."""
        return max([k for k, _ in self.inits + self.steps], default=0)

    def text(self):
        lines = ['slots: %d' % self.slots] if self.slots else []
        lines += ['setup: ' + s for s in self.setup]
        lines += ['init%d: %s' % i for i in self.inits]
        lines += ['s%d: %s' % s for s in self.steps]
        return '\n'.join(x.replace('\n', '\\n') for x in lines) + '\n'

    @staticmethod
    def read(text):
        s = Schedule([], [])
        for line in text.splitlines():
            label, _, sql = line.replace('\\n', '\n').partition(': ')
            if label == 'slots':
                s.slots = int(sql)
            elif label == 'setup':
                s.setup.append(sql)
            elif label.startswith('init'):
                s.inits.append((int(label[4:]), sql))
            elif label[:1] == 's' and label[1:].isdigit():
                s.steps.append((int(label[1:]), sql))
        return s


class SessionState:
    """What the generator remembers about a session."""

    def __init__(self, mode):
        self.mode = mode
        self.level = 'RC'
        self.savepoints = []
        self.cursors = []
        self.prepared = []
        self.temp = False


class Generator:
    NAME = 'differential'
    FINISH = 0.5                # chance that an open prepared transaction is finished next

    def __init__(self, seed, sessions=4, length=None):
        self.r = random.Random('%s %d' % (self.NAME, seed))
        r = self.r
        self.seed = seed
        self.n = sessions
        self.length = length or r.randint(15, 60)
        self.rows = r.choice([1, 2, 5, 8, 8, 12, 20])
        self.serial = 0
        self.features()
        # chosen apart, too
        self.keys = Keys(seed, r) if Keys.wanted(seed) and not self.ser else None
        modes = ['index'] * sessions if self.fk else \
            [r.choice(['index', 'index', 'seq', 'bitmap']) for _ in range(sessions)]
        self.state = [SessionState('index')] + [SessionState(m) for m in modes]
        self.schedule = Schedule(self.make_setup(),
                                 [(k + 1, MODES[m]) for k, m in enumerate(modes)])
        self.choose_settings(range(1, sessions + 1))

    def choose_settings(self, sessions):
        """Of the engine, for all sessions; heap takes no notice.  Not with self.r: a schedule's
        steps are to stay what they are."""
        r = random.Random('settings %d' % self.seed)
        settings = 'SET zheap.max_changed_indexes = %d; SET zheap.skip_dead_entries = %s; SET zheap.remove_dead_entries = %s' % (
            r.choice([0, 50, 100, 100]), r.choice(['on', 'on', 'off']), r.choice(['on', 'off']))
        self.schedule.inits += [(k, settings) for k in sessions]

    def features(self):
        r = self.r

        def chance(p):
            return r.random() < p

        self.ser = chance(0.12)
        self.fk = chance(0.35)
        self.part = chance(0.2)
        self.keyshare = self.fk or chance(0.35)
        self.wide = not self.ser and chance(0.4)
        self.indexed = not self.ser and chance(0.6)
        self.unique = chance(0.4)
        self.deferrable = chance(0.15)
        if self.deferrable:
            self.wide = self.indexed = False
        self.trigger = chance(0.35)
        self.before = chance(0.12)
        self.transition = chance(0.15)
        self.deferred = chance(0.15)
        self.selfupdate = chance(0.07)
        self.view = chance(0.2)
        self.twophase = chance(0.25)
        self.temp = chance(0.15)
        self.ddl = chance(0.12)
        self.vacuum = chance(0.3)
        self.level_weights = r.choice([(8, 2), (5, 5), (2, 8), (10, 0)])
        self.multi = chance(0.6)

    # ------------------------------------------------------------ tables

    def text(self):
        if not self.wide:
            return "'a'"
        n = self.r.choice([1, 10, 100, 400, 900, 1500, 1900])
        if self.r.random() < 0.05:
            n = 3000
        return "repeat('%s', %d)" % (self.r.choice('abcdef'), n)

    def make_setup(self):
        r = self.r
        out = []
        deferrable = ' DEFERRABLE' + r.choice(['', ' INITIALLY DEFERRED']) if self.deferrable else ''
        out.append('CREATE TABLE t (id int PRIMARY KEY%s, k int, u int%s, v int, w text)'
                   % (deferrable, ' UNIQUE' + deferrable if self.unique else ''))
        out.append('ALTER TABLE t ALTER w SET STORAGE ' + r.choice(['EXTERNAL', 'EXTENDED']))
        if self.indexed:
            out.append('CREATE INDEX t_k ON t (k)')
            if r.random() < 0.3:
                out.append('CREATE INDEX t_part ON t (v) WHERE k > 2')
            if r.random() < 0.2:
                out.append('CREATE INDEX t_expr ON t ((k + 1))')
        out.append("INSERT INTO t SELECT i, i %% %d, i + 100, 0, %s FROM generate_series(1, %d) i"
                   % (r.choice([2, 3, 5]), self.text(), self.rows))
        # a past: dead rows, old slots, versions
        for _ in range(r.choice([0, 0, 1, 3, 6])):
            i = r.randint(1, self.rows)
            out.append(r.choice([
                'UPDATE t SET v = v + 1 WHERE id = %d' % i,
                'BEGIN; UPDATE t SET v = v + 1 WHERE id >= %d; ROLLBACK' % i,
                'DELETE FROM t WHERE id = %d' % i,
                'BEGIN; DELETE FROM t WHERE id >= %d; SAVEPOINT s; INSERT INTO t VALUES (77); ROLLBACK' % i]))
        out.append('CREATE TABLE lg (what text)')
        out.append("CREATE FUNCTION lg() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                   "INSERT INTO lg VALUES (concat_ws(' ', TG_NAME, TG_OP, left(OLD::text, 60), "
                   "length(OLD::text), left(NEW::text, 60), length(NEW::text))); RETURN NULL; END $$")
        if self.fk:
            ref = ' '.join(['ON DELETE ' + r.choice(['CASCADE', 'NO ACTION', 'RESTRICT', 'SET NULL']),
                            'ON UPDATE ' + r.choice(['NO ACTION', 'CASCADE', 'SET NULL']),
                            r.choice(['', '', 'DEFERRABLE', 'DEFERRABLE INITIALLY DEFERRED'])])
            out.append('CREATE TABLE p (id int PRIMARY KEY, v int)')
            out.append('CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p %s, v int)' % ref)
            out.append('CREATE INDEX c_pid ON c (pid, id)')
            out.append('INSERT INTO p SELECT i, 0 FROM generate_series(1, 4) i')
            out.append('INSERT INTO c SELECT i, 1 + i % 3, 0 FROM generate_series(1, 6) i')
        if self.part:
            out.append('CREATE TABLE q (id int, part int, v int, w text, PRIMARY KEY (id, part)) '
                       'PARTITION BY LIST (part)')
            out += ['CREATE TABLE q%d PARTITION OF q FOR VALUES IN (%d)' % (i, i) for i in (1, 2)]
            out.append('CREATE TABLE q0 PARTITION OF q DEFAULT')
            out.append('INSERT INTO q SELECT i, i % 4, 0, NULL FROM generate_series(1, 6) i')
        for table in ['t'] + ['c', 'p'] * self.fk + ['q'] * self.part:
            if self.trigger and (table == 't' or r.random() < 0.5):
                out.append('CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON %s '
                           'FOR EACH ROW EXECUTE FUNCTION lg()' % table)
            if self.deferred and table != 'q':
                out.append('CREATE CONSTRAINT TRIGGER later AFTER INSERT OR UPDATE OR DELETE ON %s '
                           'DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lg()' % table)
            if self.transition and table != 'q0':
                for op, name, clause, query in (
                        ('INSERT', 'ins', 'NEW TABLE AS n', "SELECT 'n', x FROM n x"),
                        ('UPDATE', 'upd', 'OLD TABLE AS o NEW TABLE AS n',
                         "SELECT 'o', x FROM o x UNION ALL SELECT 'n', x FROM n x"),
                        ('DELETE', 'del', 'OLD TABLE AS o', "SELECT 'o', x FROM o x")):
                    out.append("CREATE FUNCTION %s_%s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                               "INSERT INTO lg SELECT concat_ws(' ', TG_NAME, a, left(b, 60), length(b)) "
                               "FROM (%s) y(a, z), LATERAL (SELECT z::text) z2(b); RETURN NULL; END $$"
                               % (table, name, query))
                    out.append('CREATE TRIGGER stmt_%s AFTER %s ON %s REFERENCING %s '
                               'FOR EACH STATEMENT EXECUTE FUNCTION %s_%s()'
                               % (name, op, table, clause, table, name))
        if self.before:
            out.append(r.choice([
                "CREATE FUNCTION bf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "NEW.v := NEW.v + 1000; RETURN NEW; END $$",
                "CREATE FUNCTION bf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF pg_trigger_depth() = 1 THEN UPDATE t SET v = v + 100 WHERE id = NEW.id; END IF; "
                "RETURN NEW; END $$",
                "CREATE FUNCTION bf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF NEW.v % 3 = 1 THEN RETURN NULL; END IF; RETURN NEW; END $$"]))
            out.append('CREATE TRIGGER before_row BEFORE %s ON t FOR EACH ROW EXECUTE FUNCTION bf()'
                       % r.choice(['UPDATE', 'INSERT OR UPDATE']))
        if self.selfupdate:
            out.append("CREATE FUNCTION su() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                       "IF pg_trigger_depth() = 1 THEN UPDATE t SET v = v + 10 WHERE id = NEW.id; END IF; "
                       "RETURN NULL; END $$")
            out.append('CREATE TRIGGER again AFTER UPDATE OR INSERT ON t FOR EACH ROW EXECUTE FUNCTION su()')
        if self.view:
            out.append('CREATE VIEW tv AS SELECT id, k, u, v, w FROM t WHERE v %% 5 <> 4 %s'
                       % r.choice(['', 'WITH CHECK OPTION', 'WITH CHECK OPTION']))
        return out + (self.keys.setup() if self.keys else [])

    # ------------------------------------------------------------ pieces of statements

    def id(self):
        return self.r.randint(1, self.rows + (self.r.random() < 0.2))

    def new_id(self):
        r = self.r
        return r.choice([r.randint(1, self.rows + 3), r.randint(self.rows + 1, self.rows + 6)])

    def values(self, i=None):
        r = self.r
        return '(%d, %d, %s, %d, %s)' % (i if i is not None else self.new_id(), r.randint(0, 4),
                                         r.choice(['NULL', str(r.randint(100, 110))]),
                                         r.randint(0, 5), self.text())

    def assign(self, name='t', keys=True):
        """What an UPDATE of t sets; keys: also what may wait for a duplicate."""
        r = self.r
        can = [('v = %s.v + 1' % name, 6), ('v = %s.v * 2 - 1' % name, 1), ('v = %s.v' % name, 0.5)]
        if self.wide:
            can += [('w = ' + self.text(), 5),
                    ("w = left(%s.w || %s, 1900), v = %s.v + 1" % (name, self.text(), name), 3)]
        if self.indexed:
            can += [('k = %s.k + 1' % name, 3), ('k = %d, v = %s.v + 1' % (r.randint(0, 4), name), 2)]
        else:
            can += [('k = %s.k + 1' % name, 2)]
        if self.unique and keys and not self.ser:
            can += [('u = %d' % r.randint(100, 110), 2)]
        if keys and not self.ser:
            can += [('id = %d' % self.new_id(), 1)]
        return pick(r, can)

    def where(self, name='t'):
        """A condition on one row of t, sometimes with one that a concurrent update may change."""
        r = self.r
        can = [('%s.id = %d' % (name, self.id()), 8),
               ('%s.id = %d AND %s.v %% 2 = %d' % (name, self.id(), name, r.randint(0, 1)), 2),
               ('%s.id = %d AND %s.v < %d' % (name, self.id(), name, r.randint(0, 6)), 1)]
        if self.unique:
            can += [('%s.u = %d' % (name, r.randint(101, 108)), 2)]
        return pick(r, can)

    def span(self):
        a = self.id()
        return a, a + self.r.randint(0, 3)

    def returning(self):
        return self.r.choice(['', '', ' RETURNING id, v', ' RETURNING id, k, u, v, length(w), left(w, 3)'])

    # ------------------------------------------------------------ statements

    def update(self, s):
        r = self.r
        x = r.random()
        if self.multi and x < 0.3:
            a, b = self.span()
            if s.mode == 'index' and r.random() < 0.6:
                return 'UPDATE t SET %s WHERE id BETWEEN %d AND %d%s' % (self.assign(), a, b, self.returning())
            return ('UPDATE t SET %s FROM (SELECT id AS i FROM t WHERE id BETWEEN %d AND %d ORDER BY id '
                    'FOR UPDATE) s WHERE t.id = s.i%s' % (self.assign(keys=s.mode == 'index'), a, b, self.returning()))
        if x < 0.36:
            return ('UPDATE t SET v = (SELECT coalesce(max(v), 0) + 1 FROM t x WHERE x.id <> t.id AND x.id < 4) '
                    'WHERE %s%s' % (self.where(), self.returning()))
        if x < 0.42:
            return ('UPDATE t SET %s FROM (VALUES (%d)) AS s(i) WHERE t.id = s.i%s'
                    % (self.assign(), self.id(), self.returning()))
        if self.view and x < 0.6:
            return 'UPDATE tv SET %s WHERE %s%s' % (self.assign('tv'), self.where('tv'), self.returning())
        return 'UPDATE t SET %s WHERE %s%s' % (self.assign(), self.where(), self.returning())

    def delete(self, s):
        a, b = self.span()
        if self.multi and self.r.random() < 0.2:
            return ('DELETE FROM t USING (SELECT id AS i FROM t WHERE id BETWEEN %d AND %d ORDER BY id '
                    'FOR UPDATE) s WHERE t.id = s.i%s' % (a, b, self.returning()))
        if self.view and self.r.random() < 0.3:
            return 'DELETE FROM tv WHERE ' + self.where('tv') + self.returning()
        return 'DELETE FROM t WHERE ' + self.where() + self.returning()

    def insert(self, s):
        r = self.r
        x = r.random()
        if x < 0.15:
            rows = sorted({self.new_id() for _ in range(3)})
            return 'COPY t FROM STDIN\n' + ''.join(
                '%d\t%d\t\\N\t%d\t%s\n' % (i, r.randint(0, 4), r.randint(0, 4),
                                           r.choice('abc') * (r.choice([1, 1, 300, 900]) if self.wide else 1))
                for i in rows)
        table = 'tv' if self.view and x < 0.3 else 't'
        if x < 0.5:
            return 'INSERT INTO %s VALUES %s%s' % (
                table, ', '.join(self.values(i) for i in
                                 sorted({self.new_id() for _ in range(r.randint(1, 3))})), self.returning())
        return 'INSERT INTO %s VALUES %s%s' % (table, self.values(), self.returning())

    def upsert(self, s):
        r = self.r
        target = '(u)' if self.unique and r.random() < 0.25 else '(id)'
        ids = sorted({self.new_id() for _ in range(r.choice([1, 1, 1, 3]))})
        sql = 'INSERT INTO t VALUES %s ON CONFLICT %s DO ' % (', '.join(self.values(i) for i in ids), target)
        if r.random() < 0.35:
            return r.choice([sql, sql.replace('ON CONFLICT ' + target, 'ON CONFLICT')]) + 'NOTHING' + self.returning()
        sets = r.choice(['v = t.v + excluded.v', 'v = t.v + 1', self.assign()])
        if sets.startswith('id ='):
            sets = 'v = 9'
        returning = self.returning().replace('id,', 't.id,')
        return sql + 'UPDATE SET %s%s%s' % (sets, r.choice(['', '', ' WHERE t.v % 2 = 0']), returning)

    def merge(self, s):
        r = self.r
        n = r.randint(1, 3) if s.mode == 'index' and self.multi else 1
        source = ', '.join('(%d, %d)' % (i, r.randint(1, 3)) for i in sorted({self.new_id() for _ in range(n)}))
        clauses = []
        if r.random() < 0.3:
            clauses.append('WHEN MATCHED AND t.v % 3 = 2 THEN DELETE')
        if r.random() < 0.2:
            clauses.append('WHEN MATCHED AND t.v % 4 = 1 THEN DO NOTHING')
        if r.random() < 0.8:
            clauses.append('WHEN MATCHED THEN UPDATE SET %s' % r.choice(['v = t.v + s.d', self.assign()]))
        if r.random() < 0.7 or not clauses:
            clauses.append('WHEN NOT MATCHED THEN INSERT VALUES (s.i, s.d, NULL, s.d, %s)' % self.text())
        return 'MERGE INTO t USING (VALUES %s) s(i, d) ON t.id = s.i %s' % (source, ' '.join(clauses))

    def lock(self, s):
        r = self.r
        modes = ['UPDATE', 'NO KEY UPDATE', 'KEY SHARE' if self.keyshare else 'SHARE']
        mode = r.choice(modes)
        how = 'FOR %s%s' % (mode, r.choice(['', '', '', ' NOWAIT', ' SKIP LOCKED', ' SKIP LOCKED']))
        x = r.random()
        if x < 0.3:
            a, b = self.span()
            return 'SELECT id, v FROM t WHERE id BETWEEN %d AND %d ORDER BY id %s' % (a, b, how)
        if x < 0.4:
            return 'SELECT id, v FROM t ORDER BY id LIMIT %d %s' % (r.randint(1, 3), how)
        if x < 0.5:
            return ('SELECT id, (SELECT max(v) FROM t x WHERE x.id < 4) FROM t WHERE %s %s'
                    % (self.where(), how))
        return 'SELECT id, k, u, v, length(w) FROM t WHERE %s %s' % (self.where(), how)

    def select(self, s):
        r = self.r
        return r.choice([
            'SELECT id, k, u, v, length(w), left(w, 3) FROM t ORDER BY id, k, v',
            'SELECT id, k, u, v, length(w), left(w, 3) FROM t ORDER BY id, k, v',
            'SELECT count(*), sum(v), sum(k), sum(length(w)) FROM t',
            'SELECT * FROM t WHERE id = %d' % self.id(),
            'SELECT id, v FROM t WHERE k = %d' % r.randint(0, 4),
            'SELECT id, v FROM t WHERE k + 1 = %d' % r.randint(0, 4),
            'SELECT id, v FROM t WHERE v BETWEEN 0 AND 3 AND k > 2',
            'SELECT u, v FROM t WHERE u = %d' % r.randint(100, 110),
            'SELECT id FROM t WHERE id IN (1, 2, 3, 5) OR u IN (101, 104)',
            'SELECT k FROM t WHERE k >= 1',
            'SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.k',
            'SELECT id, v FROM t TABLESAMPLE SYSTEM (100)',
            'COPY t (id, k, v) TO STDOUT',
            'SELECT what FROM lg'])

    def cursor(self, s):
        r = self.r
        if not s.cursors or r.random() < 0.15:
            self.serial += 1
            name = 'c%d' % self.serial
            s.cursors.append(name)
            x = r.random()
            if x < 0.45:
                return ('DECLARE %s CURSOR FOR SELECT id, v FROM t ORDER BY id FOR %s'
                        % (name, r.choice(['UPDATE', 'UPDATE', 'NO KEY UPDATE', 'KEY SHARE' if self.keyshare else 'SHARE'])))
            if x < 0.6 and s.mode == 'index':
                return 'DECLARE %s CURSOR FOR SELECT id, v FROM t WHERE id > 0 ORDER BY id' % name
            return ('DECLARE %s %sCURSOR%s FOR SELECT id, k, v, length(w) FROM t ORDER BY id'
                    % (name, r.choice(['', 'SCROLL ', 'SCROLL ']), r.choice(['', '', ' WITH HOLD'])))
        name = r.choice(s.cursors)
        x = r.random()
        if x < 0.5:
            return 'FETCH %s FROM %s' % (r.choice(['NEXT', 'NEXT', 'NEXT', '2', 'ALL', 'PRIOR', 'ABSOLUTE 2',
                                                   'FIRST', 'LAST', 'BACKWARD 2']), name)
        if x < 0.75:
            return 'UPDATE t SET %s WHERE CURRENT OF %s%s' % (self.assign(), name, self.returning())
        if x < 0.87:
            return 'DELETE FROM t WHERE CURRENT OF %s%s' % (name, self.returning())
        s.cursors.remove(name)
        return 'CLOSE ' + name

    def foreign(self, s):
        r = self.r
        p, c = r.randint(1, 5), r.randint(1, 8)
        return pick(r, [
            ('INSERT INTO p VALUES (%d, 1)' % r.randint(4, 7), 2),
            ('UPDATE p SET v = v + 1 WHERE id = %d RETURNING *' % p, 4),
            ('UPDATE p SET id = %d WHERE id = %d' % (r.randint(1, 8), p), 2),
            ('DELETE FROM p WHERE id = %d' % p, 2),
            ('SELECT * FROM p WHERE id = %d FOR %s' % (p, r.choice(
                ['UPDATE', 'NO KEY UPDATE', 'KEY SHARE'])), 2),
            ('INSERT INTO c VALUES (%d, %d, 1)' % (r.randint(6, 12), p), 4),
            ('UPDATE c SET v = v + 1 WHERE id = %d' % c, 2),
            ('UPDATE c SET pid = %d WHERE id = %d RETURNING *' % (p, c), 2),
            ('DELETE FROM c WHERE id = %d' % c, 1),
            ('INSERT INTO p VALUES (%d, 1) ON CONFLICT (id) DO UPDATE SET v = p.v + 1' % p, 1),
            ('SET CONSTRAINTS ALL ' + r.choice(['IMMEDIATE', 'DEFERRED']), 1),
            ('SELECT c.*, p.v AS pv FROM c LEFT JOIN p ON p.id = c.pid ORDER BY c.id', 2),
            ('SELECT id FROM p ORDER BY id', 1)])

    def partition(self, s):
        r = self.r
        i, part = r.randint(1, 7), r.randint(0, 3)
        return pick(r, [
            ('UPDATE q SET part = %d WHERE id = %d RETURNING *' % (part, i), 4),
            ('UPDATE q SET v = v + 1, part = %d WHERE id = %d AND v < 4' % (part, i), 2),
            ('UPDATE q SET v = v + 1 WHERE id = %d RETURNING *' % i, 3),
            ('DELETE FROM q WHERE id = %d RETURNING *' % i, 2),
            ('INSERT INTO q VALUES (%d, %d, 1)' % (r.randint(5, 10), part), 2),
            ('INSERT INTO q VALUES (%d, %d, 1) ON CONFLICT (id, part) DO UPDATE SET v = q.v + 1'
             % (i, part), 2),
            ('MERGE INTO q USING (VALUES (%d, %d)) s(i, d) ON q.id = s.i WHEN MATCHED THEN UPDATE SET part = s.d '
             'WHEN NOT MATCHED THEN INSERT VALUES (s.i, s.d, 0)' % (i, part), 2),
            ('SELECT * FROM q WHERE id = %d FOR UPDATE' % i, 2),
            ('SELECT * FROM q ORDER BY id, part', 2)])

    def block(self, s):
        r = self.r
        a = self.delete(s) if r.random() < 0.2 else 'UPDATE t SET %s WHERE %s' % (self.assign(), self.where())
        a = a.split(' RETURNING')[0]
        b = 'INSERT INTO t VALUES %s' % self.values()
        return r.choice([
            "DO $$ BEGIN %s; %s; EXCEPTION WHEN unique_violation THEN INSERT INTO lg VALUES ('dup'); END $$" % (a, b),
            "DO $$ BEGIN BEGIN %s; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; "
            "UPDATE t SET v = v + 3 WHERE %s; END $$" % (a, self.where()),
            "DO $$ DECLARE x int; BEGIN FOR i IN 1..3 LOOP BEGIN UPDATE t SET v = v + i WHERE id = %d; "
            "IF i %% 2 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN division_by_zero THEN NULL; END; "
            "END LOOP; SELECT sum(v) INTO x FROM t; RAISE NOTICE 'sum %%', x; END $$" % self.id(),
            "DO $$ DECLARE x record; BEGIN FOR x IN SELECT id, v FROM t WHERE id <= 4 ORDER BY id LOOP "
            "UPDATE t SET v = v + 1 WHERE id = x.id + 1; RAISE NOTICE '%', x; END LOOP; END $$",
            "DO $$ BEGIN PERFORM 1 FROM t WHERE id = %d FOR UPDATE NOWAIT; %s; "
            "EXCEPTION WHEN lock_not_available THEN RAISE NOTICE 'locked'; END $$" % (self.id(), a),
            "WITH x AS (UPDATE t SET v = v + 1 WHERE id = %d RETURNING id, v) "
            "INSERT INTO lg SELECT 'cte ' || id || ' ' || v FROM x" % self.id(),
            "WITH x AS (DELETE FROM t WHERE id = %d RETURNING *) INSERT INTO t SELECT id + %d, k, NULL, v, w FROM x"
            % (self.id(), self.rows)])

    def temporary(self, s):
        if not s.temp:
            s.temp = True
            return self.r.choice(['CREATE TEMP TABLE IF NOT EXISTS tmp (id int PRIMARY KEY, v int)',
                                  'CREATE TEMP TABLE IF NOT EXISTS tmp (id int PRIMARY KEY, v int) '
                                  'ON COMMIT DELETE ROWS'])
        i = self.r.randint(1, 4)
        return self.r.choice([
            'INSERT INTO tmp VALUES (%d, 0) ON CONFLICT (id) DO UPDATE SET v = tmp.v + 1 RETURNING *' % i,
            'UPDATE tmp SET v = v + 1 WHERE id = %d RETURNING *' % i,
            'DELETE FROM tmp WHERE id = %d' % i,
            'INSERT INTO tmp SELECT id + 4, v FROM t ON CONFLICT DO NOTHING',
            'SELECT * FROM tmp ORDER BY id'])

    def definition(self, s):
        self.serial += 1
        return pick(self.r, [
            ('TRUNCATE lg', 1),
            ('TRUNCATE t', 1),
            ('ALTER TABLE t ADD COLUMN x%d int DEFAULT %d' % (self.serial, self.serial), 2),
            ('CREATE INDEX ON t (%s)' % self.r.choice(['v', 'k', 'v, id']), 0 if self.ser else 2),
            ('REINDEX TABLE t', 1),
            ('LOCK TABLE t IN %s MODE' % self.r.choice(['SHARE', 'EXCLUSIVE', 'ROW EXCLUSIVE']), 1),
            ('ALTER TABLE t ALTER v TYPE bigint', 1),
            ('CREATE TABLE IF NOT EXISTS n%d AS SELECT * FROM t' % self.serial, 1)])

    # ------------------------------------------------------------ choosing

    def step(self, free, status):
        """(session, statement): free are the sessions that can do something, status as
        the server reported it."""
        r = self.r
        if not free or (r.random() < self.FINISH and self.open_prepared()):
            gid = self.open_prepared()
            if not gid:
                return None
            return self.finish_prepared(gid)
        k = r.choice(free)
        s = self.state[k]
        if status[k] == 'I':
            s.savepoints, s.cursors = [], [c for c in s.cursors if r.random() < 0.1]
        return k, self.statement(k, s, status[k], len(free))

    def closing(self, free, status):
        """A step after the last one, or None."""
        return None

    def open_prepared(self):
        for s in self.state:
            if s.prepared:
                return s.prepared[0]
        return None

    def finish_prepared(self, gid):
        for s in self.state:
            if gid in s.prepared:
                s.prepared.remove(gid)
        return 0, "%s PREPARED '%s'" % (self.r.choice(['COMMIT', 'COMMIT', 'ROLLBACK']), gid)

    def statement(self, k, s, status, free):
        r = self.r
        if status == 'E':
            if s.savepoints and r.random() < 0.6:
                return self.rollback_to(s)
            return r.choice(['ROLLBACK', 'ROLLBACK', 'COMMIT'])
        if status == 'I':
            s.level = 'RC'
            x = r.random()
            if x < 0.65:
                s.level = r.choices(['RC', 'RR'], self.level_weights)[0]
                if self.ser and r.random() < 0.7:
                    s.level = 'SER'
                return 'BEGIN ISOLATION LEVEL ' + LEVELS[s.level]
            if self.vacuum and x < 0.72 and free == self.n and not any(o.cursors for o in self.state):
                return r.choice(['VACUUM (TRUNCATE off) t', 'VACUUM (TRUNCATE off, FREEZE) t', 'ANALYZE t',
                                 'VACUUM (TRUNCATE off, ANALYZE) t'] +
                                ['VACUUM (TRUNCATE off, INDEX_CLEANUP on) m'] * (4 if self.keys else 0))
        else:
            # the more wait, the sooner it ends
            if r.random() < 0.10 + 0.10 * (self.n - free):
                if self.twophase and r.random() < 0.4:
                    self.serial += 1
                    gid = '@DB@_%d' % self.serial
                    s.prepared.append(gid)
                    return "PREPARE TRANSACTION '%s'" % gid
                return r.choice(['COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK', 'ROLLBACK'])
            x = r.random()
            if x < 0.07:
                name = r.choice('abc')
                s.savepoints.append(name)
                return 'SAVEPOINT ' + name
            if x < 0.16 and s.savepoints:
                if r.random() < 0.35:
                    name = s.savepoints.pop()
                    return 'RELEASE ' + name
                return self.rollback_to(s)
        return pick(r, self.kinds(status))(s)

    def kinds(self, status):
        """What a statement may be, with weights."""
        return [
            (self.update, 9), (self.delete, 2.5), (self.insert, 3), (self.upsert, 2.5), (self.merge, 1.5),
            (self.lock, 5), (self.select, 5), (self.block, 1.5),
            (self.cursor, 3 if status == 'T' else 0),
            (self.foreign, 12 if self.fk else 0), (self.partition, 9 if self.part else 0),
            (self.temporary, 2 if self.temp else 0), (self.definition, 1.2 if self.ddl else 0)] + \
            [(lambda s: self.keys.statement(s, status, self.ddl), 30)] * (self.keys is not None)

    def rollback_to(self, s):
        i = self.r.randrange(len(s.savepoints))
        del s.savepoints[i + 1:]
        return 'ROLLBACK TO ' + s.savepoints[i]


def pick(r, weighted):
    return r.choices([x for x, _ in weighted], [w for _, w in weighted])[0]
