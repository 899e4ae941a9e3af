"""The tables that test/flips damages, called cells: small ones, of every shape that pages and undo have.

What is on their pages and in their undo is made by committed, rolled back and prepared transactions, so that it is the
same after a restart: most undo is needed because the oldest of the prepared ones holds the horizon back.
"""

SHAPES = ['plain', 'moved', 'crowd', 'toast', 'chain', 'visible', 'wide', 'queue', 'small']

# rows, and the length of their text as an expression
SIZES = {'plain': (120, '100'), 'moved': (90, '60 + g % 5 * 40'), 'crowd': (100, '80'),
         'toast': (24, 'case when g % 4 = 0 then 3000 else 60 end'), 'chain': (45, '250'), 'visible': (120, '100'),
         'wide': (45, '120'), 'queue': (120, '100'), 'small': (300, '0')}
CROWD = 36                      # prepared transactions that change a row each of the crowds

CREATE = """
create table c{i} (id int, tag text, n int, v text{more}) using zheap with (fillfactor = {fill});
alter table c{i} alter v set storage {storage};
create unique index c{i}_id on c{i} (id);
create index c{i}_n on c{i} (n);
insert into c{i} (id, tag, n, v)
	select g, substr(md5(g::text), 1, 6), g % 10, repeat(chr(97 + g % 26), {length}) from generate_series(1, {rows}) g
"""


def shape_of(i):
    return SHAPES[i % len(SHAPES)]


def create(db, i):
    shape = shape_of(i)
    rows, length = SIZES[shape]
    more = ''.join(', x%d %s' % (k, ('int', 'int8', 'date', '"char"', 'float8', 'numeric')[k % 6])
                   for k in range(40)) if shape == 'wide' else ''
    for sql in CREATE.format(i=i, more=more, fill={'moved': 60, 'crowd': 70}.get(shape, 90), rows=rows, length=length,
                             storage='external' if shape == 'toast' else 'extended').split(';'):
        db.run(sql)


class Builder:
    """Fills the cells; sessions may be opened and closed as needed."""

    def __init__(self, connect, cells):
        self.connect, self.cells = connect, cells
        self.db = connect()
        self.prepared = []

    def each(self, shapes, *statements):
        """One transaction's statements in all cells of these shapes."""
        for i in range(self.cells):
            if shape_of(i) in shapes:
                for sql in statements:
                    self.db.run(sql.format(c='c%d' % i, i=i))

    def transaction(self, end, shapes, *statements):
        self.db.run('begin')
        self.each(shapes, *statements)
        self.db.run(end)

    def prepare(self, name, shapes, *statements):
        self.transaction("prepare transaction '%s'" % name, shapes, *statements)
        self.prepared.append(name)

    def build(self):
        for i in range(self.cells):
            create(self.db, i)
        self.each(('queue',), 'delete from {c} where id <= 20')
        self.each(('visible', 'small'), 'vacuum {c}')
        # from here on all undo is needed
        self.db.run('create table held (n int) using zheap')
        self.db.run("begin; insert into held values (1); prepare transaction 'held'")
        self.committed()
        self.aborted()
        self.in_progress()
        self.db.close()

    def committed(self):
        most = [s for s in SHAPES if s != 'visible']
        self.transaction('commit', most, 'update {c} set n = n + 1 where id % 3 = 0')
        self.each(most, 'update {c} set v = v || \'z\' where id % 17 = 2', 'delete from {c} where id % 19 = 5')
        self.each(('moved',), "update {c} set v = v || repeat('y', 150) where id % 5 = 1",
                  "update {c} set v = 'short' where id % 5 = 2")
        self.each(('queue',), 'delete from {c} where id between 21 and 80',
                  "insert into {c} select g, substr(md5(g::text), 1, 6), 1, repeat('q', 100) from generate_series(200, 260) g",
                  'delete from {c} where id between 200 and 210')
        self.each(('wide',), "update {c} set x0 = id, x1 = id, x2 = '2020-01-01', x4 = id, x5 = id where id % 4 = 1")
        self.each(('toast',), "update {c} set v = repeat('u', 2500) where id % 8 = 4")
        for k in range(30):
            self.each(('chain',), "update {c} set n = n + %d, v = v || 'k' where id in (1, 2, 40)" % k)
        self.transaction('commit', ('chain',), 'do $$ begin for k in 1..100 loop update {c} set n = n + 1 where id = 3; '
                         'end loop; end $$')
        self.transaction('commit', most, 'savepoint a', 'update {c} set n = -2 where id % 23 = 6', 'savepoint b',
                         'update {c} set n = -3 where id % 23 = 7', 'rollback to b')

    def aborted(self):
        self.transaction('rollback', SHAPES, 'update {c} set n = -1 where id % 7 = 2',
                         "insert into {c} (id, tag, n) select g, 'never', 0 from generate_series(900, 903) g",
                         'delete from {c} where id % 29 = 8')
        self.transaction('rollback', ('moved', 'plain'), "update {c} set v = repeat('w', 180) where id % 9 = 4")

    def in_progress(self):
        for k in range(3):
            self.prepare('key%d' % k, ('plain', 'moved', 'wide'), 'select id from {c} where id in (10, 11, 50) for key share')
        # rows that move beside locks say where they were
        self.each(('plain', 'moved'), "update {c} set v = v || repeat('o', 400) where id in (10, 11)")
        # no row is changed by two of them
        self.prepare('change', [s for s in SHAPES if s != 'crowd'],
                     'update {c} set n = n + 100 where id % 13 = 3', 'delete from {c} where id % 31 = 9',
                     "insert into {c} (id, tag, n) select g, 'yet', 0 from generate_series(910, 912) g")
        self.prepare('long', ('chain',), 'do $$ begin for k in 1..150 loop update {c} set n = n + 1, v = v || \'l\' '
                     'where id in (1, 5); end loop; end $$')
        self.prepare('move', ('moved', 'queue'), "update {c} set v = repeat('m', 300) where id % 9 = 7 and id % 13 <> 3 and id % 31 <> 9")
        for k in range(CROWD):
            self.prepare('crowd%d' % k, ('crowd',), 'update {c} set n = %d where id = %d' % (k, k + 1))
