# Temporary tables: what was rolled back is settled by the session's next statement on one of them and by no other, nor by COMMIT; it
# can be cancelled again and again and still comes to its end, however late.  The memory for their undo has a limit, and is given back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = 400_000;
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

# What is allocated for the session, in MB; the C library keeps some of what is freed.
sub allocated
{
	return answer('select sum(total_bytes) / 1048576.0 from pg_backend_memory_contexts');
}

$node->safe_psql('postgres', 'create table other (id int) using zheap; insert into other values (1)');
answer("create temp table t (id int, n int) using zheap; insert into t select g, 0 from generate_series(1, $rows) g; select count(*) from other");
my $sum = 'select count(*), sum(n) from t';
my $sums = answer($sum);
my $scan = cost($sum);

# Which blocks of temporary tables does a statement look at?
sub local_blocks
{
	my ($sql) = @_;

	return answer("explain (analyze, buffers, costs off, timing off, summary off) $sql") =~ /Buffers:.*(local .*)/ ? $1 : 'none';
}

# ---- who pays ----

answer('begin; update t set n = n + 1');
my $changes = cost('update t set n = n + 1');
cmp_ok($changes, '>=', 20, "many changes (a pass takes $changes ticks)");
cmp_ok(cost('rollback'), '<=', 3, 'to roll them back takes no time');
cmp_ok(cost('select count(*) from other'), '<=', 3, 'a statement on another table does not pay for it');
is($session->{answer}, '1', 'and has its result');
is(local_blocks('select count(*) from other'), 'none', 'nor looks at any block of it');
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

# very many savepoints
my $loop = q{do $$ begin for i in 1..%d loop begin update t set n = n + 1 where id = i; insert into t values (-i, i); raise exception ''; exception when raise_exception then null; end; end loop; end $$};
answer('create index on t (id)');
my %savepoints = map { $_ => cost('begin; ' . sprintf($loop, $_)) + cost('commit') + cost($sum) } (1000, 10_000);
is($session->{answer}, $sums, 'rolled back to 10,000 savepoints');
cmp_ok($savepoints{10_000}, '<=', 20 * $savepoints{1000} + 200, "work is in proportion to them ($savepoints{1000}, $savepoints{10_000} ticks)");

# ---- cancelled, it goes on from there ----

answer('begin; update t set n = n + 1; update t set n = n + 1; rollback');
answer("set statement_timeout = '40ms'");
my ($cancelled, $spent) = (0, 0);
do
{
	$spent += cost('select 1 from t limit 1');
} while ($session->{answer} =~ /canceling statement/ && ++$cancelled && $spent < 20 * $changes);
is($session->{answer}, '1', "settled after $cancelled statements that were cancelled ($spent ticks)");
answer('reset statement_timeout');
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
my $held = allocated();
answer('rollback');
cmp_ok($held - allocated(), '>=', 30, 'undo of a table that the transaction has made is given back at once');

# undo that nobody can ask for any more
foreach my $end ('drop table %s', 'truncate %s', 'discard temp', 'discard all')
{
	answer("set zheap.temp_undo_max_size = '64MB'; create temp table gone (like wide including storage) using zheap; insert into gone select * from wide");
	answer('begin; do $$ begin for i in 1..8 loop update gone set v = repeat(md5(v || i), 200); end loop; end $$');
	answer('rollback');
	$held = allocated();
	my $statement = sprintf($end, 'gone');
	answer($statement);
	cmp_ok($held - allocated(), '>=', 30, "after a rollback, $statement gives the memory back");
	answer('drop table gone') if $end =~ /truncate/;
	answer('create temp table wide (id int primary key, v text) using zheap; alter table wide alter v set storage plain; insert into wide select g, repeat(md5(g::text), 200) from generate_series(1, 1000) g') if $end =~ /discard/;
}
like($node->psql('postgres', 'create role nobody; set role nobody; set zheap.temp_undo_max_size = -1') . '', qr/3/, 'only a superuser sets the limit');

$session->quit;

# ---- after so long a time that the commit log has forgotten the transactions ----

my %late = map { $_ => session($node) } qw(commit rollback);
foreach my $how (sort keys %late)
{
	$late{$how}->query_safe(<<"SQL");
create temp table f (id int, n int) using zheap;
insert into f select g, 0 from generate_series(1, 20000) g;
begin;
update f set n = n + 1 where id <= 100;
savepoint a;
update f set n = n + 10;
rollback to a;
savepoint b;
update f set n = n + 100 where id > 19900;
release b;
savepoint c;
savepoint d;
update f set n = n + 1000 where id between 50 and 60;
release d;
rollback to c;
delete from f where id = 1000;
$how;
SQL
}
# 1,048,576 of them share a file of the commit log
$node->safe_psql('postgres', 'create temp table used () using heap; do $$ begin for i in 1..1100 loop for j in 1..1000 loop begin insert into used default values; exception when others then null; end; end loop; commit; end loop; end $$');
my $oldest = $node->data_dir . '/pg_xact/0000';
ok(-e $oldest, 'the commit log is whole');
foreach my $db (qw(template0 template1 postgres))
{
	$node->safe_psql('postgres', "update pg_database set datallowconn = true where datname = '$db'");
	$node->safe_psql($db, 'vacuum freeze');
}
for (1 .. 20)
{
	$node->safe_psql('postgres', 'select pg_current_xact_id(); vacuum zheap.undo');
	last unless -e $oldest;
}
ok(!-e $oldest, 'the commit log has been cut');
my $look = 'select count(*), sum(n), count(*) filter (where n = 1 and id <= 100), count(*) filter (where n = 100 and id > 19900) from f';
is($late{commit}->query_safe($look), '19999|10100|100|100', 'a commit, with savepoints, is known after a long time');
is($late{rollback}->query_safe($look), '20000|0|0|0', 'so is a rollback');
$_->quit foreach values %late;

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
