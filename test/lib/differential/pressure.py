"""Schedules in which pages are full and crowded, and the past is needed.

What differs from schedule.py, whose restrictions hold here, too:

full pages          Rows that fill the page follow those that the sessions change, so a page
                    has no room for more slots: a transaction that changes a row takes over
                    the slot of another.  A schedule begins with few slots.
old snapshots       Sessions beyond the others only hold snapshots, of different ages, and
                    read now and then; at the end each of them reads everything once more.
churn               Small transactions one after the other, some of them rolled back, by one
                    DO with COMMIT: slots change hands, rows get a past.
a past              Between the random steps a plot goes on: an old snapshot is taken, rows are
                    moved, deleted, changed; a younger snapshot; churn; the old one ends; then
                    come VACUUM, index builds, cursors, checks, which meet rows whose modifier
                    only a look at the younger snapshot, or at the past, can tell.
many changes        Loops that change one row, or the rows of a page, up to --changes times
                    in one transaction, with savepoints; committed, rolled back, prepared.
                    Few where a row is found by a scan, or a trigger makes a row of each.
cancel, terminate   Of a session that waits: it waits on both sides, or the traces differ
                    before.  Of one that runs: it never ends by itself (it sleeps at last), so
                    that it fails on both sides, no matter how far it came, and what it did
                    is rolled back; only while nobody waits, who might be woken by it.  Of one
                    that waits for its client: terminate only.
keys                Of the table that keys.py describes, as a plot: changed back and forth while
                    snapshots of two ages read it, and VACUUM removes what is left of them.
VACUUM, indexes     VACUUM, CREATE INDEX, REINDEX, CLUSTER, rarely rewrites, beside all that.
foreign keys        By a role that may not read the other table: then the server checks row by
                    row.  The constraint does not stay.
SERIALIZABLE        Not here: on full pages heap's rows move all the time.  Nor deferrable
                    unique constraints, for the same reason.
xmin                Only with --xmin: as the version of a row, to update it if nobody else has.
"""

from schedule import LEVELS, MODES, Generator, SessionState, pick

FILLER = 1000               # rows with numbers above fill the pages
HOLDERS = 3                 # at most
ABSENT = 30                 # a k that violates the foreign key
DIGEST = ("SELECT count(*), sum(a), sum(length(pad)), "
          "md5(string_agg(id || left(pad, 1), ',' ORDER BY id)) FROM big")
SCANS = ['SELECT id, k, u, v, length(w), left(w, 3) FROM t ORDER BY id, k, v',
         'SELECT id, k, v FROM t WHERE id > 0 ORDER BY id']


