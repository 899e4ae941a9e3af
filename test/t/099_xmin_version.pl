# What xmin shows: a number that stays the same while the row does, is another one after each committed change, and never another transaction's xid.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use lib dirname(__FILE__);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('xmin', [ 'autovacuum = off', 'zheap.initial_slots = 4', 'max_connections = 60', 'wal_keep_size = 256MB' ], allows_streaming => 1);

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql('create extension pg_visibility');
sql(<<'SQL');
create table t (id int primary key, n int, pad text, big text) using zheap;
alter table t alter big set storage external;
insert into t select g, 0, repeat('p', g % 200), case when g % 50 = 0 then repeat('b', 5000) end from generate_series(1, 500) g;
create table c (id int references t) using zheap;
SQL

my %scans = ('seqscan' => '', 'indexscan' => 'where id > 0', 'bitmapscan' => 'where id > 0',
	'tidscan' => "where ctid = any (array(select format('(%s,%s)', b, g)::tid from generate_series(0, 30) b, generate_series(1, 291) g))");

# Of all rows, as each kind of scan reads them: "id:xmin id:xmin ..."
sub versions
{
	my ($what, $session) = @_;
	my $ask = $session ? sub { $session->query_safe($_[0]) } : \&sql;
	my %seen;

	foreach my $scan (sort keys %scans)
	{
		my $set = join '; ', map { "set enable_$_ = " . ($_ eq $scan ? 'on' : 'off') } qw(seqscan indexscan bitmapscan tidscan indexonlyscan);

		$seen{$ask->("$set; select string_agg(id || ':' || xmin, ' ' order by id) from (select id, xmin from t $scans{$scan}) s")} = $scan;
	}
	is(scalar(keys %seen), 1, "$what: each kind of scan says the same");
	return (sort keys %seen)[0];
}

