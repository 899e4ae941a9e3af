"""The operations that are counted.

An operation runs `setup`, then `warm` times what `statements(i)` gives, and is counted
for the next `times`; `rows` is what one of them stands for.  `target` is the ratio of
instructions, zheap to heap, that is promised.
"""

import dataclasses
from typing import Callable, Optional

ROWS = 20000
JOBS = 4000

SCHEMA = f"""
create table acc(aid int not null, bid int, abalance int, filler char(84));
insert into acc select i, 1, 0, '' from generate_series(1, {ROWS}) i;
alter table acc add primary key (aid);
create table br(bid int primary key, bbalance int, filler char(88));
insert into br values (1, 0, '');
create table te(tid int primary key, bid int, tbalance int, filler char(84));
insert into te select i, 1, 0, '' from generate_series(1, 10) i;
create table hist(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table nar(a int, b int, c text);
create table cp(a int primary key, b text, c timestamptz);
create table wide as select i id, i % 7 c0, i % 8 c1, i % 9 c2, i % 10 c3, i % 11 c4, i % 12 c5, i % 13 c6, i % 14 c7, i % 15 c8, i % 16 c9, i % 17 c10, i % 18 c11, i % 19 c12, i % 20 c13, i % 21 c14, i % 22 c15, i % 23 c16, i % 24 c17, i % 25 c18, i % 26 c19, 'abcdefgh' || i t1, 'xyz' || i % 100 t2, now() ts, i * 1.5::numeric nu from generate_series(1, {ROWS}) i;
create table up(id int primary key, a int, f text);
insert into up select i, 0, repeat('x', 60) from generate_series(1, {ROWS}) i;
create table del(id int primary key, a int, f text);
insert into del select i, 0, repeat('x', 60) from generate_series(1, {ROWS}) i;
create table par(id int primary key, n int);
insert into par select i, 0 from generate_series(1, 200) i;
create table ch(id int, pid int references par);
create table q(id bigint generated always as identity primary key, n int, vt timestamptz, m text);
create index on q(vt);
insert into q(n, vt) select 0, clock_timestamp() from generate_series(1, 100);
vacuum analyze;
checkpoint;
"""

# Tables of operations that are counted only if they are named
JOB_TABLE = f"""
create table jobs(id int primary key, state text not null, priority int not null, owner int, payload jsonb);
insert into jobs select i, case when i % 50 = 0 then 'pending' else 'done' end, 1 + i % 10, i, jsonb_build_object('kind', i % 10, 'address', 'street ' || i) from generate_series(1, {JOBS}) i;
create index on jobs(priority, id) where state = 'pending';
create index on jobs(state, id);
create index on jobs using gin (payload);
create index on jobs(owner);
"""

BALANCE_TABLE = f"""
create table bal(id int primary key, email text, balance numeric(14, 2));
insert into bal select i, 'Name' || i || '@Example.com', i % 1000 from generate_series(1, {JOBS}) i;
create index on bal(balance);
create index on bal(lower(email));
"""

# the index on a has one entry of each row, one of the others gets a second one
MARKED_TABLE = f"""
create table marked(id int primary key, a int, b int, c numeric, f text);
insert into marked select i, 2 * i, 2 * i, 2 * i, repeat('x', 60) from generate_series(1, {ROWS}) i;
create index on marked(a);
create index on marked(b);
create index on marked(c);
"""

# scanned after a rollback
ROLLED_TABLE = f"""
create table rolled(id int primary key, n int, a int, f text);
insert into rolled select i, i, 0, repeat('x', 40) from generate_series(1, {ROWS}) i;
"""

# what COPY reads, @COPY@ in a statement
COPY_LINES = "".join(f"{i}\tabcdefghijklmnop{i % 1000}\t2024-01-01 00:00:00+00\n" for i in range(1, ROWS + 1))


@dataclasses.dataclass
class Operation:
    name: str
    what: str
    setup: list
    statements: Callable
    warm: int = 0
    times: int = 1
    rows: int = 1
    target: Optional[float] = None
    tables: str = ""        # made after SCHEMA; the operation is counted only if it is named, and has no row in the table
    normal: str = ""        # the operation of which this one may take `limit` times the instructions, on zheap
    limit: Optional[float] = None


