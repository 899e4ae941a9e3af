"""A table of which every column may be indexed, by any access method: its keys go back and forth
between a few values, and it is read by every kind of scan.

What differs from schedule.py, whose restrictions hold here, too:

kinds of index      Each kind, and each way in which equal values may differ: 1.0 and 1.00, -0 and 0, 'a' and 'A',
                    1 day and 24 hours, and documents, arrays and ranges made of such.  What an index alone tells is
                    compared as text.
order of rows       An index gives rows with equal keys in the order of their places.  So where an
                    answer has an order it shows nothing but the key, and that in the form that
                    all equal keys have, or a distance.  ORDER BY says m.a, as "a" would be the text that is shown.
                    No column has the name of an alias, x, y or z.
kinds of scan       Functions that force one, whatever the session's own is (SCANS).  enable_indexscan = off is
                    against index-only scans, too.  A parallel
                    scan may get fewer workers than it wants, with the same answer.
conflicts           A row conflicts with one other row at most: ranges overlap only if they are
                    equal.  An error names one of those that an index has found, and which of
                    several that is depends on the index.
trees               amcheck looks at them at the end: no two entries of a row have equal keys, and each
                    row has its entry.
index builds        Those that run CONCURRENTLY wait for the other sessions on both sides alike; what they wait for
                    does not depend on the table.
blanks              All values of a char(n) column are equally long.  Where they are not, as those of
                    bpchar, the server's own B-trees merge entries that differ, and fail an assertion.
SERIALIZABLE        Not here: indexed columns change all the time.
"""

import os
import random
import re

