# Scans pass by ranges of index entries that only older snapshots need: with them and without they return the same rows, while
# rows come, go, come back to older keys and are rolled back in the ranges; and they look at few pages.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seconds = short() ? 6 : 20;
my $node = new_server('ranges', ['shared_buffers = 64MB', 'autovacuum = off', 'zheap.max_changed_indexes = 100']);

$node->safe_psql('postgres', <<'SQL');
create extension amcheck;
create extension pageinspect;
create table q (id int, k int, s text, pad text) using zheap;
create unique index q_id on q (id);
create index q_k on q (k);
create index q_s on q (s desc nulls first, k);
insert into q select g, g, case when g % 10 <> 0 then 's' || g end, repeat('x', 50) from generate_series(1, 6000) g;
vacuum q;
SQL

my $plain = 'set enable_seqscan = off; set enable_bitmapscan = off; ';
my %scans = (
	q_id => 'select count(*), sum(id), min(id), max(id) from (select id from q where id > 0 order by id) x',
	q_k => 'select count(*), sum(id), min(k), max(k) from (select id, k from q where k > 0 order by k) x',
	q_s => 'select count(*), sum(id), min(k), max(k) from (select id, k from q where s is null or s >= \'a\' order by s desc nulls first, k) x',
	part => 'select count(*), sum(id), min(k), max(k) from (select id, k from q where k between 1500 and 4200 order by k) x',
	back => 'select count(*), sum(id), string_agg(id::text, \',\' order by n) from (select id, row_number() over () n from (select id from q where k between -5000 and 90000 order by k desc) x) y',
	top => 'select count(*), sum(id), min(id), max(id) from (select id from q where s <= \'s4\' order by s, k desc) x',
	in => 'select count(*), sum(id), min(k), max(k) from (select id, k from q where k in (10, 2000, 2500, 5500) order by k) x');

# All scans, three times in a row for the ranges to come and be used, are what they are without ranges.
sub same
{
	my ($session, $what) = @_;
	my @wrong;

	foreach my $name (sort keys %scans)
	{
		my $right = $session->query_safe("set zheap.skip_dead_entries = off; $plain $scans{$name}");

		foreach my $round (1 .. 3)
		{
			my $got = $session->query_safe("set zheap.skip_dead_entries = on; $plain $scans{$name}");

			push @wrong, "$name: $got, not $right" unless $got eq $right;
		}
	}
	is_deeply(\@wrong, [], $what);
	return;
}

# Buffers that a look at the first row takes.
sub buffers
{
	my ($session, $order, $skip, $query) = @_;
	$query //= "select id from q where $order > 0 order by $order limit 1";
	my $plan = $session->query_safe("set zheap.skip_dead_entries = $skip; $plain explain (analyze, buffers, timing off, costs off) $query");

	return $plan =~ /Buffers: shared hit=(\d+)/ ? $1 : die $plan;
}

my $old = $node->background_psql('postgres');
my $new = $node->background_psql('postgres');
my $other = $node->background_psql('postgres');

$old->query_safe('begin isolation level repeatable read; select count(*) from q');
my $before = $old->query_safe("$plain $scans{q_k}");

# ---- deleted rows ----
$node->safe_psql('postgres', 'delete from q where id between 1 and 5000');
same($new, 'rows that were deleted');
foreach my $order (qw(id k))
{
	my $without = buffers($new, $order, 'off');
	my $with = buffers($new, $order, 'on');

	cmp_ok($with, '<', $without / 3, "the first row by $order takes $with buffers, and $without without ranges");
}
is($old->query_safe("set zheap.skip_dead_entries = on; $plain $scans{q_k}"), $before, 'the old snapshot sees all');

# ---- rows that come into a range ----
$node->safe_psql('postgres', 'insert into q values (2500, 2500, null, \'new\')');
same($new, 'a row inserted into the range');
$other->query_safe('begin; insert into q values (2600, 2600, \'s2600\', \'new\')');
same($new, 'an insertion in progress');
same($other, 'and its own session');
$other->query_safe('rollback');
same($new, 'rolled back');
$other->query_safe('begin; savepoint a; insert into q values (2700, 2700, null, \'new\'); rollback to a; insert into q values (2710, 2710, null, \'new\')');
same($other, 'a part rolled back');
$other->query_safe('commit');
same($new, 'and committed');
$other->query_safe('begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', 'delete from q where id in (2500, 2710); insert into q select g, g, \'n\' || g, \'new\' from generate_series(3000, 3100) g');
same($new, 'rows deleted and inserted');
same($other, 'a snapshot from between sees what it saw');
$node->safe_psql('postgres', 'delete from q where id between 3000 and 3100');
same($new, 'deleted again');
same($other, 'which it does not see either');
# a range that is nearly as large is replaced when it is so many transactions old
$node->safe_psql('postgres', 'select pg_current_xact_id(); ' x 40);
same($new, 'after some transactions');
cmp_ok(buffers($new, 'k', 'on'), '<', buffers($new, 'k', 'off') / 2, 'ranges grow together again');

