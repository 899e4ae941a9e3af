"""The tables that are replicated, and random statements on them.

A table's kind is its replica identity: "primary" key, a unique "index", "full" rows without any key
(also "fullkey": with one on both sides), "nothing" (so rows are only added), a key that is toasted ("fatkey"), and
"parted", whose partitions are heap and zheap tables and lie otherwise on the subscriber.  All have the
columns of BASE; which others there are at the moment columns.py decides.
"""

# options of the subscriptions; each has a publication of the same name
SUBSCRIPTIONS = {
    'streamed': 'streaming = on, two_phase = on',
    'prepared': 'two_phase = on, streaming = off',      # since 18 the default is another one
    'plain': 'streaming = on',
    'spilled': 'binary = on, streaming = off',
}
BASE = 'id int not null, k int not null default 0, n int not null default 0, note text, long text'
PAIRS = (('zheap', 'zheap'), ('zheap', 'heap'), ('heap', 'zheap'))
OWN = 10**6                     # ids from here on are a client's own
CLIENTS = 50                    # more than there ever are
FAT = 2200                      # bytes of a toasted key: an index takes 2,700


class Table:
    def __init__(self, name, kind, access_methods, subscription):
        self.name, self.kind, self.subscription = name, kind, subscription
        self.access_methods = access_methods        # publisher's and subscriber's
        self.keyed = kind not in ('full', 'nothing')
        self.ids = 40 if kind == 'full' else 400
        self.conflict = {'fatkey': 'fat', 'parted': 'id, k'}.get(kind, 'id')
        self.columns = ['id', 'k', 'n', 'note', 'long'] + (['fat'] if kind == 'fatkey' else [])

    def create(self, side):
        """SQL that makes it on the publisher (0) or the subscriber (1)."""
        t, am = self.name, self.access_methods[side]
        sql = 'create table %s (%s%s)' % (t, BASE, ', fat text' if self.kind == 'fatkey' else '')
        if self.kind == 'parted':
            low = (0, 100)[side]
            sql += (' partition by range (k); '
                    'create table {t}_low partition of {t} for values from (minvalue) to ({low}) using zheap; '
                    'create table {t}_high partition of {t} for values from ({low}) to (maxvalue) using heap; '
                    'alter table {t} add primary key (id, k);').format(t=t, low=low)
        else:
            sql += ' using %s; create index %s_k on %s (k);' % (am, t, t)
        sql += {'primary': 'alter table {t} add primary key (id);',
                'index': 'create unique index {t}_id on {t} (id); alter table {t} replica identity using index {t}_id;',
                'full': 'alter table {t} replica identity full;',
                'fullkey': 'alter table {t} add primary key (id); alter table {t} replica identity full;',
                'nothing': 'alter table {t} replica identity nothing;',
                'fatkey': 'create index {t}_id on {t} (id); alter table {t} alter fat set storage external, '
                          'add primary key (fat);'}.get(self.kind, '').format(t=t)
        if self.subscription in ('streamed', 'spilled'):
            sql += ' alter table %s alter long set storage external;' % t
        return sql

    def expressions(self, id, k, n, note, long):
        """Of an insertion; id may be a column of the query."""
        values = [str(id), str(k), str(n), note, long]
        if self.kind == 'fatkey':
            values.append(self.fat(id))
        return ', '.join(values)

    @staticmethod
    def fat(id):
        return "repeat('k', %d) || (%s)" % (FAT, id)


def make():
    tables = []
    for i, kind in enumerate(('primary', 'index', 'full', 'fullkey', 'nothing', 'fatkey', 'parted')):
        for j, pair in enumerate(PAIRS):
            # each subscription has tables of all kinds, in the end
            subscription = list(SUBSCRIPTIONS)[(i + j) % len(SUBSCRIPTIONS)]
            tables.append(Table('%s_%s_%s' % ((kind,) + pair), kind, pair, subscription))
    return tables