class Pressure(Generator):
    NAME = 'pressure'
    FINISH = 0.08
    CHANGES = 3000
    XMIN = False

    def __init__(self, seed, sessions=4, length=None):
        super().__init__(seed, sessions, length)
        r = self.r
        self.length = length or r.randint(40, 120)
        self.schedule.slots = r.choice([1, 1, 2, 4])
        self.holders = range(sessions + 1, sessions + 1 + r.randint(2, HOLDERS))
        for k in self.holders:
            mode = r.choice(list(MODES))
            self.state.append(SessionState(mode))
            self.schedule.inits.append((k, MODES[mode]))
        self.choose_settings(self.holders)
        for s in self.state:
            s.todo = []
            s.noted = None
        self.end = None
        self.plot = []

    def features(self):
        super().features()
        r = self.r
        self.ser = self.deferrable = False
        self.rows = r.choice([6, 12, 20])
        self.filler = r.choice([60, 100, 250, 600])
        self.fillers = 8000 // (self.filler + 40) + 2
        self.fk = r.random() < 0.3
        self.keyshare = self.keyshare or self.fk
        self.logs = r.random() < 0.25
        if not self.logs:
            self.trigger = self.transition = self.deferred = False
        self.twophase = r.random() < 0.4
        self.vacuum = r.random() < 0.7
        self.ddl = r.random() < 0.5
        self.wide = self.wide or r.random() < 0.2
        self.big = r.random() < 0.4
        self.level_weights = r.choice([(7, 3), (5, 5), (3, 7)])

    # ------------------------------------------------------------ tables

    def make_setup(self):
        out = super().make_setup()
        if self.fk:
            out += ['ALTER TABLE p ADD pad text', 'ALTER TABLE c ADD pad text']

        def fill(insert, n):
            out.append('SET session_replication_role = replica; %s FROM generate_series(%d, %d) i; '
                       'RESET session_replication_role' % (insert, FILLER + 1, FILLER + n))

        self.external = self.wide and self.r.random() < 0.6
        if self.external:
            out.append('ALTER TABLE t ALTER w SET STORAGE EXTERNAL')
        fill("INSERT INTO t SELECT i, 90, NULL, 0, repeat('f', %d)" % self.filler, self.fillers)
        if self.fk:
            fill("INSERT INTO p SELECT i, 0, repeat('f', 400)", 20)
            fill("INSERT INTO c SELECT i, NULL, 0, repeat('f', 600)", 14)
        if self.part:
            fill("INSERT INTO q SELECT i, i % 3, 0, repeat('f', 600)", 42)
        if self.big:
            out.append('CREATE TABLE big (id int PRIMARY KEY, a int, pad text)')
            out.append("INSERT INTO big SELECT i, 0, repeat('b', 900) FROM generate_series(0, 600) i")
            # one full page
            out.append('CREATE TABLE s (id int PRIMARY KEY, n int, pad text)')
            out.append("INSERT INTO s SELECT i, 0, repeat('x', 200) FROM generate_series(1, 33) i")
            out.append('ANALYZE s')
        if self.ddl:
            out.append('CREATE TABLE pk (id int PRIMARY KEY)')
            out.append('INSERT INTO pk SELECT i FROM generate_series(0, 40) i WHERE i <> %d' % ABSENT)
            out.append('INSERT INTO pk VALUES (90)')
            out.append('GRANT ALL ON SCHEMA public TO differential; GRANT REFERENCES ON pk TO differential; '
                       'ALTER TABLE t OWNER TO differential')
        out.append('ANALYZE t')
        return out

    def text(self):
        if self.wide and self.r.random() < 0.2:
            return "repeat('%s', 2500)" % self.r.choice('ABC')
        return super().text()

    def id(self):
        if self.r.random() < 0.12:
            return FILLER + self.r.randint(1, self.fillers)
        return super().id()

    # ------------------------------------------------------------ many changes

    def count(self, s, most=None):
        """How often a loop goes round."""
        r = self.r
        n = r.choices([self.CHANGES // i for i in (300, 60, 15, 3, 1)], [4, 4, 3, 2, 1])[0]
        limits = [most or n, n]
        if s.mode != 'index':
            limits.append(300)
        if self.logs or self.selfupdate or self.before:
            limits.append(40)
        if self.wide:
            limits.append(500)
        return max(1, min(limits))

    def change(self, s):
        """(a statement for a loop over i, how often at most)"""
        r = self.r
        any = '1 + i %% %d' % self.rows
        filler = '%d + i %% %d' % (FILLER + 1, self.fillers)
        one = r.choice([str(self.id()), str(self.id()), any, any, filler])
        spare = 2000 + r.randint(0, 2)
        mode = r.choice(['UPDATE', 'NO KEY UPDATE', 'KEY SHARE' if self.keyshare else 'SHARE'])
        serial = 10000 * (1 + self.serial)
        self.serial += 1
        return pick(r, [
            (('UPDATE t SET v = v + 1 WHERE id = ' + one, None), 8),
            (('UPDATE t SET k = k + 1 WHERE id = ' + one, 100), 2),
            (("UPDATE t SET w = repeat(chr(97 + i %% 26), i %% %d), v = v - 1 WHERE id = %s"
              % (r.choice([20, 200, 900]) if self.wide else 10, one), 500), 2),
            (('INSERT INTO t VALUES (%d, 0, NULL, i, NULL); DELETE FROM t WHERE id = %d' % (spare, spare), 200), 1),
            (('DELETE FROM t WHERE id = %s; INSERT INTO t VALUES (%s, 1, NULL, i, NULL)' % (one, one), 60), 1),
            (('PERFORM 1 FROM t WHERE id = %s FOR %s' % (r.choice([any, filler]), mode), None), 2),
            (('UPDATE p SET v = v + 1 WHERE id = %d' % r.randint(1, 4), None), 3 if self.fk else 0),
            (('INSERT INTO c VALUES (%d + i, %d + i %% 20, 0); DELETE FROM c WHERE id = %d + i'
              % (serial, FILLER + 1, serial), 300), 3 if self.fk else 0),
            (('UPDATE q SET v = v + 1 WHERE id = 1 + i % 6', None), 2 if self.part else 0)])

    def loop(self, s):
        r = self.r
        what, most = self.change(s)
        if r.random() < 0.25:
            what = ('BEGIN %s; IF i %% %d = 0 THEN RAISE division_by_zero; END IF; '
                    'EXCEPTION WHEN division_by_zero THEN NULL; END' % (what, r.randint(2, 4)))
            most = min(most or 200, 200)
        return 'FOR i IN 1..%d LOOP %s; END LOOP;' % (self.count(s, most), what)

    def many(self, s):
        r = self.r
        x = r.random()
        if x < 0.1 and self.big:
            return self.write_much()
        loop = self.loop(s)
        if x < 0.2:
            return 'DO $$ BEGIN %s RAISE division_by_zero; END $$' % loop
        if x < 0.35:
            return ('DO $$ BEGIN BEGIN %s RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; '
                    '%s END $$' % (loop, self.loop(s)))
        if x < 0.6 and s.savepoints:
            s.todo.append(self.rollback_to(s))
        return 'DO $$ BEGIN %s END $$' % loop

    def churn(self, s, filler_only=False):
        """Small transactions, most of them on rows that nobody else changes."""
        r = self.r
        first = r.randrange(self.fillers)
        filler = '%d + (%d + $1) %% %d' % (FILLER + 1, first, self.fillers)
        any = filler if filler_only else '1 + (%d + $1) %% %d' % (first, self.rows)
        what = r.choice([
            'UPDATE t SET v = v + 1 WHERE id = ' + filler,
            'UPDATE t SET v = v + 1 WHERE id = ' + filler,
            'UPDATE t SET v = v + 1 WHERE id = ' + any,
            'UPDATE t SET k = k + 1 WHERE id = ' + filler,
            "UPDATE t SET w = repeat('g', %d + $1) WHERE id = %s" % (self.filler // 2, filler),
            'DELETE FROM t WHERE id = ' + filler,
            "INSERT INTO t VALUES (%s, 91, NULL, 0, repeat('h', %d)) ON CONFLICT (id) DO UPDATE SET v = t.v - 1"
            % (filler, self.filler // 2),
            'SELECT FROM t WHERE id = %s FOR NO KEY UPDATE' % filler])
        end = r.choice(['COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK',
                        'IF i % 3 = 1 THEN ROLLBACK; ELSE COMMIT; END IF'])
        # EXECUTE: no plan outlives a COMMIT, which a server with assertions minds if an index is new
        return 'DO $$ BEGIN FOR i IN 1..%d LOOP EXECUTE $x$%s$x$ USING i; %s; END LOOP; END $$' % (
            r.choice([1, 3, 6, 12]), what, end)

    # ------------------------------------------------------------ what meets an old row

    def cursor(self, s):
        r = self.r
        if r.random() < 0.35:
            self.serial += 1
            name = 'c%d' % self.serial
            s.cursors.append(name)
            s.todo += ['FETCH %s' % name]
            if r.random() < 0.5:
                s.todo += [r.choice(['UPDATE t SET k = k + 1 WHERE id = %d', 'UPDATE t SET v = v + 1 WHERE id = %d'])
                           % self.id()]
            s.todo += [r.choice(['UPDATE t SET %s WHERE CURRENT OF %s' % (self.assign(), name),
                                 'DELETE FROM t WHERE CURRENT OF ' + name])]
            return 'DECLARE %s CURSOR FOR SELECT id, v FROM t WHERE id = %d' % (name, self.id())
        return super().cursor(s)

    def probe(self, s):
        """The planner looks at the ends of an index."""
        return self.explain('t', self.r.choice(['id < 2', 'id < 3', 'id > %d' % (FILLER + self.fillers - 2), 'id > 2000', 'k < 1', 'k > 89']))

    def explain(self, table, where):
        return ('DO $$ DECLARE x text; BEGIN FOR x IN EXPLAIN SELECT * FROM %s a JOIN %s b ON a.id = b.id '
                'WHERE a.%s LOOP NULL; END LOOP; END $$' % (table, table, where))

    def definition(self, s):
        r = self.r
        self.serial += 1
        x = 'x%d' % r.randint(1, 3)
        what = r.choice(['t (v)', 't USING hash (w)', 't USING hash (k)', 't ((v % 7))', 't (v) WHERE k > 1',
                         't (left(w, 10))', 't (u)'])
        return pick(r, [
            ('CREATE INDEX IF NOT EXISTS %s ON %s' % (x, what), 5),
            ('CREATE UNIQUE INDEX IF NOT EXISTS %s ON t (v, id)' % x, 2),
            ('DROP INDEX IF EXISTS ' + x, 1),
            ('REINDEX TABLE t', 2),
            ('REINDEX INDEX t_pkey', 1),
            ("DO $$ BEGIN SET LOCAL ROLE differential; ALTER TABLE t ADD FOREIGN KEY (k) REFERENCES pk; "
             "RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'holds'; "
             "WHEN foreign_key_violation THEN RAISE NOTICE 'violated'; END $$", 3),
            ('CLUSTER t USING t_pkey', 0.5),
            ('LOCK TABLE t IN %s MODE' % r.choice(['SHARE', 'EXCLUSIVE', 'ROW EXCLUSIVE']), 0.5),
            ('TRUNCATE ' + r.choice(['t', 'lg', 'lg']), 0.5),
            ('ALTER TABLE t ADD COLUMN y%d int DEFAULT %d' % (self.serial, self.serial), 0.5),
            ('ALTER TABLE t ALTER v TYPE ' + r.choice(['int', 'bigint']), 0.3)])

    def version(self, s):
        if s.noted is None or self.r.random() < 0.3:
            s.noted = self.id()
            return ("DO $$ BEGIN PERFORM set_config('differential.version', xmin::text, false) FROM t "
                    "WHERE id = %d; END $$" % s.noted)
        return ("UPDATE t SET v = v + 1 WHERE id = %d AND xmin::text = "
                "current_setting('differential.version', true)" % s.noted)

    # ------------------------------------------------------------ choosing

    def kinds(self, status):
        inside = status == 'T'
        return [(f, w) for f, w in super().kinds(status) if f not in (self.cursor, self.definition)] + [
            (self.cursor, 5 if inside else 0), (self.many, 5), (self.churn, 0 if inside else 12),
            (self.definition, 3 if self.ddl else 0), (self.probe, 1), (self.lock, 2),
            (self.version, 3 if self.XMIN else 0)]

    def statement(self, k, s, status, free):
        r = self.r
        if status != 'T':
            s.todo = []
        elif s.todo and r.random() < 0.7:
            return s.todo.pop(0)
        return super().statement(k, s, status, free)

    def step(self, free, status):
        r = self.r
        free = [k for k in free if k < len(self.state)]
        workers = [k for k in free if k not in self.holders]
        waiting = [k for k in range(1, len(self.state)) if k not in free]
        able = [k for k in workers if status[k] != 'E']
        x = r.random()
        if waiting and (x < 0.03 or not workers and x < 0.3):
            return r.choice(waiting), '\\cancel'
        if waiting and (x < 0.045 or not workers and x < 0.4):
            return self.terminated(r.choice(waiting), '\\terminate')
        if x < 0.05:
            return self.terminated(r.choice(free) if free else 1, '\\terminate')
        if x < 0.065 and able and not waiting:
            k = r.choice(able)
            return k, '\\cancel ' + self.endless(k)
        if x < 0.07 and able and not waiting:
            k = r.choice(able)
            return self.terminated(k, '\\terminate ' + self.endless(k))
        if len(workers) < len(free) and (x < 0.15 or not workers and (x < 0.7 or not self.open_prepared())):
            return self.hold(r.choice([k for k in free if k in self.holders]), status, bool(workers))
        if x < 0.2:
            found = self.clean(free, status)
            if found:
                return found
        while free and x < 0.65:
            self.plot = self.plot or self.new_plot()
            found = self.plot.pop(0)(free, status)
            if found:
                return found
        return super().step(workers, status)

    # ------------------------------------------------------------ plots

    def new_plot(self):
        """Steps that follow each other, as functions of (free, status): a step, or None."""
        r = self.r
        older, younger = r.sample(list(self.holders), 2)
        if self.big and r.random() < 0.3:
            return self.stripped(older, younger)
        if self.external and r.random() < 0.25:
            return self.toasted(older, younger)
        if self.keys and r.random() < 0.6:
            return self.keys_changed(older, younger)
        c = r.randint(1, self.n)
        row = r.randint(1, self.rows)
        changes = [(r.randint(1, self.n), sql) for sql in r.sample(self.changes(row), r.randint(1, 3))]
        plot = [self.holding(older)]
        cursor = r.random() < 0.4
        if cursor:
            self.serial += 1
            name = 'c%d' % self.serial
            plot += [self.saying(c, 'BEGIN ISOLATION LEVEL READ COMMITTED'),
                     self.declaring(c, name, row), self.saying(c, 'FETCH ' + name)]
            changes[0] = changes[0][0] % self.n + 1, 'UPDATE t SET k = k + 1 WHERE id = %d' % row
        plot += [self.saying(k, sql, 'I') for k, sql in changes]
        if r.random() < 0.7:
            plot.append(self.holding(younger))
        plot += [self.churning()] * r.randint(1, 2)
        if cursor:
            plot.append(self.saying(c, r.choice(['UPDATE t SET v = v + 7 WHERE CURRENT OF ', 'DELETE FROM t WHERE CURRENT OF ']) + name))
        if r.random() < 0.6:
            plot.append(self.saying(older, 'COMMIT'))
        if r.random() < 0.5:
            plot += [self.ending(k) for k in range(1, self.n + 1)]
        if self.wide and r.random() < 0.5:
            # as autovacuum may do
            plot.append(self.say_idle(lambda s: 'VACUUM (TRUNCATE off) @TOAST@'))
        plot += [self.clean] * r.choice([0, 0, 1, 2])
        look = [self.clean, self.say_any(self.probe), self.say_any(self.lock), self.reading(younger)]
        if self.ddl:
            look += [self.say_any(self.definition)] * 5
        plot += r.choices(look, k=r.randint(1, 4))
        return plot

    def stripped(self, older, younger):
        """Deleted rows give up their space, and the undo that has their bytes is used anew,
        while their transaction slot belongs to somebody whom a snapshot does not see."""
        r = self.r
        k = r.randint(1, self.n)
        much = self.saying(k, self.write_much(), 'I')
        first = r.choice([1, 1, 5, 29])
        self.serial += 1
        new = 100 * self.serial

        def small(s):
            return ('DO $$ BEGIN FOR i IN 1..%d LOOP EXECUTE $x$UPDATE s SET n = n + 1 WHERE id = %d + $1$x$ USING i; '
                    'COMMIT; END LOOP; END $$' % (r.randint(1, 5), r.randint(9, 20)))

        def look(s):
            return r.choice(['CREATE INDEX s%d ON s (n)' % new, 'REINDEX TABLE s', 'CLUSTER s USING s_pkey',
                             'VACUUM (TRUNCATE off) s', 'SELECT id, n, length(pad) FROM s ORDER BY id',
                             self.explain('s', r.choice(['id < 3', 'id > 30', 'id > 1000']))])

        plot = [self.holding(older),
                self.say_any(lambda s: 'DELETE FROM s WHERE id BETWEEN %d AND %d' % (first, first + 4)),
                self.saying(k, "INSERT INTO s SELECT %d + i, 1, repeat('i', 200) FROM generate_series(1, 5) i" % new, 'I'),
                much, self.say_idle(small), self.holding(younger), self.say_idle(small),
                self.saying(older, 'COMMIT')]
        plot += [self.ending(k) for k in range(1, self.n + 1)]
        for _ in range(3):
            plot += [self.horizon, much]
        plot += [self.horizon] + [self.say_idle(look)] * r.randint(2, 4)
        return plot

    def toasted(self, older, younger):
        """A toasted value is replaced, and removed by VACUUM, while the row's transaction slot
        belongs to somebody whom a snapshot does not see."""
        r = self.r
        row = r.randint(1, self.rows)

        def put(what):
            return self.say_idle(lambda s: "UPDATE t SET w = repeat('%s', 2500) WHERE id = %d" % (what, row))

        def look(s):
            return r.choice(['CREATE INDEX IF NOT EXISTS x%d ON t USING hash (w)', 'REINDEX TABLE t',
                             'CREATE INDEX IF NOT EXISTS x%d ON t (left(w, 10))', 'CLUSTER t USING t_pkey']
                            ).replace('%d', str(r.randint(1, 3)))

        plot = [put('M'), self.holding(older), put('N'), self.holding(younger), self.churning(), self.saying(older, 'COMMIT')]
        plot += [self.ending(k) for k in range(1, self.n + 1)]
        plot += [self.say_idle(lambda s: 'VACUUM (TRUNCATE off) @TOAST@')]
        return plot + [self.say_idle(look)] * r.randint(1, 2)

    def keys_changed(self, older, younger):
        """Rows get several keys, and lose them again, under two snapshots of different ages."""
        r = self.r
        change = self.say_any(lambda s: self.keys.change())
        turn = self.say_idle(lambda s: self.keys.back_and_forth(True))
        many = [self.say_any(lambda s: self.keys.back_and_forth(False)), turn]
        look = [self.say_any(lambda s: self.keys.read()), self.reading(older), self.reading(younger), self.clean]
        plot = [self.holding(older)] + r.choices([change, turn] + many, k=r.randint(2, 5))
        plot += [self.reading(older), self.holding(younger)] + r.choices([change, change] + many + look, k=r.randint(2, 6))
        if r.random() < 0.6:
            plot.append(self.saying(older, 'COMMIT'))
        if r.random() < 0.4:
            plot += [self.ending(k) for k in range(1, self.n + 1)] + [self.clean, self.clean]
        return plot + r.choices([change, turn] + look, k=r.randint(3, 8))

    def horizon(self, free, status):
        return (0, '\\horizon') if len(free) == len(self.state) - 1 else None

    def changes(self, row):
        out = ['UPDATE t SET k = k + 1 WHERE id = %d' % row,
               'UPDATE t SET k = %d WHERE id = %d' % (ABSENT, row),
               'UPDATE t SET v = v + 1 WHERE id = %d' % row,
               "UPDATE t SET w = repeat('m', %d) WHERE id = %d" % (2500 if self.wide else 5, row),
               'DELETE FROM t WHERE id = %d' % row,
               "DO $$ BEGIN DELETE FROM t WHERE id = %d; INSERT INTO t VALUES (%d, 3, NULL, 0, repeat('n', 50)); END $$"
               % (row, row),
               "DO $$ BEGIN DELETE FROM t WHERE id = 1; DELETE FROM t WHERE id = 2; COMMIT; FOR i IN 501..504 LOOP "
               "INSERT INTO t VALUES (i, 2, NULL, 0, repeat('n', 40)) ON CONFLICT DO NOTHING; END LOOP; END $$",
               'BEGIN; UPDATE t SET v = v + 1, k = k + 1 WHERE id = %d; ROLLBACK' % row]
        if self.fk:
            out += ['UPDATE p SET v = v + 1 WHERE id = %d' % (1 + row % 4), 'DELETE FROM p WHERE id = %d' % (1 + row % 4),
                    'INSERT INTO c VALUES (%d, %d, 0)' % (20 + row, 1 + row % 4)]
        return out

    def saying(self, k, sql, when='IT'):
        return lambda free, status: (k, sql) if k in free and status[k] in when else None

    def declaring(self, k, name, row):
        def say(free, status):
            if k not in free or status[k] != 'T':
                return None
            self.state[k].cursors.append(name)
            return k, 'DECLARE %s CURSOR FOR SELECT id, v FROM t WHERE id = %d' % (name, row)
        return say

    def say_any(self, make):
        """What make says, by a session without a transaction, or else by any."""
        def say(free, status):
            can = [k for k in free if k <= self.n]
            can = [k for k in can if status[k] == 'I'] or [k for k in can if status[k] == 'T']
            k = self.r.choice(can) if can else None
            return k and (k, make(self.state[k]))
        return say

    def say_idle(self, make):
        """The same, but not within a transaction."""
        def say(free, status):
            can = [k for k in free if k <= self.n and status[k] == 'I']
            k = self.r.choice(can) if can else None
            return k and (k, make(self.state[k]))
        return say

    def holding(self, k):
        """k takes a snapshot; one that it has goes first."""
        def say(free, status):
            if k not in free:
                return None
            if status[k] != 'I':
                self.plot.insert(0, say)
                return k, 'COMMIT'
            return self.hold(k, status, True)
        return say

    def churning(self):
        return self.say_idle(lambda s: self.churn(s, True))

    def ending(self, k):
        return lambda free, status: (k, 'COMMIT') if k in free and status[k] != 'I' else None

    def reading(self, k):
        return lambda free, status: (k, self.r.choice(self.readings())) if k in free and status[k] == 'T' else None

    def write_much(self):
        return ("DO $$ BEGIN PERFORM 1 FROM big WHERE id = 0 FOR UPDATE; UPDATE big SET a = a + 1, "
                "pad = repeat(chr(97 + a % 20), 900); END $$")

    # ------------------------------------------------------------ other steps

    def endless(self, k):
        r = self.r
        return '%d DO $$ BEGIN %s PERFORM pg_sleep(60); END $$' % (r.choice([1, 5, 20]), self.loop(self.state[k]))

    def terminated(self, k, step):
        s = self.state[k]
        s.savepoints, s.cursors, s.todo, s.temp, s.noted = [], [], [], False, None
        return k, step

    def hold(self, k, status, more):
        """A step of a session that holds a snapshot."""
        r = self.r
        s = self.state[k]
        if status[k] == 'I':
            s.cursors = []
            return k, 'BEGIN ISOLATION LEVEL %s; SELECT 1' % LEVELS['RR']
        if status[k] == 'E':
            return k, 'ROLLBACK'
        x = r.random()
        if x < 0.15 or not more:
            return k, 'COMMIT'
        if x < 0.2:
            return k, r.choice(['UPDATE t SET v = v + 1 WHERE id = %d' % self.id(), self.lock(s)])
        return k, r.choice(self.readings() + [self.select(s)] * 3)

    def readings(self):
        return SCANS + ['SELECT id, v FROM p ORDER BY id', 'SELECT id, pid, v FROM c ORDER BY id'] * self.fk + \
            ['SELECT id, part, v FROM q ORDER BY id, part'] * self.part + \
            [DIGEST, 'SELECT id, n, length(pad) FROM s ORDER BY id'] * self.big + \
            ([self.keys.read() for _ in range(8)] if self.keys else [])

    def clean(self, free, status):
        r = self.r
        idle = [k for k in free if k <= self.n and status[k] == 'I']
        if not self.vacuum or len(free) < len(self.state) - 1 or any(
                s.cursors for k, s in enumerate(self.state) if k and status[k] != 'I'):
            return None
        if not idle or r.random() < 0.3:
            return 0, '\\horizon'
        what = r.choice(['(TRUNCATE off) t', '(TRUNCATE off) t', '(TRUNCATE off, INDEX_CLEANUP on) t',
                         '(TRUNCATE off, FREEZE) t', '(TRUNCATE off, ANALYZE) t',
                         '(TRUNCATE off) p, c' if self.fk else '(TRUNCATE off) lg'] +
                        ['(TRUNCATE off, INDEX_CLEANUP on) m'] * (4 if self.keys else 0))
        if self.wide and r.random() < 0.4:
            what = '(TRUNCATE off) @TOAST@'
        return r.choice(idle), 'VACUUM ' + what

    def closing(self, free, status):
        if self.end is None:
            self.end = [(k, sql) for k in self.holders for sql in self.readings()]
        while self.end:
            k, sql = self.end.pop(0)
            if k in free and status[k] == 'T':
                return k, sql
        return None