# ---- a snapshot that the youngest range is too young for ----
my $between = $node->background_psql('postgres');
$between->query_safe('begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', join('; ', map { "delete from q where id = $_" } 5001 .. 5060));
same($new, 'after many transactions');
cmp_ok(buffers($new, 'k', 'on'), '<', buffers($new, 'k', 'off') / 2, 'a younger range');
cmp_ok(buffers($between, 'k', 'on'), '<', buffers($between, 'k', 'off') / 2, 'for those before it the older one stays');
same($between, 'which sees what it saw');
$between->query_safe('commit');
$between->quit;
counts_told($node, $old, $new, $other);
cmp_ok($node->safe_psql('postgres', "select dead_entries_passed from zheap.zheap_stat_tables where relname = 'q'"), '>', 1000, 'zheap_stat_tables counts them');

# ---- rows that change their keys ----
$node->safe_psql('postgres', 'update q set k = k + 10000 where id between 5001 and 5800');
same($new, 'rows moved to other keys in place');
same($other, 'for the snapshot from before as well');
cmp_ok(buffers($new, 'k', 'on'), '<', buffers($new, 'k', 'off') / 2, 'stale entries are passed by');
$node->safe_psql('postgres', 'update q set k = id where id between 5200 and 5300');
same($new, 'and back to keys whose entries are there');
same($other, 'for the snapshot from before');
$new->query_safe('begin; update q set k = id where id = 5400');
same($new, 'back in a transaction in progress');
$new->query_safe('rollback');
same($new, 'rolled back');
is($old->query_safe("set zheap.skip_dead_entries = on; $plain $scans{q_k}"), $before, 'the old snapshot still sees all');

# ---- cursors ----
$new->query_safe("begin; set zheap.skip_dead_entries = on; $plain declare c scroll cursor for select id from q where k > 0 order by k; move forward all in c");
my $backward = $new->query_safe('fetch backward all from c');
is(join(',', reverse split /\n/, $backward), join(',', split /\n/, $new->query_safe('fetch all from c')), 'forward as backward');
$node->safe_psql('postgres', 'insert into q values (100, 100, null, \'new\')');
is($new->query_safe('fetch backward all from c'), $backward, 'a cursor does not see what came later');
$new->query_safe('commit');
same($new, 'but others do');

# ---- keys compared by a function in SQL, at the end of a scan that has not come to its own ----
$node->safe_psql('postgres', <<'SQL');
create function backwards(int, int) returns int language sql immutable as 'select case when $1 < $2 then 1 when $1 > $2 then -1 else 0 end';
create operator class backwards_ops for type int using btree as
	operator 1 >, operator 2 >=, operator 3 =, operator 4 <=, operator 5 <, function 1 backwards(int, int);
create table c (id int) using zheap;
create index c_id on c (id backwards_ops);
insert into c select generate_series(1, 500);
SQL
$other->query_safe('commit; begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', 'delete from c where id > 100');
is($new->query_safe("set zheap.skip_dead_entries = on; $plain select id from c where id > 0 limit 1"), 100, "a function in SQL, $_")
  foreach 1 .. 4;

# ---- a leaf that is split while a scan is at it: what the scan has returned is now on the page where the range ends ----
$node->safe_psql('postgres', 'create table l (k int) using zheap; create index l_k on l (k); insert into l select generate_series(1, 12000)');
my $leaf = $node->safe_psql('postgres', 'select min(n) from generate_series(1, pg_relation_size(\'l_k\') / 8192 - 1) n, bt_page_stats(\'l_k\', n::int) s where type = \'l\' and btpo_prev = 0');
my $last = $node->safe_psql('postgres', "select count(*) from bt_page_items('l_k', $leaf) where not (itemoffset = 1 and htid is null)");
$old->query_safe('commit; begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', "delete from l where k <= 40 or k between 301 and $last");
foreach my $round (1 .. 4)
{
	$new->query_safe("set zheap.skip_dead_entries = on; $plain select k from l where k > 0 order by k limit 1");
	$new->query_safe("set zheap.skip_dead_entries = on; $plain select k from l where k > 290 order by k limit 11");
}
$new->query_safe("begin; $plain declare c cursor for select k from l where k > 0 order by k");
is($new->query_safe('fetch 260 from c'), join("\n", 41 .. 300), 'a cursor on the leaf, before a range');
$node->safe_psql('postgres', 'insert into l select 45 from generate_series(1, 3000)');
is($new->query_safe('fetch 2 from c'), join("\n", $last + 1, $last + 2), 'goes on behind it when the leaf has been split');
$new->query_safe('commit');