# Which rows have another xmin?
sub changed
{
	my ($before, $after) = @_;
	my %was = map { split /:/ } split / /, $before;
	my %is = map { split /:/ } split / /, $after;

	return join ' ', grep { ($was{$_} // '') ne ($is{$_} // '') } sort { $a <=> $b } keys %{ { %was, %is } };
}

sub all_frozen
{
	sql('vacuum t');
	ok(wait_until(sub { sql('vacuum zheap.undo; vacuum t') ; sql('select pg_current_xact_id()'); sql("select bool_and(all_visible) from pg_visibility('t') where blkno = 0") eq 't' }), 'nobody knows the makers any more');
	return;
}

# ---- stays ----
my $old = session($node);
$old->query_safe('begin isolation level repeatable read; select 1');
my $first = versions('new rows');
my $own = session($node);
$own->query_safe('begin');
my $returned = $own->query_safe("update t set n = n + 1 where id in (7, 50, 51) returning id || ':' || xmin");
is(join(' ', split /\n/, $returned), join(' ', (map { my $id = $_; grep { /^$id:/ } split / /, versions('own changes', $own) } 7, 50, 51)), 'RETURNING and a later command of the transaction agree');
my $inserted = $own->query_safe("insert into t values (501, 0, 'x', repeat('y', 9000)), (502, 0, 'short', null) returning id || ':' || xmin");
$own->query_safe('savepoint s; update t set n = 9 where id between 100 and 300; rollback to s');
my $uncommitted = versions('own', $own);
is(changed($first, versions('before the commit')), '', 'others see no change');
$own->query_safe('commit');
my $committed = versions('committed');
is(changed($uncommitted, $committed), '', 'the commit changes none');
is(changed($first, $committed), '7 50 51 501 502', 'rows that were changed have others, and no others have');
like(" $committed ", qr/ \Q$_\E /, "RETURNING told what is shown now: $_") foreach split /\n/, "$returned\n$inserted";
is(changed($first, versions('old snapshot', $old)), '', 'an old snapshot sees those of its versions');
$old->query_safe('commit');
all_frozen();
is(changed($committed, versions('frozen')), '', 'nor does it matter that all see the rows');
set_and_reload($node, 'zheap.undo_workers = 0');
sql('begin; update t set n = n + 1; savepoint a; delete from t where id % 3 = 0; rollback');
is(changed($committed, versions('rolled back')), '', 'nor what is rolled back');
set_and_reload($node, 'zheap.undo_workers = 3');
ok($node->poll_query_until('postgres', 'select zheap.zheap_undo_pending() = 0'), 'and has been');
is(changed($committed, versions('rolled back by a worker')), '', 'nor that it has been');
my ($locker, $sharer) = map { session($node) } 1 .. 2;
$locker->query_safe('begin; select count(*) from (select 1 from t where id % 2 = 0 for update) s');
$sharer->query_safe('begin; insert into c select id from t where id % 2 = 1');
is(changed($committed, versions('locked')), '', 'nor locks');
$locker->query_safe('commit');
$sharer->query_safe('commit');
# many transactions, so that slots are taken over
sql("update t set n = n + 1 where id = $_") foreach 400 .. 430;
is(changed($committed, versions('slots taken over')), join(' ', 400 .. 430), 'nor that others of the page are changed');
$committed = versions('before a crash');
$_->quit foreach $old, $own, $locker, $sharer;
crash($node);
start_again($node);
is(changed($committed, versions('after a crash')), '', 'nor a crash');
my $standby = new_standby($node, 'standby');
caught_up($node, $standby);
my $there = session($standby);
is(changed($committed, versions('standby', $there)), '', 'a standby shows the same');
$there->quit;
$standby->stop;
sql('alter table t add more int, add missing int default 5');
is(changed($committed, versions('a new column')), '', 'a new column changes none');

# ---- is another one ----
$committed = versions('before changes');
sql('update t set n = n where id <= 20');
is(changed($committed, versions('the same values')), join(' ', 1 .. 20), 'an update that sets the same values');
my %seen;
$seen{ sql('update t set n = n where id = 33 returning xmin') }++ foreach 1 .. 31;
is(scalar(keys %seen), 31, 'any two of 31 updates in a row differ');
%seen = ();
my $older = session($node);
$older->query_safe('begin isolation level repeatable read; select 1');
my $kept = versions('old snapshot', $older);
$seen{ sql("update t set n = $_ where id = 34 returning xmin") }++ foreach 1 .. 200;
cmp_ok(scalar(keys %seen), '>=', 199, 'so do 200 updates of a column');
is(changed($kept, versions('old snapshot later', $older)), '', 'an old snapshot sees the version from before those as ever');
$older->quit;
my $before = sql('select xmin from t where id = 35');
isnt(sql("update t set pad = repeat('long', 700), big = repeat('q', 1900) where id = 35 returning xmin"), $before, 'a row that moves');
isnt(sql("insert into t values (36, 0) on conflict (id) do update set n = 8 returning xmin"), sql("select split_part(split_part(' $committed ', ' 36:', 2), ' ', 1)"), 'ON CONFLICT DO UPDATE');
isnt(sql("update t set big = repeat('c', 5000) where id = 50 returning xmin"), sql("select split_part(split_part(' $committed ', ' 50:', 2), ' ', 1)"), 'a value in the TOAST table');

# ---- a row that moved beside a KEY SHARE lock, and is changed again ----
my $share = session($node);
$share->query_safe('begin; insert into c values (60)');
sql("update t set pad = repeat('m', 1900), big = repeat('m', 1900) where id = 60");
$before = sql('select xmin from t where id = 60');
$share->query_safe('commit');
all_frozen();
is(sql('select xmin from t where id = 60'), $before, 'places where the row was before are no part of it');

# ---- no transaction's ----
is(sql("select count(*) from t where xmin = pg_current_xact_id()::xid or xmin = '2' or age(xmin) between -1000000000 and 1000000000"), 0, 'no xid of the last or the next billion transactions');

# ---- what the server asks ----
sql('create table p (id int primary key) using zheap; create table f (id int references p initially deferred) using zheap');
my ($rc, $out, $err) = $node->psql('postgres', 'begin; insert into f values (1); update f set id = id; commit');
like($err, qr/violates foreign key constraint/, 'a foreign key is checked of a row that the same transaction has inserted and updated');
sql('begin; insert into p values (1); insert into f values (1); update f set id = id; commit');
is(sql('select count(*) from f'), 1, 'and held');
($rc, $out, $err) = $node->psql('postgres', 'insert into p values (5), (5) on conflict (id) do update set id = 6');
like($err, qr/cannot affect row a second time/, 'ON CONFLICT knows a row of its own command');
my $serial = session($node);
$serial->query_safe('begin isolation level repeatable read; insert into p values (8)');
is($serial->query_safe('insert into p values (8) on conflict do nothing; select 1'), 1, 'and one of its own transaction');
$serial->query_safe('commit');

# ---- the setting ----
is(sql("set zheap.xmin = transaction; begin; insert into p values (70) returning xmin = pg_current_xact_id()::xid; select xmin = pg_current_xact_id()::xid from p where id = 70; rollback"), "t\nt", 'zheap.xmin = transaction shows those');

# ---- optimistic locking: each success adds 1, and nothing else does ----
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/add.sql", <<'SQL');
\set id random(1, :rows)
select n as n, xmin as version from o where id = :id \gset
with u as (update o set n = :n + 1 where id = :id and xmin = :version::text::xid returning xmin)
insert into done select :client_id, count(*) filter (where xmin is not null) from u;
SQL
sql('create table o (id int primary key, n int, pad text default repeat($$o$$, 20)) using zheap; insert into o select g, 0 from generate_series(1, 40) g; create table done (client int, n bigint)');
my $each = short() ? 300 : 1500;
foreach my $rows (2, 40)
{
	sql('truncate done; update o set n = 0');
	($rc, $out, $err) = pgbench_run($node, '-c', 8, '-j', 2, '-t', $each, '-D', "rows=$rows", '-f', "$dir/add.sql");
	is($rc, 0, "$rows rows, 8 clients") or diag($err);
	is(sql('select (select sum(n) from o) - (select sum(n) from done)'), 0, 'no update is lost');
	cmp_ok(sql('select count(*) from done where n = 0'), '>', 0, 'and some are refused') if $rows == 2;
}
sql('truncate done; update o set n = 0');
pgbench_run($node, '-c', 1, '-t', $each, '-D', 'rows=40', '-f', "$dir/add.sql");
is(sql('select count(*) from done where n = 0'), 0, 'none is refused where nobody else changes rows');
$_->quit foreach $share, $serial;
no_crash_in_log($node, 'to the end');
$node->stop;
done_testing();