OPERATIONS = {}


def operation(name, what, setup, statements, **more):
    OPERATIONS[name] = Operation(name, what, setup, statements, **more)


def aid(i):
    """Accounts in an order that spreads over all pages."""
    return (i * 7919) % ROWS + 1


READ_ALL = ["select count(*) from acc;"]
UPDATE = "prepare u(int) as update acc set abalance = abalance + 1 where aid = $1;"
SELECT = "prepare s(int) as select abalance from acc where aid = $1;"
HISTORY = "prepare h(int) as insert into hist(tid, bid, aid, delta, mtime) values (1, 1, $1, 1, current_timestamp);"
BESIDE = ["begin;", "insert into hist(tid) values (0);", "prepare transaction 'p';"]
INDEX_ONLY_PLANS = ["set enable_seqscan = off;", "set enable_bitmapscan = off;", "set enable_hashjoin = off;", "set enable_mergejoin = off;"]
BITMAP_PLANS = ["set enable_seqscan = off;", "set enable_indexscan = off;"]
RANGE = "from acc where aid between 1000 and 10999;"


def one(name, what, setup, statement, times=500, **more):
    """A statement that touches one row."""
    operation(name, what, setup, lambda i: [statement(i)], times=times, **more)


def all_rows(name, what, setup, statement, rows=ROWS, **more):
    """One statement about many rows, counted by row."""
    operation(name, what, setup, lambda i: [statement], rows=rows, **more)


operation("simple_update", "pgbench -N transaction", READ_ALL + [UPDATE, SELECT, HISTORY],
          lambda i: ["begin;", f"execute u({aid(i)});", f"execute s({aid(i)});", f"execute h({aid(i)});", "end;"],
          warm=1500, times=400, target=0.93)
operation("tpcb", "TPC-B transaction, 1 branch, 10 tellers",
          READ_ALL + [UPDATE, SELECT, HISTORY, "prepare t(int) as update te set tbalance = tbalance + 1 where tid = $1;",
                      "prepare b as update br set bbalance = bbalance + 1 where bid = 1;"],
          lambda i: ["begin;", f"execute u({aid(i)});", f"execute s({aid(i)});", f"execute t({i % 10 + 1});", "execute b;",
                     f"execute h({aid(i)});", "end;"],
          warm=1000, times=400, target=0.88)
one("update", "update by key, first of a row", READ_ALL + [UPDATE], lambda i: f"execute u({aid(i)});", warm=300, target=0.85)
one("update_steady", "update by key, pages used before", READ_ALL + [UPDATE], lambda i: f"execute u({aid(i)});", warm=2500, target=0.85)
one("update_few", "update by key, 20 rows", READ_ALL + [UPDATE], lambda i: f"execute u({aid(i % 20)});", warm=300)
one("update_hot", "update of the only row", ["prepare b as update br set bbalance = bbalance + 1 where bid = 1;"], lambda i: "execute b;", warm=300)
one("update_beside", "update by key beside a prepared transaction", BESIDE + READ_ALL + [UPDATE], lambda i: f"execute u({aid(i)});", warm=2500)
one("update_few_beside", "update, 20 rows, beside a prepared transaction", BESIDE + READ_ALL + [UPDATE], lambda i: f"execute u({aid(i % 20)});", warm=1000)
one("update_index", "update of an indexed column, 2 indexes", ["create index xa on acc(abalance);"] + READ_ALL + [UPDATE],
    lambda i: f"execute u({aid(i)});", warm=1500)
one("select", "select by key", READ_ALL + [SELECT], lambda i: f"execute s({aid(i)});", warm=2500, target=1.00)
one("select_few", "select by key, 20 rows", READ_ALL + [SELECT], lambda i: f"execute s({aid(i % 20)});", warm=300, target=1.00)
one("insert", "insert, a transaction each", [HISTORY], lambda i: f"execute h({i});", warm=300, target=1.03)
operation("insert_100", "insert, 100 in a transaction", [HISTORY],
          lambda i: ["begin;"] * (i % 100 == 0) + [f"execute h({i});"] + ["end;"] * (i % 100 == 99), warm=300, times=500)