# ---- backward ----
$node->safe_psql('postgres', 'delete from l where k > 700');
my $down = 'select k from l where k > -1 order by k desc limit 1';
is($new->query_safe("set zheap.skip_dead_entries = on; $plain $down"), 700, "the last row, $_") foreach 1 .. 4;
{
	my ($with, $without) = (buffers($new, 'k', 'on', $down), buffers($new, 'k', 'off', $down));

	cmp_ok($with, '<', $without / 3, "the last row takes $with buffers, and $without without ranges");
}
$new->query_safe("begin; set zheap.skip_dead_entries = on; $plain declare c scroll cursor for select k from l where k > -1 order by k desc");
is($new->query_safe('fetch 3 from c'), "700\n699\n698", 'a cursor passes by the range');
$node->safe_psql('postgres', 'insert into l values (1500)');
is($new->query_safe('fetch backward 5 from c'), "699\n700", 'and comes back through it');
is($new->query_safe('fetch 2 from c; commit'), "700\n699", 'and turns again');
is($new->query_safe("set zheap.skip_dead_entries = on; $plain $down"), 1500, "a row inserted into the range, $_") foreach 1 .. 3;

# ---- a scan that goes back to its mark: where it jumped from there is not where it has looked since ----
$node->safe_psql('postgres', <<'SQL');
create table m (k int) using zheap;
create index m_k on m (k);
insert into m select generate_series(1, 4000);
create table twice (k int);
create index twice_k on twice (k);
insert into twice values (100), (100);
create function waits(int) returns boolean language plpgsql cost 1 as $$
begin
	if $1 = 1600 then
		perform pg_advisory_xact_lock_shared(1);
	end if;
	return $1 not between 1501 and 2100;
end $$;
SQL
{
	my $walk = "set zheap.skip_dead_entries = on; $plain select k from m where k > 0 order by k limit 101";
	my $holder = session($node);
	my $marked = session($node);
	my ($later, $older) = (session($node), session($node));

	$old->query_safe('commit; begin isolation level repeatable read; select 1');
	$node->safe_psql('postgres', 'delete from m where k between 101 and 1500');
	$new->query_safe($walk) foreach 1 .. 4;
	$holder->query_safe('begin; select pg_advisory_xact_lock(1)');
	$marked->query_safe("begin isolation level repeatable read; set zheap.skip_dead_entries = on; $plain set enable_nestloop = off; set enable_hashjoin = off; set enable_material = off; set enable_sort = off; "
		. 'declare c cursor for select m.k from twice t left join (select k from m where waits(k)) m on m.k = t.k and m.k + t.k > 0');
	is($marked->query_safe('fetch 1 from c'), 100, 'a merge join');
	begin_in($marked, 'fetch 1 from c');
	ok(wait_until(sub { ended($marked) || $node->safe_psql('postgres', "select count(*) from pg_locks where locktype = 'advisory' and not granted") }), 'waits');
	$node->safe_psql('postgres', 'insert into m values (700)');
	$later->query_safe('begin isolation level repeatable read; select 1');
	$node->safe_psql('postgres', 'delete from m where k = 700 or k between 1501 and 1590');
	$older->query_safe('begin isolation level repeatable read; select 1');
	$node->safe_psql('postgres', 'select pg_current_xact_id()');
	# a younger range instead of those that the scan has used, then what it might publish is announced
	$new->query_safe($walk) foreach 1 .. 2;
	$older->query_safe($walk);
	$holder->query_safe('commit');
	ok(wait_until(sub { ended($marked) }), 'the join goes on');
	is($marked->{answer}, 100, 'goes back to its mark');
	is($marked->query_safe('fetch 1 from c'), '', 'and on');
	$marked->query_safe('commit');
	is($later->query_safe("$walk"), join("\n", 1 .. 100, 700), 'a row that was there in between is seen');
	$_->quit foreach $holder, $marked, $later, $older;
}

