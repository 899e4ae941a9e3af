# Index-only scans that have read an index page before entries go and the table page is marked all-visible, on both servers; and changes by
# a backend that has not heard yet of the visibility map, or of its length.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'wal_consistency_checking = zheap', 'zheap.remove_dead_entries = on', 'wal_keep_size = 1GB' ],
	allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = -1', 'hot_standby_feedback = on');
my $by_index = 'set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off';

$node->safe_psql('postgres', <<'SQL');
create extension pg_visibility;
create extension pageinspect;
create table x (a int);
create function wrong(tab regclass) returns bigint language sql as $$
	select count(*) filter (where all_visible <> pd_all_visible) from pg_visibility(tab) $$;
SQL

sub sql { return $node->safe_psql('postgres', $_[0]); }

# What has ended so far is past for the standby's snapshots, as the primary knows them.
sub past_on_standby
{
	my $xid = sql('select pg_current_xact_id()');

	sql('insert into x values (1)');
	ok($node->poll_query_until('postgres', "select backend_xmin::text::bigint > $xid from pg_stat_replication"), 'the primary knows how far the standby is');
	return;
}

# The statement waits between its first change and its second one, with the length of the map in its mind.
sub beside_first_vacuum
{
	my ($table, $statement) = @_;
	my $holder = session($node);
	my $writer = session($node);

	past_on_standby();
	$holder->query_safe('select pg_advisory_lock(1)');
	$writer->query_safe("$by_index; set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off; set enable_memoize = off");
	begin_in($writer, $statement);
	wait_until(sub { sql("select count(*) from pg_locks where locktype = 'advisory' and not granted") > 0 }) or die 'no wait';
	sql("vacuum $table");
	cmp_ok(sql("select count(*) from pg_visibility('$table') where all_visible"), '>', 0, 'meanwhile VACUUM has made the map');
	$holder->query_safe('select pg_advisory_unlock_all()');
	wait_until(sub { ended($writer) }) or die 'it does not end';
	$_->quit foreach $holder, $writer;
	is(sql("select wrong('$table')"), 0, "map and pages agree after: " . substr($statement, 0, 6));
	return;
}
my $waits = "(select c, g, case when g = 2 then pg_advisory_lock(1) end from (select count(*) c from %s where id < 3) a, generate_series(1, 2) g offset 0) w";
sql('create table t (id int primary key, n int) using zheap; create index t_n on t (n); insert into t select g, g from generate_series(1, 2000) g');
beside_first_vacuum('t', 'delete from t using ' . sprintf($waits, 't') . ' where t.id = case when g = 1 then 1900 else 100 + w.c end');
is(sql("$by_index; select string_agg(id::text, ' ') from (select id from t where id between 100 and 104 order by id) s"), '100 101 103 104', 'a row that it deleted is not there');
sql('create table u (id int primary key, n int) using zheap; create index u_n on u (n); insert into u select g, g from generate_series(1, 2000) g');
beside_first_vacuum('u', 'update u set n = n + 10000 from ' . sprintf($waits, 'u') . ' where u.id = case when g = 1 then 1900 else 100 + w.c end');
is(sql("$by_index; select string_agg(n::text, ' ') from (select n from u where n in (102, 10102) order by n) s"), '10102', 'a row whose key it changed has one');
sql('create table v (id int primary key, n int) using zheap; insert into v select g, g from generate_series(1, 2000) g');
beside_first_vacuum('v', 'update v set id = id + 10000 from ' . sprintf($waits, 'v') . ' where v.id = case when g = 1 then 1900 else 100 + w.c end');
is(sql("$by_index; select string_agg(id::text, ' ') from (select id from v where id in (102, 10102) order by id) s"), '10102', 'a row that it moved is there once');

# A scan on the standby, whose snapshot the primary knows, has entries of rows that are gone for it.
sql('create table w (id int primary key, n int) using zheap; insert into w select g, g from generate_series(1, 3000) g');
past_on_standby();
sql('vacuum w');
caught_up($node, $standby);
my $writer = session($node);
my $reader = session($standby);
is($standby->safe_psql('postgres', "$by_index; explain (analyze, costs off, timing off, summary off) select id from w where id between 1 and 350 order by id") =~ /Heap Fetches: (\d+)/ ? $1 : '', 0,
	'the standby knows the map');
$writer->query_safe('delete from w where id between 5 and 291');
my $deleted = sql('select pg_current_xact_id()');
caught_up($node, $standby);
$reader->query_safe("$by_index; begin isolation level repeatable read");
is($reader->query_safe('select count(*) from w where id in (1, 6)'), 1, 'a snapshot that does not see the deleted rows');
$reader->query_safe('declare c cursor for select id from w where id between 1 and 350 order by id');
is($reader->query_safe('fetch 2 from c'), "1\n2", 'a scan by the index alone, which has read their entries');
sql('insert into x values (1)');
ok($node->poll_query_until('postgres', "select backend_xmin::text::bigint >= $deleted from pg_stat_replication"), 'the deletion is past for all snapshots');
sql('create sequence ids start 100000');
ok(wait_until(sub { $writer->query_safe("insert into w values (nextval('ids'))"); sql("select count(*) from bt_page_items('w_pkey', 1)") < 100 }), 'the writer has removed the entries');
foreach my $i (1 .. 2)
{
	sql('vacuum (index_cleanup on) w');
	sql('insert into x values (2)');
	caught_up($node, $standby);
}
is(scalar(split /\n/, $reader->query_safe('fetch all from c')), 61, 'returns those that its snapshot sees');
is($reader->query_safe('select count(*) from w where id between 1 and 350'), 63, 'as a new scan does');
$reader->query_safe('commit');
is($standby->safe_psql('postgres', 'select wrong(\'w\')'), 0, 'map and pages agree on the standby');
$_->quit foreach $writer, $reader;
$standby->stop;

# GiST: its scans keep no page pinned, so VACUUM does not wait for them.
sql(<<'SQL');
create table g (p point) using zheap;
create index g_p on g using gist (p);
insert into g select point(i, i) from generate_series(1, 1000) i;
SQL
sql('vacuum g');
sql('delete from g where p <@ box(point(5, 5), point(95, 95))');
sql('insert into x values (0)');
my $scan = session($node);
$scan->query_safe("$by_index; begin");
like($scan->query_safe('explain (costs off) select p from g where p <@ box(point(0, 0), point(200, 200))'), qr/Index Only Scan/, 'an index-only scan of GiST');
$scan->query_safe('declare c cursor for select p from g where p <@ box(point(0, 0), point(200, 200))');
is($scan->query_safe('fetch 1 from c'), '(1,1)', 'begun');
sql('vacuum (index_cleanup on) g');
sql('insert into x values (3)');
sql('vacuum g');
is(scalar(split /\n/, $scan->query_safe('fetch all from c')), 108, 'it returns no row that was deleted before it began');
$scan->query_safe('commit');
$scan->quit;
no_crash_in_log($node, 'primary');
$node->stop;
done_testing();
