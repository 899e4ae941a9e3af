# Rewritten tables: snapshots from before CLUSTER and VACUUM FULL keep their sums under TPC-B; a crash after a rewrite, or
# within one, loses and leaves nothing; a standby's old snapshots see what they saw, or are cancelled, never something else.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rewrites = short() ? 4 : 12;
my $primary = new_server('primary', [ 'shared_buffers = 32MB', 'max_wal_size = 1GB', 'max_prepared_transactions = 5', 'autovacuum = off' ],
	allows_streaming => 1);
pgbench_init($primary, 1);
$primary->safe_psql('postgres', <<'SQL');
create table pause (id int) using zheap;
create table t (id int primary key, k int, v text) using zheap;
alter table t alter column v set storage external;
create index t_k on t (k);
insert into t select g, g % 100, repeat(md5(g::text), case when g % 10 = 0 then 100 else 1 end) from generate_series(1, 5000) g;
create function sums_wrong() returns text language sql as $$
	select format('%s %s %s %s', a, t, b, h)
	from (select (select sum(abalance) from pgbench_accounts) a, (select sum(tbalance) from pgbench_tellers) t,
				 (select sum(bbalance) from pgbench_branches) b, (select coalesce(sum(delta), 0) from pgbench_history) h) s
	where a <> t or a <> b or a <> h
$$;
create procedure check_sums() language plpgsql as $$
declare wrong text := sums_wrong();
begin
	if wrong is not null then
		raise exception 'sums differ: %', wrong;
	end if;
end $$;
SQL

# ---- old snapshots under load ----

my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/reader.sql", <<'SQL');
begin isolation level repeatable read;
select count(*) from pause;
\sleep 100 ms
call check_sums();
commit;
SQL
append_to_file("$scripts/cluster.sql", <<'SQL');
cluster pgbench_tellers using pgbench_tellers_pkey;
\sleep 10 ms
vacuum full pgbench_branches;
\sleep 10 ms
vacuum full pgbench_history;
\sleep 10 ms
cluster pgbench_accounts using pgbench_accounts_pkey;
\sleep 100 ms
SQL
my @tpcb = ('-b', 'tpcb-like@6', '-f', load_script('undone') . '@2', '-f', "$scripts/reader.sql\@2");
my $load = pgbench_start($primary, '-c', 8, '-j', 2, '-T', 3600, @tpcb);
my ($status, $out, $err) = pgbench_run($primary, '-c', 1, '-t', $rewrites, '-f', "$scripts/cluster.sql");
is($status, 0, "tables are rewritten under load, $rewrites times") or diag($err);
($status, $out, $err) = pgbench_stop($load);
is($status, 0, 'sums agree in snapshots from before a rewrite') or diag($err);
sums_agree($primary, 'after the load');
btrees_agree($primary, 'after the load', map { "pgbench_${_}_pkey" } qw(accounts tellers branches));

# ---- crashes ----

# an open transaction keeps old versions wanted
$primary->safe_psql('postgres', <<'SQL');
begin;
insert into pause values (1);
prepare transaction 'holds the horizon back';
SQL
sub change
{
	my ($what) = @_;

	$primary->safe_psql('postgres', <<SQL);
begin;
update t set v = '$what' || left(v, 5) where id % 7 = 0;
update t set k = k + 1000 where id % 11 = 0;
delete from t where id % 13 = length('$what');
update t set v = repeat('$what', 800) where id % 101 = 0;
savepoint a;
update t set v = 'aborted', k = -1 where id < 1000;
rollback to a;
commit;
begin;
update t set v = 'aborted', k = -2 where id > 3000;
insert into t select g, g, 'aborted' from generate_series(10001, 10100) g;
rollback;
SQL
	return;
}
foreach my $rewrite ('vacuum full t', 'cluster t using t_k', 'cluster t using t_pkey')
{
	change('first');
	change('next');
	my $before = table_digest($primary, 't');
	$primary->safe_psql('postgres', $rewrite);
	is(table_digest($primary, 't'), $before, "$rewrite: nothing is lost");
	crash($primary);
	start_again($primary);
	is(table_digest($primary, 't'), $before, "$rewrite: nor by a crash");

	$primary->safe_psql('postgres', "begin; update t set v = 'aborted', k = k + 1; delete from t where id < 100; rollback;");
	is(table_digest($primary, 't'), $before, "$rewrite: nor by rolling back");
	$primary->safe_psql('postgres', 'vacuum t');
	is(table_digest($primary, 't'), $before, "$rewrite: nor by putting rows of the new file back");
}