class Statements:
    """Random statements: all that a transaction does to one table in one step."""

    ADDING = [('insert', 6), ('several', 2), ('copy', 2), ('load', 0.3), ('truncate', 0.08)]
    CHANGING = [('count', 8), ('grow', 3), ('replace_long', 3), ('rename', 2), ('move', 2), ('set_extra', 3), ('delete', 3),
                ('delete_own', 1), ('lock', 1), ('crowd', 1), ('blocks', 0.5)]

    def __init__(self, random, client, ids):
        self.r, self.client = random, client
        self.ids = ids              # counts on through all rounds

    def step(self, table, extra):
        """SQL; extra: columns that the table may have besides, with their types"""
        kinds = self.ADDING + (self.CHANGING if table.kind != 'nothing' else [])
        name = self.r.choices(*zip(*kinds))[0]
        return name, getattr(self, name)(table, extra)

    # ------------------------------------------------------------ values

    def own(self):
        return OWN + self.client + CLIENTS * next(self.ids)

    def note(self):
        return "repeat('%s', %d)" % (self.r.choice('abc'), self.r.choice([0, 5, 20, 60, 200]))

    def long(self):
        kind = self.r.random()
        if kind < 0.3:
            return 'null'
        size = self.r.randrange(50) if kind < 0.6 else self.r.randrange(70, 600)
        return "repeat(md5('%d'), %d)" % (self.r.randrange(10**6), size)

    def k(self):
        return self.r.randrange(-200, 200)

    def where(self, table, width):
        low = self.r.randint(1, table.ids)
        return 'where id between %d and %d' % (low, low + self.r.randrange(width))

    def few(self, table, most):
        return self.r.randrange(1, most if table.keyed or table.kind == 'nothing' else 8)

    # ------------------------------------------------------------ rows that come

    def insert(self, t, extra):
        id, note = self.r.randint(1, t.ids), self.note()
        sql = 'insert into %s (%s) values (%s)' % (t.name, ', '.join(t.columns),
                                                   t.expressions(id, self.k() if t.kind == 'parted' else 0, 1, note, self.long()))
        if t.keyed:
            sql += ' on conflict (%s) ' % t.conflict + self.r.choice(
                ['do nothing', 'do update set n = %s.n + 1' % t.name, 'do update set note = excluded.note, long = excluded.long'])
        return sql

    def rows(self, t, count, long):
        first = self.own()
        for _ in range(count):
            next(self.ids)
        return 'insert into %s (%s) select %s from generate_series(0, %d) g' % (
            t.name, ', '.join(t.columns), t.expressions('%d + g * %d' % (first, CLIENTS), 'g % 100', 'g', self.note(), long), count)

    def several(self, t, extra):
        return self.rows(t, self.few(t, 300), self.long())

    def load(self, t, extra):
        """A transaction that is streamed."""
        return self.rows(t, self.few(t, 2000), 'repeat(md5(g::text), %d)' % self.r.randrange(5, 80))

    def copy(self, t, extra):
        lines = []
        for i in range(self.few(t, 200)):
            id = self.own()
            values = [id, self.k(), i, 'copied' * (i % 10), '\\N' if i % 3 else 'abc' * self.r.randrange(1500)]
            if t.kind == 'fatkey':
                values.append('k' * FAT + str(id))
            lines.append('\t'.join(map(str, values)) + '\n')
        return 'copy %s (%s) from stdin\n%s' % (t.name, ', '.join(t.columns), ''.join(lines))

    # ------------------------------------------------------------ rows that change

    def count(self, t, extra):
        return 'update %s set n = n + 1 %s' % (t.name, self.where(t, 20))

    def grow(self, t, extra):
        return 'update %s set note = %s %s' % (t.name, self.note(), self.where(t, 20))

    def replace_long(self, t, extra):
        how = self.r.choice([self.long(), self.long(), 'null', "coalesce(long, '') || 'more'"])
        # not without end
        return "update %s set long = %s %s and coalesce(length(long), 0) < 50000" % (t.name, how, self.where(t, 5))

    def rename(self, t, extra):
        """Another key, so another identity."""
        id = self.own()
        return 'update %s set id = %d%s where id = %d' % (
            t.name, id, ', fat = ' + t.fat(id) if t.kind == 'fatkey' else '', self.r.randint(1, t.ids))

    def move(self, t, extra):
        return 'update %s set k = %d, note = %s %s' % (t.name, self.k(), self.note(), self.where(t, 10))

    def set_extra(self, t, extra):
        if not extra:
            return self.count(t, extra)
        name = self.r.choice(sorted(extra))
        value = {'text': self.long()}.get(extra[name], str(self.r.randrange(1000)))
        return 'update %s set %s = %s %s' % (t.name, name, value, self.where(t, 20))

    def delete(self, t, extra):
        return 'delete from %s %s' % (t.name, self.where(t, 8))

    def delete_own(self, t, extra):
        """Also of clients that were of this number before."""
        return 'delete from %s where id >= %d and id %% %d = %d and n %% 3 <> 0' % (
            t.name, OWN, CLIENTS, (OWN + self.client) % CLIENTS)

    def lock(self, t, extra):
        return 'select count(*) from (select from %s %s for %s) s' % (
            t.name, self.where(t, 20), self.r.choice(['update', 'no key update', 'share', 'key share']))

    def crowd(self, t, extra):
        """Thousands of changes of one page."""
        if not t.keyed:
            turns, width = self.r.randrange(30), 3
        else:
            turns, width = self.r.choice([50, 200, 500]), self.r.randrange(3, 12)
        low = self.r.randint(1, t.ids)
        return ("do $$ begin for i in 1 .. %d loop update %s set n = n + 1, note = repeat('c', i * 7 %% %d) "
                'where id between %d and %d; end loop; end $$' % (turns, t.name, self.r.choice([20, 60]), low, low + width))

    def blocks(self, t, extra):
        """Many subtransactions, half of them rolled back."""
        low = self.r.randint(1, t.ids)
        return ('do $$ begin for i in 1 .. %d loop begin update %s set n = n + i where id = %d + i %% 5; '
                'if i %% 2 = 0 then raise exception sqlstate \'ZZ001\'; end if; '
                "exception when sqlstate 'ZZ001' then null; end; end loop; end $$" % (self.few(t, 100), t.name, low))

    def truncate(self, t, extra):
        return 'truncate %s' % t.name
