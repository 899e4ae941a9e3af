# Thousands of changes of one all-visible page in one transaction, rolled back, by hand, by a crash and by a savepoint, beside old snapshots.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'wal_consistency_checking = zheap', 'wal_keep_size = 1GB' ], allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'hot_standby_feedback = on');
my $by_index = 'set enable_seqscan = off; set enable_bitmapscan = off';
my $by_table = 'set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off; set enable_seqscan = on';

$node->safe_psql('postgres', 'create extension pg_visibility; create extension amcheck');
$node->safe_psql('postgres', 'create table t (id int primary key, k int, pad text) using zheap; create index t_k on t (k)');
$node->safe_psql('postgres', "insert into t select g, g, repeat('p', 20) from generate_series(1, 150) g");

sub marked { return $node->safe_psql('postgres', "select bool_and(all_visible and pd_all_visible) from pg_visibility('t')"); }

# Rows by index and by table, of the primary, an old snapshot and the standby.
sub rows_are
{
	my ($what, $right, @sessions) = @_;
	my $query = 'select count(*), sum(id) from t where id > 0';
	my $other = 'select count(k), sum(k) from t where k > 0';

	foreach my $how ($by_index, $by_table)
	{
		is($node->safe_psql('postgres', "$how; $query; $other"), "$right\n$right", "$what: $how");
		is($_->query_safe("$how; $query; $other"), "$right\n$right", "$what: an old snapshot") foreach @sessions;
		caught_up($node, $standby);
		is($standby->safe_psql('postgres', "$how; $query; $other"), "$right\n$right", "$what: standby");
	}
	is($node->safe_psql('postgres', "select bt_index_check(c, true) from unnest(array['t_pkey', 't_k']::regclass[]) c"), "\n", "$what: amcheck");
	return;
}

my $changes = 'do $$ begin for i in 1 .. 4000 loop update t set k = k + 1000 where id = i % 150 + 1; if i % 7 = 0 then delete from t where id = 150 - i / 7; insert into t values (1000 + i, 1000 + i); end if;'
	. ' if i % 10 = 0 then begin update t set pad = repeat($p$q$p$, i % 60); raise exception $p$no$p$; exception when raise_exception then null; end; end if; end loop; end $$';

foreach my $how ('rollback', 'savepoint', 'crash', 'terminated')
{
	ok(wait_until(sub { $node->safe_psql('postgres', 'vacuum t'); marked() eq 't' }), "$how: all pages are all-visible");
	my $old = session($node);
	my $changer = session($node);

	$old->query_safe('begin isolation level repeatable read; select count(*) from t');
	$changer->query_safe('begin; savepoint a');
	$changer->query_safe($changes);
	isnt(marked(), 't', "$how: marks are taken");
	rows_are("$how, before", '150|11325', $old);
	if ($how eq 'rollback') { $changer->query_safe('rollback'); }
	elsif ($how eq 'savepoint') { $changer->query_safe('rollback to a; commit'); }
	elsif ($how eq 'terminated') { $node->safe_psql('postgres', "select pg_terminate_backend($changer->{pid}, 10000)"); }
	else { crash($node); start_again($node); $standby->restart; }
	rows_are("$how, after", '150|11325', $how eq 'crash' ? () : $old);
	$_->quit foreach $how eq 'crash' ? () : $old, $how eq 'crash' || $how eq 'terminated' ? () : $changer;
	rows_are("$how, later", '150|11325');
}
$standby->stop;
$node->stop;
no_crash_in_log($node, 'primary');
done_testing();
