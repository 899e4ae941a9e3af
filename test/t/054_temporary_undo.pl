# Temporary tables: what was rolled back is settled by the session's next statement on one of them and by no other, nor by COMMIT; it
# can be cancelled again and again and still comes to its end.  The memory for their undo has a limit, and is given back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = short() ? 200_000 : 400_000;
my $node = new_server('temporary', [ 'autovacuum = off', 'shared_buffers = 32MB', 'temp_buffers = 8MB' ]);
my $session = session($node);

# Processor time of a statement, in ticks of the clock, 10 ms as a rule; what it prints is in $session->{answer}.
sub cost
{
	my ($sql) = @_;

	return cost_of($session, $sql, 60_000);
}

sub answer
{
	my ($sql) = @_;

	cost($sql);
	return $session->{answer};
}

# Memory of the session's own, in MB.
sub memory
{
	return slurp_file("/proc/$session->{pid}/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 / 1024 : die 'no RssAnon';
}

$node->safe_psql('postgres', 'create table other (id int) using zheap; insert into other values (1)');
answer("create temp table t (id int, n int) using zheap; insert into t select g, 0 from generate_series(1, $rows) g; select count(*) from other");
my $sum = 'select count(*), sum(n) from t';
my $sums = answer($sum);
my $scan = cost($sum);

# ---- who pays ----

answer('begin; update t set n = n + 1');
my $changes = cost('update t set n = n + 1');
cmp_ok($changes, '>=', 20, "many changes (a pass takes $changes ticks)");
cmp_ok(cost('rollback'), '<=', 3, 'to roll them back takes no time');
cmp_ok(cost('select count(*) from other'), '<=', 3, 'a statement on another table does not pay for it');
is($session->{answer}, '1', 'and has its result');
cmp_ok(cost('insert into other values (2); update other set id = id + 1; delete from other where id = 3'), '<=', 3, 'nor do changes of other tables');
my $settled = cost($sum);
is($session->{answer}, $sums, 'the temporary table is as it was before');
cmp_ok($settled, '>', $scan + 6, "its first statement has paid ($settled ticks, a scan takes $scan)");
cmp_ok(cost($sum), '<=', ($settled + $scan) / 2, 'the next one does not');

# a savepoint, and the commit
answer('begin; insert into t values (0, 100); savepoint a; update t set n = n + 1; rollback to a');
cmp_ok(cost('commit'), '<=', 3, 'a commit does not pay for a savepoint');
cmp_ok(cost('select count(*) from other'), '<=', 3, 'nor does a statement on another table');
is(answer($sum), ($rows + 1) . '|100', 'the committed row is there, no more');
is(answer('begin; savepoint a; update t set n = 7 where id < 10; rollback to a; commit; select sum(n) from t'), '100', 'and so it is where the commit does the little there is');
answer('delete from t where id = 0');

# ---- cancelled, it goes on from there ----

answer('begin; update t set n = n + 1; update t set n = n + 1; rollback');
answer("set statement_timeout = '40ms'");
my ($tries, $cancelled) = (0, 0);
for ($tries = 1; $tries <= 2000; $tries++)
{
	last if answer('select 1 from t limit 1') !~ /canceling statement/;
	$cancelled++;
}
answer('reset statement_timeout');
cmp_ok($tries, '<=', 2000, "settled after $cancelled statements that were cancelled");
is(answer($sum), $sums, 'rightly so');

# ---- the limit ----

answer("set zheap.temp_undo_max_size = '64MB'");
answer("create temp table wide (id int primary key, v text) using zheap; alter table wide alter v set storage plain; insert into wide select g, repeat(md5(g::text), 200) from generate_series(1, 1000) g");
my $digest = answer('select md5(string_agg(v, id::text order by id)) from wide');
my $before = memory();
# 1 GB of changes
my $change = q{do $$ begin for i in 1..160 loop update wide set v = repeat(md5(v || i), 200); end loop; end $$};
answer('begin');
like(answer($change), qr/undo of temporary tables would exceed "zheap.temp_undo_max_size" \(65536 kB\)/, 'there is a limit');
my $after = memory();
cmp_ok($after - $before, '<=', 100, "memory is bounded: $before MB, then $after MB");
cmp_ok($after - $before, '>=', 40, 'by the limit');
is(answer('rollback; select count(*) from other'), '1', 'the session goes on');
is(answer('select md5(string_agg(v, id::text order by id)) from wide'), $digest, 'the table is as it was');
cmp_ok(memory() - $before, '<=', 30, 'and the memory has been given back');
answer('begin; savepoint a');
answer($change);
is(answer('rollback to a; select md5(string_agg(v, id::text order by id)) from wide'), $digest, 'so it is after a savepoint');
answer('commit');
is(answer('select md5(string_agg(v, id::text order by id)) from wide'), $digest, 'and its commit');
answer('begin; create temp table mine (like wide including storage) using zheap; insert into mine select * from wide');
answer('do $$ begin for i in 1..8 loop update mine set v = repeat(md5(v || i), 200); end loop; end $$');
my $held = memory();
answer('rollback');
cmp_ok($held - memory(), '>=', 30, 'undo of a table that the transaction has made is given back at once');
like($node->psql('postgres', 'create role nobody; set role nobody; set zheap.temp_undo_max_size = -1') . '', qr/3/, 'only a superuser sets the limit');

$session->quit;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
