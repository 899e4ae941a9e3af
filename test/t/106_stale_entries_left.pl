# What becomes of index entries of one row's earlier keys: VACUUM removes them however few rows have them; and a standby's old snapshot
# is not shown a row by a key that the version which it sees has not, when an index was made anew and VACUUM has been there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'wal_keep_size = 1GB' ], allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = 0', 'hot_standby_feedback = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql('create extension pageinspect');

# ---- 1. many entries of a single row ----

sub entries
{
	my ($index) = @_;

	return sql("select sum(live_items) from generate_series(1, pg_relation_size('$index') / 8192 - 1) b, bt_page_stats('$index', b::int) where type = 'l'");
}
sql(<<'SQL');
create table w (id int primary key, n int, pad text) using zheap;
create index w_n on w (n);
insert into w select g, g, repeat('w', 400) from generate_series(1, 20000) g;
vacuum analyze w;
SQL
my $updates = short() ? 45000 : 60000;
foreach my $how ('as counted', 'after ANALYZE')
{
	my $old = session($node);

	$old->query_safe('begin isolation level repeatable read; select count(*) from w');
	sql("do \$\$ begin for i in 1 .. $updates loop update w set n = 1000000 + i where id = 10; commit; end loop; end \$\$; select pg_stat_force_next_flush()");
	$old->query_safe('commit');
	$old->quit;
	cmp_ok(entries('w_n'), '>', 20000 + $updates / 2, "$how: an old snapshot has kept entries");
	sql('analyze w') if $how eq 'after ANALYZE';
	sql('vacuum w');
	cmp_ok(entries('w_n'), '<', 21000, "$how: VACUUM has removed them");
	is(sql('set enable_seqscan = off; select count(*) from w where n > 20000'), 1, "$how: the row is there");
	sql('update w set n = 10 where id = 10');
}
sql('create table v (id int primary key, n int, pad text) using zheap; create index v_n on v (n); insert into v select * from w; vacuum analyze v');
my $before = entries('v_n');
sql('update v set n = 30000 where id = 11');
sql('vacuum v');
is(entries('v_n'), $before + 1, 'one entry on one page waits for the next time');

# ---- 2. a standby ----

my $by_index = 'set enable_seqscan = off; set enable_bitmapscan = off';

sql('create table t (id int, a int) using zheap; create index t_a on t (a); create table o (x int); insert into t values (1, 1)');
caught_up($node, $standby);
my $reader = session($standby);
$reader->query_safe("$by_index; begin isolation level repeatable read; select count(*) from o");
sql('update t set a = 2 where id = 1');
sql('reindex index t_a');
sql('vacuum (index_cleanup on) t');
is(sql("select flags from zheap.zheap_page_items('t', 0)") =~ /several/, '', 'the row has one key');
caught_up($node, $standby);
begin_in($reader, 'select id, a from t where a = 2');
wait_until(sub { ended($reader) }) or die 'it does not end';
like($reader->{answer}, qr/^$|conflict with recovery|terminating connection/, 'it finds none, or is cancelled');
unlike($reader->{answer}, qr/^1\|/m, 'by a key that it has not got no row is found') or diag($reader->{answer});
is($standby->safe_psql('postgres', "$by_index; select id, a from t where a = 2"), '1|2', 'a new snapshot finds it');
no_crash_in_log($_, 'to the end') foreach $node, $standby;
done_testing();