# ---- the end of the old snapshots ----
$other->query_safe('commit');
$old->query_safe('commit');
same($new, 'without old snapshots');
$node->safe_psql('postgres', 'vacuum q; reindex table q');
same($new, 'after VACUUM and REINDEX');
$node->safe_psql('postgres', "set zheap.skip_dead_entries = on; truncate q; insert into q select g, g, 's' || g, '' from generate_series(1, 6000) g");
same($new, 'after TRUNCATE');

# ---- many at once ----
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/take.sql", <<'SQL');
set zheap.skip_dead_entries = on;
set enable_seqscan = off;
set enable_bitmapscan = off;
delete from q where id in (select id from q where k > 0 order by k limit 20 for update skip locked);
SQL
append_to_file("$scripts/put.sql", <<'SQL');
\set id random(1, 20000)
\set n random(1, 30)
begin;
insert into q select g, g, 's' || g, '' from generate_series(:id, :id + :n) g on conflict do nothing;
select 1 / (random() > 0.15)::int;
commit;
SQL
append_to_file("$scripts/move.sql", <<'SQL');
\set id random(1, 20000)
\set d random(-2000, 2000)
begin;
update q set k = k + :d where id between :id and :id + 10;
update q set k = id where id between :id - 5 and :id + 5;
end;
SQL
append_to_file("$scripts/read.sql", <<'SQL');
\set low random(-2000, 10000)
begin isolation level repeatable read;
set local zheap.skip_dead_entries = on;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select count(*) as a, coalesce(sum(id), 0) as sa from (select id from q where k >= :low order by k) x \gset
select count(*) as c, coalesce(sum(id), 0) as sc from (select id from q where id >= :low order by id) x \gset
set local enable_seqscan = on;
set local enable_indexscan = off;
set local enable_indexonlyscan = off;
select count(*) as b, coalesce(sum(id), 0) as sb from q where k >= :low \gset
select count(*) as d, coalesce(sum(id), 0) as sd from q where id >= :low \gset
select 1 / (:a = :b and :sa = :sb and :c = :d and :sc = :sd)::int as same;
commit;
SQL
append_to_file("$scripts/hold.sql", <<'SQL');
begin isolation level repeatable read;
select count(*) from q;
\sleep 700 ms
set local zheap.skip_dead_entries = on;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select count(*) as a, coalesce(sum(id), 0) as sa from (select id from q where k > -10000 order by k) x \gset
set local enable_seqscan = on;
set local enable_indexscan = off;
set local enable_indexonlyscan = off;
select count(*) as b, coalesce(sum(id), 0) as sb from q where k > -10000 \gset
select 1 / (:a = :b and :sa = :sb)::int as same;
commit;
SQL
$old->query_safe('begin isolation level repeatable read');
$before = $old->query_safe("$plain $scans{q_k}");
my $hold = pgbench_start($node, '-c', 2, '-T', $seconds, '-f', "$scripts/hold.sql");
my $read = pgbench_start($node, '-c', 3, '-T', $seconds, '-f', "$scripts/read.sql");
my $work = pgbench_start($node, '-c', 4, '-T', $seconds, '--max-tries=100', '-f', "$scripts/take.sql\@4", '-f', "$scripts/move.sql\@3");
my ($put_tries, $ended) = (0, 0);
while ($work->{handle}->pumpable)
{
	my ($rc, $out, $err) = pgbench_run($node, '-c', 2, '-t', 200, '-f', "$scripts/put.sql");

	$put_tries++;
	foreach my $run ($work, $read, $hold)
	{
		$run->{handle}->pump_nb if $run->{handle}->pumpable;
	}
}
foreach my $run ([ $work, 'changes' ], [ $read, 'reads beside them' ], [ $hold, 'reads by older snapshots' ])
{
	my ($rc, $out, $err) = pgbench_finish($run->[0]);

	is($rc, 0, "$run->[1]: index and table agree") or diag($err);
}
cmp_ok($put_tries, '>', 0, "insertions, $put_tries times");
is($old->query_safe("set zheap.skip_dead_entries = on; $plain $scans{q_k}"), $before, 'the oldest snapshot sees what it saw');
same($new, 'after all that');
is($node->safe_psql('postgres', "select bt_index_check(c, true) from unnest(array['q_id', 'q_k', 'q_s']::regclass[]) c"), "\n\n", 'the indexes are sound');

$_->quit foreach $old, $new, $other;
$node->stop;
done_testing();