one("for_update", "select for update", READ_ALL + ["prepare f(int) as select abalance from acc where aid = $1 for update;"],
    lambda i: f"execute f({aid(i)});", warm=1500, target=1.02)
one("delete", "delete by key", READ_ALL + ["prepare d(int) as delete from acc where aid = $1;"],
    lambda i: f"execute d({aid(i)});", warm=1500, target=0.88)
# nobody else writes WAL in single-user mode, and index entries are not marked as dead before the commit is on disk
operation("queue", "send, read and delete a message of a queue",
          ["set synchronous_commit = on;",
           "prepare send as insert into q(n, vt, m) values (0, clock_timestamp(), 'message');",
           "prepare take as with t as (select id from q where vt <= clock_timestamp() order by id limit 1 for update skip locked) "
           "update q set vt = clock_timestamp() + '30 s', n = n + 1 from t where q.id = t.id returning q.id;",
           "prepare done(bigint) as delete from q where id = $1;"],
          lambda i: ["execute send;", "execute take;", f"execute done({i - 999});"], warm=1000, times=300)
# as for the queue, commits are on disk; the claim leaves the job's number where the next statement finds it
operation("job", "claim a job by a partial index, done; another pending",
          ["set synchronous_commit = on;", "prepare claim as with t as (select id from jobs where state = 'pending' order by priority, id limit 1 for update skip locked) "
           "update jobs set state = 'running' from t where jobs.id = t.id returning set_config('bench.job', t.id::text, false);",
           "prepare done as update jobs set state = 'done' where id = current_setting('bench.job')::int;",
           "prepare again(int) as update jobs set state = 'pending' where id = $1 and state = 'done';"],
          lambda i: ["execute claim;", "execute done;", f"execute again({i * 7919 % JOBS + 1});"], warm=4000, times=500, tables=JOB_TABLE)
one("balance", "update of an indexed numeric",
    ["prepare u(int, int) as update bal set balance = balance + $2 / 100.0 where id = $1;"],
    lambda i: f"execute u({i * 7919 % JOBS + 1}, {i * 7907 % 20001 - 10000});", warm=4000, tables=BALANCE_TABLE)
operation("rollback", "update and rollback", READ_ALL + [UPDATE], lambda i: ["begin;", f"execute u({aid(i)});", "rollback;"],
          warm=1500, times=500, target=0.97)
operation("foreign_key", "insert with a foreign key, by row",
          ["insert into ch select i, 1 + i % 200 from generate_series(1, 300) i;"],
          lambda i: ["insert into ch select i, 1 + i % 200 from generate_series(1, 3000) i;"], rows=3000)
all_rows("insert_select", "insert ... select, by row", [], f"insert into nar select i, i, '12345678' from generate_series(1, {ROWS}) i;", target=1.05)
all_rows("copy", "COPY, by row", [], "copy cp from '@COPY@';", target=0.97)
all_rows("update_all", "update of all rows, 1 index, by row", ["select count(*) from up;"], "update up set a = a + 1;", target=0.36)
all_rows("update_longer", "update that makes all rows longer, by row", ["select count(*) from up;"], "update up set f = f || repeat('x', 40);")
all_rows("delete_all", "delete of all rows, by row", ["select count(*) from del;"], "delete from del;", target=1.00)
all_rows("vacuum", "VACUUM after it, by row", ["delete from del;"], "vacuum del;")
all_rows("count", "count of all rows, by row", READ_ALL, "select count(*) from acc;", target=1.00)
all_rows("sum", "sum of a column, by row", READ_ALL, "select sum(abalance) from acc;", target=1.00)
all_rows("text", "filter by text, by row", READ_ALL, "select count(*) from acc where filler = 'x';", target=0.97)
all_rows("wide_first", "first of 25 columns, by row", ["select sum(id) from wide;"], "select sum(id) from wide;")
all_rows("wide_last", "last of 25 columns, by row", ["select sum(id) from wide;"], "select sum(nu) from wide;")
all_rows("wide_row", "all of 25 columns, by row", ["select sum(id) from wide;"],
         "select count(*) from (select w.* from wide w where id < 5000 offset 0) s where s::text is null;", rows=5000)
