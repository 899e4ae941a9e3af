# A transaction aborts while another looks at a row that it has changed: between the look at the slot's owner and that at the one
# which made the version.  Nothing may be made on top of what has aborted.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'gdb is not there, without which the moment cannot be had' unless gdb();

my $node = new_server('meanwhile', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 4' ]);

# One page, with no room for another row nor for another slot.
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, pad text) using zheap with (fillfactor = 100);
do $$
begin
	for i in 1 .. 100 loop
		insert into t values (i, 0, repeat('p', 200));
		exit when exists (select from t where ctid >= '(1,0)');
	end loop;
end $$;
delete from t where ctid >= '(1,0)';
SQL
$node->safe_psql('postgres', 'vacuum t');
$node->safe_psql('postgres', 'create table other (n int) using zheap; insert into other values (1)');

foreach my $end ('rollback', 'commit')
{
	my ($old, $aborts, $writer) = map { session($node) } 1 .. 3;

	$old->query_safe('begin isolation level repeatable read; select count(*) from pg_am');
	$node->safe_psql('postgres', "update t set n = n where id = $_") foreach 11 .. 14;
	# the oldest owner's slot is taken over: three, then the first part's; the writer, younger than all that, gets one of its own
	$aborts->query_safe('begin');
	my $part = sub { $aborts->query_safe("savepoint s; update t set n = -1, pad = repeat('a', 200) where id = $_[0]; release s") };
	$part->($_) foreach 1 .. 3;
	$node->safe_psql('postgres', 'update t set n = n where id = 15');
	$part->(4);
	$writer->query_safe('begin; update t set n = n where id = 20');
	is($node->safe_psql('postgres', "select 'reused' = any (flags) from zheap.zheap_page_items('t', 0) where lp = 1"), 't', "$end: the row's slot is another part's by now");

	SKIP:
	{
		my $debugger = gdb_attach($writer->{pid}, "break zcheck_row\ncontinue\ndelete\nbreak zmvcc_find_modifier\ncontinue") or skip 'no debugger', 6;
		begin_in($writer, 'update t set n = n + 100 where id = 1');
		ok(gdb_stopped($debugger, $writer), "$end: the writer is about to look who made the version");
		$aborts->query_safe('rollback');
		gdb_go($debugger);
		ok(wait_until(sub { ended($writer) }), "$end: the writer goes on");
		gdb_end($debugger);
		$old->query_safe('commit');
		$node->safe_psql('postgres', 'vacuum t; vacuum zheap.undo');
		is($node->safe_psql('postgres', 'select n, left(pad, 1) from t where id = 1'), '0|p', "$end: others see the row as it was");
		my $xid = $writer->query_safe('select pg_current_xact_id()');
		$writer->query_safe($end);
		# the horizon passes what has aborted first, before anybody rolls back the writer's change
		ok(wait_until(sub { $node->safe_psql('postgres', 'update other set n = n + 1; select horizon::text::bigint from zheap.zheap_stat_undo') >= $xid }), "$end: the horizon comes to the writer");
		is($node->safe_psql('postgres', 'select n, left(pad, 1) from t where id = 1'), $end eq 'rollback' ? '0|p' : '100|p', "$end: and the row as it becomes");
		$node->safe_psql('postgres', 'vacuum t; vacuum zheap.undo');
		is($node->safe_psql('postgres', 'select n, left(pad, 1) from t where id = 1'), $end eq 'rollback' ? '0|p' : '100|p', "$end: for good");
	}
	$_->quit foreach ($old, $aborts, $writer);
	is($node->safe_psql('postgres', "select count(*) from zheap.zheap_verify('t')"), 0, "$end: no damage");
	$node->safe_psql('postgres', 'update t set n = 0; vacuum t');
}
no_crash_in_log($node, 'meanwhile');
$node->stop;
done_testing();
