"""What the database must contain, kept outside of it.

Every transaction of a client has a number, writes it into the table "journal", and
collects its effects; they are applied here once its commit is acknowledged.  After a
crash the journal tells what became of a transaction whose commit was under way; all
its other effects must then be there, or none.
"""

import threading

CLIENTS = 64                    # at most: numbers tell whose they are
ACCOUNTS = 200
START_BALANCE = 1000
PARENTS = 40
WIDE = 300
CROWD = 120                     # rows on a few full pages
COPIED = 40                     # rows of one COPY
TRUNCATED = 25                  # rows of a truncated and refilled table

# of a table that comes and goes: what tells its rows
SUMS = 'select count(*), coalesce(sum(id), 0), coalesce(sum(n), 0) from %s'

SCHEMA = """
set default_table_access_method = zheap;
create table journal (n bigint primary key, client int, kind text);
create table accounts (id int primary key, balance bigint not null, filler text);
create index accounts_balance on accounts (balance);
create table tags1 (n bigint primary key);
create table tags2 (n bigint, pad text);
create index tags2_n on tags2 (n);
create table tags3 (pad text, n bigint not null, k int);
create index tags3_k on tags3 (k, n);
create table own (client int, key int, v int, u int, t text, primary key (client, key));
create index own_v on own (v);
create table parent (id int primary key, x int not null);
create table child (id bigint primary key, parent int not null references parent);
create index child_parent on child (parent);
create table queue (id bigint primary key, payload text);
create table done (id bigint primary key, n bigint);
create table bulk (id int primary key, v text not null, w int not null);
create index bulk_w on bulk (w);
create table copied (n bigint, i int, t text);
create index copied_n on copied (n, i);
create table wide (id int primary key, k int not null);
create table crowd (id int primary key, n int not null, k int not null, pad text);
create index crowd_k on crowd (k);
create unlogged table unlogged (id bigint primary key, n bigint, t text);
create index unlogged_n on unlogged (n);
"""


class Transaction:
    """state: open, committing, preparing, prepared, committing prepared, rolling back prepared"""

    def __init__(self, n, client, kind):
        self.n, self.client, self.kind = n, client, kind
        self.effects = []
        self.state = 'open'

    def keys(self):
        return {e[2] for e in self.effects if e[0] == 'own'}


class Model:
    def __init__(self, bulk):
        self.lock = threading.Lock()
        self.journal = {}                   # n -> kind
        self.tags = set()
        self.own = {}                       # (client, key) -> (v, u, md5 of t)
        self.balance = dict.fromkeys(range(1, ACCOUNTS + 1), START_BALANCE)
        self.parent = dict.fromkeys(range(1, PARENTS + 1), 0)
        self.child = {}                     # id -> parent
        self.put, self.taken = set(), set()
        self.bulk = bulk                    # rows
        self.bulk_w = 0
        self.copied = set()
        self.truncated = {}                 # client -> n
        self.wide = dict.fromkeys(range(1, WIDE + 1), 0)
        self.crowd = dict.fromkeys(range(1, CROWD + 1), 0)
        self.made = {}                      # table -> what SUMS tells, as text
        self.columns = {}                   # of wide -> value in all rows
        self.doubtful = []                  # transactions that a crash cut off

    def setup(self, db, clients):
        db.run('create extension zheap')
        db.run('create extension amcheck')
        db.run(SCHEMA)
        for c in range(clients):
            db.run('create table truncated_%d (n bigint, i int) using zheap' % c)
            db.run('create index on truncated_%d (i)' % c)
            self.truncated[c] = None
        db.run("insert into accounts select g, %d, 'f' from generate_series(1, %d) g" % (START_BALANCE, ACCOUNTS))
        db.run('insert into parent select g, 0 from generate_series(1, %d) g' % PARENTS)
        db.run('insert into wide select g, 0 from generate_series(1, %d) g' % WIDE)
        db.run("insert into crowd select g, 0, 0, repeat('c', 150) from generate_series(1, %d) g" % CROWD)
        db.run("insert into bulk select g, 'clean', 0 from generate_series(1, %d) g" % self.bulk)

    def committed(self, t):
        with self.lock:
            self.journal[t.n] = t.kind
            for e in t.effects:
                getattr(self, 'apply_' + e[0])(*e[1:])

    def apply_tag(self, n, there):
        if there:
            self.tags.add(n)
        else:
            self.tags.discard(n)

    def apply_own(self, client, key, row):
        if row is None:
            self.own.pop((client, key), None)
        else:
            self.own[client, key] = row

    def apply_balance(self, account, delta):
        self.balance[account] += delta

    def apply_parent(self, id, delta):
        self.parent[id] += delta

    def apply_child(self, id, parent):
        if parent is None:
            self.child.pop(id)
        else:
            self.child[id] = parent

    def apply_put(self, id):
        self.put.add(id)

    def apply_take(self, id):
        self.taken.add(id)

    def apply_bulk(self):
        self.bulk_w += 1

    def apply_copied(self, n):
        self.copied.add(n)

    def apply_truncated(self, client, n):
        self.truncated[client] = n

    def apply_wide(self, id, delta):
        self.wide[id] += delta

    def apply_crowd(self, id, delta):
        self.crowd[id] += delta

    def apply_made(self, table, sums):
        if sums is None:
            self.made.pop(table, None)
        else:
            self.made[table] = sums

    def apply_column(self, name, value):
        if value is None:
            self.columns.pop(name)
        else:
            self.columns[name] = value
