"""After a restart: the database contains what the model says, and every index what its
table does.
"""

from client import differences
from model import COPIED, SUMS, TRUNCATED
from server import SqlError

TABLES = """select c.oid::regclass, c.relpersistence from pg_class c join pg_am a on a.oid = relam
where relkind = 'r' and amname = 'zheap' and relnamespace = 'public'::regnamespace order by 1"""

MADE = r"select relname from pg_class where relkind = 'r' and relname ~ '^ddl_\d+_\d+$'"
# of which no change is committed
ABORTED = r"select relname from pg_class where relkind = 'r' and relname ~ '^aborted_\d+_(small|large|other)$'"


class Check:
    def __init__(self, db, model, findings):
        self.db, self.model, self.findings = db, model, findings
        self.lost = 0

    def all(self, what, after_crash, prepared=()):
        """Tables that transactions still prepared have locked are left out."""
        self.what, self.prepared = what, prepared
        self.locked = {'truncated_%d' % e[1] if e[0] == 'truncated' else e[1] if e[0] == 'made' else 'wide'
                       for t in prepared for e in t.effects if e[0] in ('truncated', 'made', 'column')}
        for part in (self.contents, self.indexes, self.pages):
            try:
                part()
            except SqlError as e:
                self.finding(str(e))
        if after_crash:
            self.equal('unlogged table', '0', self.db.value('select count(*) from unlogged'))

    def finding(self, text):
        self.findings.add('%s: %s' % (self.what, text))

    def equal(self, name, expected, found):
        if expected != found:
            self.finding('%s: %s' % (name, differences(expected, found) if isinstance(expected, dict) else
                                     'expected %s, found %s' % (expected, found)))

    def resolve_doubts(self, may_lose=False):
        """What became of the transactions that the crash cut off; returns those still prepared."""
        m, db = self.model, self.db
        self.what = 'in doubt'
        there = {int(n) for (n,) in db.run('select n from journal')}
        held = {int(n) for (n,) in db.run('select gid from pg_prepared_xacts')}
        left = []
        for t in m.doubtful:
            if t.n in held:
                if t.state == 'committing':
                    self.finding('%d was never prepared' % t.n)
                held.discard(t.n)
                left.append(t)
            elif t.n in there:
                if t.state not in ('committing', 'committing prepared'):
                    self.finding('%s %d, %s, is committed' % (t.kind, t.n, t.state))
                m.committed(t)
            elif t.state in ('prepared', 'committing prepared'):
                self.finding('%s %d, %s, is lost' % (t.kind, t.n, t.state))
                self.lost += 1
        if held:
            self.finding('prepared transactions out of nowhere: %s' % sorted(held))
        m.doubtful = []
        lost = sorted(set(m.journal) - there)
        more = sorted(there - set(m.journal))
        self.lost += len(lost)
        if lost:
            self.finding('acknowledged and lost: %s' % [(n, m.journal[n]) for n in lost[:10]])
        if more:
            self.finding('in the journal, but never committed: %s' % more[:10])
        return left

    def finish_prepared(self, transactions, random):
        for t in transactions:
            how = random.choice(['commit', 'rollback'])
            self.db.run("%s prepared '%d'" % (how, t.n))
            if how == 'commit':
                self.model.committed(t)

    def rows(self, query):
        """{first column(s) as numbers: other columns}, and no key twice"""
        found = {}
        for key, *rest in self.db.run(query):
            key = tuple(map(int, key.split(','))) if ',' in key else int(key)
            if key in found:
                self.finding('%s: %s twice' % (query, key))
            found[key] = tuple(rest)
        return found

    def contents(self):
        m, rows = self.model, self.rows
        self.equal('journal', {n: (k,) for n, k in m.journal.items()}, rows('select n, kind from journal'))
        for t in ('tags1', 'tags2', 'tags3'):
            self.equal(t, dict.fromkeys(m.tags, ()), rows('select n from %s' % t))
        self.equal('own', {k: tuple(None if x is None else str(x) for x in row) for k, row in m.own.items()},
                   rows("select client || ',' || key, v, u, md5(t) from own"))
        self.equal('accounts', {k: (str(b),) for k, b in m.balance.items()}, rows('select id, balance from accounts'))
        self.equal('parent', {k: (str(x),) for k, x in m.parent.items()}, rows('select id, x from parent'))
        self.equal('child', {k: (str(p),) for k, p in m.child.items()}, rows('select id, parent from child'))
        self.equal('queue', dict.fromkeys(m.put - m.taken, ()), rows('select id from queue'))
        self.equal('done', dict.fromkeys(m.taken, ()), rows('select id from done'))
        self.equal('copied', {n: (str(COPIED), str(COPIED * (COPIED - 1) // 2), str(3 * COPIED * (COPIED - 1) // 2)) for n in m.copied},
                   rows('select n, count(*), sum(i), sum(length(t)) from copied group by n'))
        self.equal('bulk', [(str(m.bulk),) * 2 + (str(m.bulk_w),) * 2 + ('clean',) * 2],
                   self.db.run('select count(*), count(distinct id), min(w), max(w), min(v), max(v) from bulk'))
        self.equal('crowd', {k: (str(n), '150') for k, n in m.crowd.items()}, rows('select id, n, length(pad) from crowd'))
        if 'wide' not in self.locked:
            self.wide()
        for c, n in m.truncated.items():
            if 'truncated_%d' % c in self.locked:
                continue
            expected = [(None, '0', None)] if n is None else [(str(n), str(TRUNCATED), str(TRUNCATED - 1))]
            self.equal('truncated_%d' % c, expected,
                       self.db.run('select min(n) filter (where n >= 0), count(*), max(i) from truncated_%d' % c))

        self.made()
        for (t,) in self.db.run(ABORTED):
            self.equal(t, [('0',)], self.db.run("select count(*) from %s where v <> 'ok'" % t))

    def made(self):
        """Tables that come and go, those of prepared transactions left out."""
        there = {t: tuple(self.db.run(SUMS % t)[0]) for (t,) in self.db.run(MADE) if t not in self.locked}
        self.equal('tables made', {t: x for t, x in self.model.made.items() if t not in self.locked}, there)

    def wide(self):
        m, rows = self.model, self.rows
        self.equal('wide', {k: (str(x),) for k, x in m.wide.items()}, rows('select id, k from wide'))
        columns = dict(self.db.run("select attname, attname from pg_attribute where attrelid = 'wide'::regclass "
                                   "and attnum > 2 and not attisdropped"))
        self.equal('columns', {c: c for c in m.columns}, columns)
        for c in columns:
            self.equal('column ' + c, [(m.columns.get(c),) * 2], self.db.run('select min(%s), max(%s) from wide' % (c, c)))

    def indexes(self):
        """Each index on its own finds what a scan of the table does."""
        db = self.db
        if self.prepared:
            check = "select bt_index_check('%s', true)"
        else:
            check = "select bt_index_parent_check('%s', true, true)"
            for (name,) in db.run('select indexrelid::regclass from pg_index where not indisvalid'):
                db.run('drop index ' + name)
        for table, _ in db.run(TABLES):
            if table in self.locked:
                continue
            digest = 'select count(*), sum(hashtextextended(t::text, 0)::numeric) from (%s) t'
            every = db.run(digest % ('select * from %s offset 0' % table))
            for name, keys in db.run(
                    "select i.indexrelid::regclass, (select string_agg(pg_get_indexdef(indexrelid, k, true), ', ' order by k) "
                    "from generate_series(1, indnkeyatts) k) from pg_index i where indisvalid and indrelid = '%s'::regclass" % table):
                try:
                    db.run(check % name)
                except SqlError as e:
                    self.finding('%s: %s' % (name, e))
                db.run('set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off')
                found = db.run(digest % ('select * from %s order by %s offset 0' % (table, keys)))
                db.run('reset all')
                self.equal('index %s and a scan' % name, every, found)

    def pages(self):
        """What zheap itself finds wrong; it would wait for the locks of prepared transactions."""
        if not self.locked:
            for row in self.db.run('select * from zheap.zheap_verify_all()'):
                self.finding('zheap_verify_all: %s' % (row,))


def digests(db):
    """table -> hash of its rows, of all that a standby has"""
    return {table: db.run('select count(*), sum(hashtextextended(t::text, 0)::numeric) from %s t' % table)[0]
            for table, persistence in db.run(TABLES) if persistence == 'p'}