my $before = table_digest($primary, 't');
my $session = $primary->background_psql('postgres');
$session->query_safe("begin; update t set v = 'lost'; cluster t using t_k; update t set v = v || '!' where id % 2 = 0;");
$primary->safe_psql('postgres', 'checkpoint');
crash($primary);
start_again($primary);
eval { $session->quit };
is(table_digest($primary, 't'), $before, 'a rewrite that the crash undid leaves nothing');
$primary->safe_psql('postgres', 'vacuum full t');
is(table_digest($primary, 't'), $before, 'and can be done again');
$primary->safe_psql('postgres', "rollback prepared 'holds the horizon back'");
$primary->safe_psql('postgres', 'vacuum full');
is(table_digest($primary, 't'), $before, 'the whole database');
wait_undone($primary, 'all is rolled back');
btrees_agree($primary, 'after crashes', 't_pkey', 't_k');

# ---- a standby ----

my $standby = new_standby($primary, 'standby', 'hot_standby_feedback = on', 'max_standby_streaming_delay = 1s');
caught_up($primary, $standby);
my $digest = "select md5(string_agg(x::text, '' order by id)) from t x";
my $old = $standby->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
$old->query_safe('select count(*) from pause');
my $seen = $standby->safe_psql('postgres', $digest);
wait_for_feedback($primary, $standby);
change('standby');
$primary->safe_psql('postgres', 'cluster t using t_k');
caught_up($primary, $standby);
is($old->query_safe($digest), $seen, 'an old snapshot of the standby sees the old versions');
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'a new one the new ones');
$old->quit;

# without feedback the primary forgets what the standby's snapshot needs
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\n");
$standby->reload;
ok($primary->poll_query_until('postgres', 'select backend_xmin is null from pg_stat_replication'), 'no feedback');
my ($old_out, $old_err) = ('', '');
my $victim = IPC::Run::start(
	[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $standby->connstr('postgres'), '-c',
		'begin isolation level repeatable read', '-c', 'select count(*) from pause', '-c', 'select pg_sleep(600)', '-c', $digest ],
	'>', \$old_out, '2>', \$old_err);
ok($standby->poll_query_until('postgres', "select exists (select from pg_stat_activity where query ~ '^select pg_sleep')"), 'a snapshot is held');
# who discards undo tells standbys, too: nobody is to do so meanwhile
set_and_reload($primary, 'zheap.undo_workers = 0');
my $from = $primary->lsn('insert');
change('without');
$primary->safe_psql('postgres', 'vacuum full t');
my ($records) = run_command([ 'pg_waldump', '-p', $primary->data_dir . '/pg_wal', '-s', $from, '-e', $primary->lsn('insert') ]);
# the server's catalogs are a source of conflicts, too
# (unless that opened an extent: recycling one tells of it)
like($records, qr/^rmgr: custom.*UNKNOWN \((90|C0|E0)\)/m, 'the rewrite itself tells standbys what they must not see');
caught_up($primary, $standby);
IPC::Run::finish($victim);
like($old_err, qr/conflict with recovery/, 'an old snapshot of the standby is cancelled');
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'the standby has the same rows');

$standby->stop;
no_crash_in_log($_, $_->name) foreach ($primary, $standby);
$primary->stop;
done_testing();