COLUMNS = [
    ('a', 'int', ['0', '1', '2', '3', 'NULL']),
    ('b', 'int', ['0', '1', '2', '3', 'NULL']),
    ('c', 'text COLLATE either', ["'a'", "'A'", "'b'", "'B'", "'ab'", 'NULL']),
    ('n', 'numeric', ['1.0', '1.00', '2', '2.000', "numeric 'NaN'", 'NULL']),
    ('f', 'float8', ["float8 '-0'", "float8 '0'", '1', "float8 'NaN'", 'NULL']),
    ('h', 'char(6)', ["'a'", "'a '", "'b'", "'c'", 'NULL']),
    ('w', 'text', ["'abc'", "'abd'", "'b'", "''", "repeat('k', 2500)", "repeat('m', 700)", 'long(1)', 'long(2)', 'NULL']),
    ('g', 'int[]', ["'{1,2}'::int[]", "'{2,3}'::int[]", "'{}'::int[]", "'{3}'::int[]", "'{3,%s}'::int[]" % ','.join(map(str, range(10, 30))), 'NULL']),
    ('p', 'point', ['point(0, 0)', 'point(1, 1)', 'point(5, 5)', 'NULL']),
    ('s', 'text', ["'pending'", "'running'", "'done'"]),
    ('d', 'interval', ["interval '1 day'", "interval '24:00'", "interval '1 mon'", "interval '30 days'", 'NULL']),
    ('j', 'jsonb', ["'%s'::jsonb" % x for x in ('{"a": 1.0, "t": ["x"]}', '{"a": 1.00, "t": ["x"]}', '{"a": 2, "t": ["x", "y"]}',
                                               '{"a": 2, "t": ["y"], "z": null}', '{}', '{"t": []}')] + ['NULL']),
    ('q', 'numrange', ['numrange(1.0, 2)', 'numrange(1.00, 2)', 'numrange(1, 3)', 'numrange(3, 5)', "numrange 'empty'", 'NULL']),
    ('e', 'numeric[]', ['ARRAY[1.0, 2]', 'ARRAY[1.00, 2]', 'ARRAY[3.0]', "'{}'::numeric[]", 'NULL']),
    ('o', 'circle', ["circle '((0,0),1)'", "circle '((4,4),2)'", "circle '((5,1),1)'", 'NULL']),
    ('r', 'int4range', ['int4range(%d, %d)' % (10 * i, 10 * i + 10) for i in range(1, 9)] + ['NULL'] * 3),
    ('u', 'numeric', ['%d%s' % (i // 2, '.0' * (i % 2)) for i in range(200, 216)] + ['NULL'] * 6)]

BTREES = ['(a)', '(a DESC NULLS FIRST)', '(b, a)', '(b, a DESC NULLS LAST)', '(a, w)', '(c)', '(n)', '(f)', '(h)',
          '(w)', '((a + b))', '(lower(w))', '(a) WHERE b > 1', '(b) WHERE a IS NULL', '(a) INCLUDE (b)', '(b) INCLUDE (w)',
          '(n, a)', '(n) INCLUDE (a)', '(a) INCLUDE (n)', '(a) INCLUDE (f, h)', '(d)', '(j)', '(q)', '(e)', '(s, b)', '((n * 2))',
          '(abs(f), a)', "((j -> 'a'))", "((j ->> 'a')) INCLUDE (s)", '(lower(c) DESC)', "(b, id) WHERE s = 'pending'",
          "(b, id) WHERE s = 'pending'", "(a) INCLUDE (w, s) WHERE s <> 'done'", "(lower(w)) WHERE s = 'pending'", '(n) WHERE n > 1']
OTHERS = ['USING hash (a)', 'USING hash (w)', 'USING hash (c)', 'USING gin (g)', 'USING gist (p)', 'USING gist (r)',
          'USING spgist (p)', 'USING spgist (w)', 'USING spgist (r)', 'USING brin (a)', 'USING brin (w)',
          'USING brin (a, b) WITH (pages_per_range = 1)', 'USING brin (n, d)',
          'USING hash (n)', 'USING hash (f)', 'USING hash (h)', 'USING hash (j)', "USING hash (a) WHERE s = 'pending'", 'USING hash ((a + b))',
          'USING gin (j)', 'USING gin (j jsonb_path_ops)', 'USING gin (g, e) WITH (fastupdate = off)', 'USING gin (e)', "USING gin (g) WHERE s <> 'done'",
          'USING gin (w gin_trgm_ops)', 'USING gin (a, n)', 'USING gist (q)', 'USING gist (o)', 'USING gist (p) INCLUDE (a, n)',
          "USING gist (p, q) WHERE s = 'pending'", 'USING gist (a, n)', 'USING gist (w gist_trgm_ops)', 'USING spgist (q)',
          'USING spgist (p) INCLUDE (n, s)', 'USING bloom (a, b, w)']
CONSTRAINTS = ['CREATE UNIQUE INDEX ON m (u)', 'CREATE UNIQUE INDEX ON m (u) INCLUDE (a)', 'CREATE UNIQUE INDEX ON m ((u * 2))',
               'ALTER TABLE m ADD EXCLUDE USING gist (r WITH &&)', 'ALTER TABLE m ADD EXCLUDE (u WITH =)',
               'ALTER TABLE m ADD EXCLUDE USING hash (r WITH =)', 'ALTER TABLE m ADD EXCLUDE USING gist (u WITH =)']

# renamed in 16; test/differential tells the server's major
WORKERS = 'debug_parallel_query' if int(os.environ.get('PG_MAJOR', 15)) >= 16 else 'force_parallel_mode'
ALL = 'SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_material = off '
PARALLEL = ('SET ' + WORKERS + ' = on SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 SET min_parallel_index_scan_size = 0 '
            'SET min_parallel_table_scan_size = 0 SET max_parallel_workers_per_gather = 2')
SCANS = {
    'by_index': ALL + 'SET enable_indexonlyscan = off',
    'by_index_only': ALL,
    'by_bitmap': 'SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off',
    'by_table': 'SET enable_bitmapscan = off SET enable_indexscan = off SET enable_indexonlyscan = off',
    'by_merge': ALL + 'SET enable_hashjoin = off SET enable_nestloop = off',
    'by_nested_loop': ALL + 'SET enable_hashjoin = off SET enable_mergejoin = off',
    'by_bitmap_and_workers': 'SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off ' + PARALLEL,
    'by_workers': ALL + PARALLEL}

ROW = "SELECT concat_ws(' ', id, a, b, c, n, f, h, left(w, 4), length(w), g, p, s, d, j, q, e, o, r, u) FROM m WHERE "
CONDITIONS = ['a = 1', 'a >= 1', 'a IN (0, 2, 3)', 'a IS NULL', 'b = 2 AND a < 3', 'b >= 1 AND a = 1', "c = 'A'", "c > 'a'",
              'n = 1', 'n >= 2', 'f = 0', 'f <= 0', "h = 'a'", "h > 'a'", "w = 'abc'", "w = repeat('k', 2500)",
              "w >= 'b'", 'a + b = 3', "lower(w) = 'abd'", 'a = 2 AND b > 1', 'b = 1 AND a IS NULL', "g @> '{2}'",
              "g && '{1,3}'", "p <@ box '((0,0),(2,2))'", 'p ~= point(5, 5)', "r && '[15,35)'", 'r @> 25', 'u = 103',
              'u > 104', 'u IS NULL', "a = 1 OR w = 'b'", 'w = long(1)',
              "s = 'pending'", "s = 'pending' AND b >= 1", "s = 'pending' AND a = 1", "s <> 'done' AND a = 2", "s = 'pending' AND lower(w) = 'abd'",
              "d = interval '1 day'", "d > interval '2 days'", 'n * 2 = 2', 'n IN (1, 2)', 'abs(f) = 0', "lower(c) = 'a'",
              'j = \'{"a": 1, "t": ["x"]}\'', "j > '{}'", 'j @> \'{"a": 1}\'', 'j @> \'{"t": ["y"]}\'', "j ? 'z'", "j -> 'a' = '1'",
              "j ->> 'a' = '1.0'", 'q = numrange(1, 2)', 'q @> 1.5', 'q && numrange(2.5, 4)', 'e = ARRAY[1, 2]::numeric[]', "e > '{}'",
              'e @> ARRAY[2]::numeric[]', "e @> ARRAY[3]::numeric[] AND g && '{2}'", "s <> 'done' AND g @> '{2}'",
              "o && circle '((4,4),1)'", "o <@ circle '((0,0),3)'", "s = 'pending' AND p <@ box '((0,0),(2,2))' AND q @> 1.5",
              "w LIKE '%bd%'", "w ~ 'ab[cd]'", "w % 'abd'", 'a = 1 AND n = 2', "a = 1 AND b = 2 AND w = 'b'", 'a = 2 OR n = 1']
# what an index alone can tell
KEYS = ['SELECT a::text FROM m WHERE a >= 1', 'SELECT a::text FROM m WHERE a IS NULL', "SELECT b || ',' || a FROM m WHERE b >= 1",
        "SELECT concat(a, ',', b) FROM m WHERE a >= 0", "SELECT concat(b, ',', left(w, 4), length(w)) FROM m WHERE b >= 0",
        "SELECT concat(u, ',', a) FROM m WHERE u > 0", 'SELECT c FROM m WHERE c >= \'a\'', 'SELECT n::text FROM m WHERE n >= 1', 'SELECT f::text FROM m WHERE f <= 0',
        "SELECT concat('[', h, ']') FROM m WHERE h >= 'a'", "SELECT left(w, 4) || length(w) FROM m WHERE w >= ''", 'SELECT u::text FROM m WHERE u > 0',
        'SELECT p::text FROM m WHERE p <@ box \'((0,0),(9,9))\'', "SELECT r::text FROM m WHERE r && '[0,100)'",
        'SELECT count(*)::text FROM m WHERE a >= 0', "SELECT concat(n, ',', a) FROM m WHERE n >= 1", "SELECT concat(a, ',', n) FROM m WHERE a >= 1",
        "SELECT concat(a, ',', f, ',', h) FROM m WHERE a >= 1", "SELECT d::text FROM m WHERE d > '0'", 'SELECT j::text FROM m WHERE j > \'{}\'',
        "SELECT q::text FROM m WHERE q >= 'empty'", "SELECT q::text FROM m WHERE q && '[0,9)'", "SELECT e::text FROM m WHERE e >= '{}'",
        "SELECT concat(s, ',', b) FROM m WHERE s > ''", "SELECT concat(b, ',', id) FROM m WHERE s = 'pending' AND b >= 0",
        "SELECT concat(a, s, left(w, 4), length(w)) FROM m WHERE s <> 'done' AND a >= 0", 'SELECT n::text FROM m WHERE n > 1',
        "SELECT concat(p, ',', a, ',', n) FROM m WHERE p <@ box '((0,0),(9,9))'", "SELECT concat(p, ',', n, s) FROM m WHERE p <@ box '((0,0),(9,9))'",
        'SELECT o::text FROM m WHERE o <@ circle \'((0,0),9)\'', "SELECT concat(a, ',', n) FROM m WHERE a = 1 AND n <= 2"]
ORDERED = ['a::text FROM m WHERE a >= 0 ORDER BY m.a', 'a::text FROM m ORDER BY m.a DESC NULLS FIRST',
           'a::text FROM m ORDER BY m.a DESC NULLS LAST', 'a::text FROM m WHERE a < 3 ORDER BY m.a DESC',
           "concat(b, ',', a) FROM m WHERE b >= 0 ORDER BY m.b, m.a", "concat(b, ',', a) FROM m ORDER BY m.b DESC, m.a DESC",
           "lower(c) FROM m WHERE c >= 'a' ORDER BY m.c", 'trim_scale(n)::text FROM m WHERE n >= 0 ORDER BY m.n DESC',
           '(f + 0)::text FROM m WHERE f >= 0 ORDER BY m.f', "h || '.' FROM m ORDER BY m.h", 'left(w, 4) FROM m ORDER BY m.w DESC',
           '(a + b)::text FROM m WHERE a + b >= 0 ORDER BY m.a + m.b', 'u::text FROM m ORDER BY m.u',
           '(SELECT min(a) FROM m)::text ORDER BY 1', '(SELECT max(a) FROM m)::text ORDER BY 1',
           "extract(epoch FROM d)::text FROM m WHERE d > '0' ORDER BY m.d", "concat(s, ',', b) FROM m WHERE s > '' ORDER BY m.s, m.b",
           "trim_scale((j ->> 'a')::numeric)::text FROM m WHERE j > '{}' ORDER BY m.j DESC", 'trim_scale(lower(q))::text FROM m ORDER BY m.q',
           "concat(cardinality(e), ' ', trim_scale(e[1])) FROM m WHERE e >= '{}' ORDER BY m.e", 'trim_scale(n * 2)::text FROM m ORDER BY m.n * 2',
           "concat(trim_scale(n), ',', a) FROM m WHERE n >= 1 ORDER BY m.n, m.a LIMIT 4", "lower(c) FROM m ORDER BY lower(m.c) DESC",
           "concat(b, ' ', id) FROM m WHERE s = 'pending' ORDER BY m.b, m.id LIMIT 2", "concat(b, ' ', id, ' ', n) FROM m WHERE s = 'pending' ORDER BY m.b DESC, m.id DESC",
           "left(lower(w), 4) FROM m WHERE s = 'pending' ORDER BY lower(m.w)"] + [
           '(%s <-> %s)::text FROM m WHERE %s IS NOT NULL%s ORDER BY m.%s <-> %s%s' % (column, to, column, also, column, to, limit)
           for column, to in (('p', 'point(2, 2)'), ('o', 'point(2, 2)'), ('a', '2'), ('w', "'abd'"))
           for also, limit in (('', ''), ('', ' LIMIT 3'), (" AND s = 'pending'", ' LIMIT 2'))]
# the same text for all rows, so in any order; hash indexes and B-trees also go backward
ALIKE = ['a::text FROM m WHERE m.a = 1', 'trim_scale(n)::text FROM m WHERE m.n = 1', '(f + 0)::text FROM m WHERE m.f = 0', "h || '.' FROM m WHERE m.h = 'a'",
         "lower(c) FROM m WHERE m.c = 'a'", "s FROM m WHERE m.s = 'pending'", "length(w)::text FROM m WHERE m.w = long(1)",
         "trim_scale((j -> 'a')::numeric)::text FROM m WHERE m.j = '{\"a\": 1, \"t\": [\"x\"]}'", "extract(epoch FROM d)::text FROM m WHERE m.d = '1 day'",
         "s FROM m WHERE m.s = 'pending' AND m.a = 1"]
JOINS = ["concat(y.a, ' ', count(*), ' ', sum(y.id), ' ', sum(z.id)) FROM m y JOIN m z ON y.a = z.a GROUP BY y.a ORDER BY y.a",
         "concat(y.a, ' ', count(*)) FROM m y JOIN m z ON y.a = z.b GROUP BY y.a ORDER BY y.a DESC",
         "concat(lower(y.c), ' ', count(*)) FROM m y JOIN m z ON y.c = z.c GROUP BY lower(y.c), y.c ORDER BY y.c",
         "concat(y.b, y.a, ' ', count(*)) FROM m y JOIN m z ON y.b = z.b AND y.a = z.a GROUP BY y.b, y.a ORDER BY y.b, y.a",
         "concat(trim_scale(y.n), ' ', count(*), ' ', sum(z.id)) FROM m y JOIN m z ON y.n = z.n GROUP BY y.n ORDER BY y.n",
         "concat(y.f + 0, ' ', count(*)) FROM m y JOIN m z ON y.f = z.f GROUP BY y.f + 0 ORDER BY y.f + 0",
         "concat(extract(epoch FROM y.d), ' ', count(*)) FROM m y JOIN m z ON y.d = z.d GROUP BY y.d ORDER BY y.d",
         "concat(y.id, ' ', count(*)) FROM m y JOIN m z ON y.j = z.j GROUP BY y.id ORDER BY y.id",
         "concat(y.b, ' ', count(*), ' ', sum(z.id)) FROM m y JOIN m z ON y.b = z.b AND z.s = 'pending' GROUP BY y.b ORDER BY y.b",
         "concat(y.id, ' ', count(*)) FROM m y JOIN m z ON z.q && y.q GROUP BY y.id ORDER BY y.id",
         "concat(y.id, ' ', count(*)) FROM m y JOIN m z ON z.g && y.g GROUP BY y.id ORDER BY y.id",
         "concat(y.id, ' ', z.d) FROM m y, LATERAL (SELECT z.p <-> y.p AS d FROM m z WHERE z.p IS NOT NULL ORDER BY z.p <-> y.p LIMIT 2) z "
         "WHERE y.p IS NOT NULL ORDER BY y.id, z.d"]

# of GIN indexes; their pending lists are emptied
CLEAN = ("SELECT count(gin_clean_pending_list(c.oid)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam "
         "WHERE i.indrelid = 'm'::regclass AND a.amname = 'gin' AND i.indisvalid")


class Keys:
    """Of one schedule; r is the generator's, for the statements."""

    def __init__(self, seed, r):
        self.r = r
        self.serial = 0
        own = random.Random('keys %d' % seed)
        self.rows = own.choice([3, 8, 8, 20])
        self.indexes = ['CREATE INDEX ON m ' + i for i in
                        own.sample(BTREES, own.choice([1, 3, 5, 8])) + own.sample(OTHERS, own.choice([0, 1, 2, 4]))]
        self.indexes += own.sample(CONSTRAINTS, own.choice([0, 0, 1, 2]))
        own.shuffle(self.indexes)
        self.own = own
        self.ddl = own.random() < 0.3
        # those that indexes have change more often
        self.often = [c for c in COLUMNS if any(re.search(r'\b%s\b' % c[0], i) for i in self.indexes)]

    @staticmethod
    def wanted(seed):
        return random.Random('with keys %d' % seed).random() < 0.5

    def setup(self):
        out = ["CREATE COLLATION either (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
               'CREATE FUNCTION long(n int) RETURNS text LANGUAGE sql IMMUTABLE AS '
               "$$ SELECT string_agg(encode(sha256((n * 1000 + i)::text::bytea), 'base64'), '') FROM generate_series(1, 58) i $$",
               'CREATE TABLE m (id int PRIMARY KEY, %s, v int)' % ', '.join('%s %s' % c[:2] for c in COLUMNS)]
        out += ['CREATE FUNCTION %s(query text) RETURNS SETOF text LANGUAGE plpgsql %s AS '
                '$$ BEGIN RETURN QUERY EXECUTE query; END $$' % x for x in SCANS.items()]
        if self.own.random() < 0.5:
            out += self.indexes
        for i in range(1, self.rows + 1):
            values = [self.own.choice(v) for _, _, v in COLUMNS[:-2]]
            out.append('INSERT INTO m VALUES (%d, %s, int4range(%d, %d), %d, 0)'
                       % (i, ', '.join(values), 1000 + 10 * i, 1010 + 10 * i, 200 + i))
        out += [i for i in self.indexes if i not in out]
        return out

    # ------------------------------------------------------------ changes

    def id(self):
        return self.r.randint(1, self.rows + 1)

    def assign(self):
        r = self.r
        chosen = r.sample(self.often, min(len(self.often), r.choice([1, 1, 1, 2, 4])))
        if r.random() < 0.1:
            chosen = r.sample(COLUMNS, 3)
        sets = ['%s = %s' % (name, r.choice(values)) for name, _, values in chosen]
        if r.random() < 0.2:
            sets.append('v = m.v + 1')
        return ', '.join(sets)

    def where(self):
        r = self.r
        return 'm.id = %d%s' % (self.id(), ' AND ' + r.choice(CONDITIONS) if r.random() < 0.25 else '')

    def returning(self):
        return self.r.choice(['', '', ' RETURNING m.id, m.a, m.b, m.c, m.n, m.f, length(m.w), m.u, m.s, m.d, m.j, m.q, m.e'])

    def change(self):
        r = self.r
        x = r.random()
        if x < 0.03 and any('USING gin' in i for i in self.indexes):
            return CLEAN
        if x < 0.15:
            a = self.id()
            # what may wait for a duplicate would do so in another order
            sets = [c for c in COLUMNS if c[0] not in 'ru']
            return ('UPDATE m SET %s FROM (SELECT id AS i FROM m WHERE id BETWEEN %d AND %d ORDER BY id FOR UPDATE) s '
                    'WHERE m.id = s.i' % (', '.join('%s = %s' % (c[0], r.choice(c[2])) for c in r.sample(sets, 2)), a, a + 3))
        if x < 0.22:
            return 'DELETE FROM m WHERE ' + self.where() + self.returning()
        if x < 0.32:
            values = ', '.join(r.choice(v) for _, _, v in COLUMNS)
            return ('INSERT INTO m VALUES (%d, %s, 0)' % (self.id() + r.choice([0, 0, 3]), values) + r.choice(
                ['', ' ON CONFLICT (id) DO UPDATE SET ' + self.assign(), ' ON CONFLICT (id) DO NOTHING']) + self.returning())
        if x < 0.4:
            return 'SELECT id, a, b FROM m WHERE %s FOR %s' % (self.where(), r.choice(['UPDATE', 'NO KEY UPDATE']))
        return 'UPDATE m SET %s WHERE %s%s' % (self.assign(), self.where(), self.returning())

    def back_and_forth(self, idle):
        """A leaf fills with entries of the same rows; with committed ones if no transaction is open."""
        r = self.r
        name, _, values = r.choice([c for c in self.often if c[0] not in 'ru'] or COLUMNS[:1])
        wheel = 'CASE $1 %% %d %s END' % (len(values), ' '.join('WHEN %d THEN %s' % x for x in enumerate(values)))
        if r.random() < 0.3 and name in 'ab':
            wheel = '$1 %% %d' % r.choice([50, 500])
        end = r.choice(['COMMIT', 'COMMIT', 'IF i % 5 = 1 THEN ROLLBACK; ELSE COMMIT; END IF']) if idle else 'NULL'
        return ('DO $$ BEGIN FOR i IN 1..%d LOOP EXECUTE $x$UPDATE m SET %s = %s WHERE id = %s$x$ USING i; %s; END LOOP; END $$'
                % (r.choice([3, 10, 60, 250]), name, wheel, r.choice([str(self.id()), '1 + $1 %% %d' % self.rows]), end))

    # ------------------------------------------------------------ reading

    def read(self):
        r = self.r
        x = r.random()
        if x < 0.4:
            query, scans = ROW + r.choice(CONDITIONS), ['by_index', 'by_bitmap', 'by_table', 'by_workers', 'by_bitmap_and_workers']
        elif x < 0.55:
            query, scans = r.choice(KEYS), ['by_index_only', 'by_index_only', 'by_workers', 'by_bitmap']
        elif x < 0.85:
            query, scans = 'SELECT ' + r.choice(ORDERED), ['by_index', 'by_index', 'by_index_only', 'by_workers']
        else:
            query, scans = 'SELECT ' + r.choice(JOINS), ['by_merge', 'by_merge', 'by_nested_loop']
        return 'SELECT * FROM %s($q$%s$q$)' % (r.choice(scans), query)

    def cursor(self, s):
        r = self.r
        mine = [c for c in s.cursors if c.startswith('key')]
        if not mine or r.random() < 0.2:
            self.serial += 1
            s.cursors.append('key%d' % self.serial)
            return 'DECLARE key%d SCROLL CURSOR FOR SELECT %s' % (self.serial, r.choice(r.choice([ORDERED, ORDERED, ALIKE])))
        return 'FETCH %s FROM %s' % (r.choice(['NEXT', 'NEXT', '2', '5', 'ALL', 'PRIOR', 'FIRST', 'LAST', 'ABSOLUTE 3',
                                               'BACKWARD 2', 'BACKWARD ALL', 'RELATIVE -1']), r.choice(mine))

    def definition(self, idle):
        r = self.r
        self.serial += 1
        concurrently = ' CONCURRENTLY' if idle and r.random() < 0.6 else ''
        return r.choice(['REINDEX TABLE%s m' % concurrently, 'CLUSTER m USING m_pkey',
                         'CREATE INDEX%s i%d ON m %s' % (concurrently, self.serial, r.choice(BTREES + OTHERS)),
                         'DROP INDEX%s IF EXISTS i%d' % (concurrently, r.randint(1, self.serial))])

    def statement(self, s, status, ddl):
        r = self.r
        x = r.random()
        if x < 0.04 and (ddl or self.ddl):
            return self.definition(status == 'I')
        if x < 0.5:
            return self.change()
        if x < 0.58:
            return self.back_and_forth(status == 'I')
        if x < 0.7 and status == 'T':
            return self.cursor(s)
        return self.read()


def final_reads():
    """What is read of the table at the end, one by one."""
    for condition in CONDITIONS:
        for scan in 'by_index', 'by_bitmap':
            yield 'SELECT * FROM %s($q$%s%s$q$)' % (scan, ROW, condition)
    for query in KEYS:
        yield 'SELECT * FROM by_index_only($q$%s$q$)' % query
    for query in ORDERED:
        yield 'SELECT * FROM by_index($q$SELECT %s$q$)' % query
    yield ("SELECT count(bt_index_check(indexrelid, true)) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid "
           "WHERE indrelid = 'm'::regclass AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND indisready")
    for query in JOINS:
        yield 'SELECT * FROM by_merge($q$SELECT %s$q$)' % query