all_rows("range", "index scan of a range, by row", INDEX_ONLY_PLANS + [f"select sum(abalance) {RANGE}"], f"select sum(abalance) {RANGE}",
         rows=10000, target=0.95)
all_rows("index_only", "index-only scan of a range, by row", INDEX_ONLY_PLANS + [f"select count(aid) {RANGE}"], f"select count(aid) {RANGE}", rows=10000)
all_rows("bitmap", "bitmap scan of a range, by row",
         BITMAP_PLANS + [f"select sum(abalance) {RANGE}"], f"select sum(abalance) {RANGE}", rows=10000)
FEW = f"select sum(abalance) from acc where aid = any(array(select generate_series(1, {ROWS}, 60)));"
all_rows("bitmap_few", "bitmap scan of a row of each page, by row", BITMAP_PLANS + [FEW], FEW, rows=ROWS // 60, target=1.00)
# others see no commit that is not on disk, and entries are not marked as dead before
for index, column, changed in ("other", "a", "b"), ("changed", "b", "b"), ("numeric", "c", "c"):
    for scan, plans, target in ("range", INDEX_ONLY_PLANS, "sum(id)"), ("only", INDEX_ONLY_PLANS, f"count({column})"), ("bitmap", BITMAP_PLANS, "sum(id)"):
        query = f"select {target} from marked where {column} between 2000 and 21999;"
        all_rows(f"{scan}_{index}", f"{scan} scan, rows with several keys, {index} column, by row",
                 ["set synchronous_commit = on;"] + plans + [f"update marked set {changed} = {changed} + 1;", query, query], query,
                 rows=10000, target=1.5, tables=MARKED_TABLE)
# no worker rolls the rows back in single-user mode
SUM = "select sum(n) from rolled;"
BY_KEY = "select sum(n) from rolled where id between 2000 and 11999;"
PARTS = ["savepoint a;", "update rolled set n = n + 1 where id % 2 = 0;", "rollback to a;", "savepoint b;", "update rolled set n = n + 2 where id % 2 = 1;"]
for name, what, changes, limit in (("none", "nothing", [], None), ("update", "an update", ["update rolled set n = n + 1;"], 1.5),
                                   ("longer", "an update that makes rows longer", ["update rolled set f = f || repeat('x', 40);"], None),
                                   ("parts", "updates in subtransactions", PARTS, None), ("delete", "a deletion", ["delete from rolled;"], 1.5)):
    setup = [SUM] + (["begin;"] + changes + ["rollback;"] if changes else [])
    all_rows(f"rolled_{name}", f"sum of a column after {what} was rolled back, by row", setup, SUM,
             tables=ROLLED_TABLE, normal="rolled_none" if changes else "", limit=limit)
    all_rows(f"rolled_key_{name}", f"index scan after {what} was rolled back, by row", setup + INDEX_ONLY_PLANS, BY_KEY, rows=10000,
             tables=ROLLED_TABLE, normal="rolled_key_none" if changes else "")
all_rows("analyze", "ANALYZE, 600 rows in the sample, by row", ["set default_statistics_target = 2;", "analyze acc;"], "analyze acc;",
         target=1.10)
LOOP = f"select sum(a.abalance) from generate_series(1, {ROWS}, 2) g join acc a on a.aid = g;"
all_rows("nested_loop", "nested loop, by inner row", INDEX_ONLY_PLANS + [LOOP], LOOP, rows=10000, target=0.90)
all_rows("create_index", "CREATE INDEX, by row", READ_ALL, "create index xi on acc(bid, aid);")
one("nothing", "begin and end", [], lambda i: "begin; end;", warm=300)
