# Tables that are rewritten again and again among random changes: each old snapshot, here and on a standby, goes on to see what it saw when it
# was taken, and replay gives the same pages.  Rows are narrow, wide and stored out of line; fillfactors differ; changes are rolled back, to
# savepoints too, rows are locked, deleted, moved, made anew.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

seed();
my $rounds = short() ? 4 : 6;
my @tables = qw(whole half);
my $primary = new_server('rewritten', [ "wal_consistency_checking = 'all, zheap'", 'autovacuum = off',
		'shared_buffers = 16MB', 'max_wal_size = 2GB', 'max_prepared_transactions = 4' ], allows_streaming => 1);
$primary->safe_psql('postgres', <<'SQL');
create function long(length int, salt text) returns text language sql as $$ select left(string_agg(md5(salt || g), ''), length) from generate_series(1, length / 32 + 1) g $$;
create table whole (id int primary key, n int, k int, v text) using zheap with (fillfactor = 100);
create table half (id int primary key, n int, k int, v text) using zheap with (fillfactor = 50);
SQL
foreach my $table (@tables)
{
	$primary->safe_psql('postgres', <<"SQL");
alter table $table alter v set storage external;
create index ${table}_k on $table (k);
insert into $table select g, 0, g % 50, case g % 10 when 0 then long(1500, g::text) when 1 then long(3000, g::text) when 2 then null else 'v' end from generate_series(1, 300) g;
SQL
}
$primary->safe_psql('postgres', "select pg_create_physical_replication_slot('s')");
my $standby = new_standby($primary, 'standby', 'max_standby_streaming_delay = 600s', 'hot_standby_feedback = on', 'primary_slot_name = s');

sub pick
{
	return $_[ int(rand @_) ];
}

# Rows of a table: about a twentieth, or a few beside each other.
sub some
{
	my $i = 1 + int(rand 330);

	return pick("id % 20 = " . $i % 20, "id between $i and $i + " . int(rand 30), "id = $i");
}

sub change
{
	my ($table) = @_;
	my $where = some();
	my $salt = int(rand 1e6);

	return pick(
		qq{update $table set n = n + 1 where $where},
		qq{update $table set n = n + 1 where $where},
		qq{do 'begin for i in 1..40 loop update $table set n = n + 1 where id % 30 = 7; end loop; end'},
		qq{update $table set k = (k + 7) % 50 where $where},
		qq{update $table set v = long(1 + id * $salt % 2500, '$salt' || id) where $where},
		qq{update $table set v = long(2500 + $salt % 300, '$salt' || id) where $where},
		qq{update $table set v = 'short', n = n - 1 where $where},
		qq{update $table set id = id where $where},
		qq{delete from $table where $where},
		qq{insert into $table select g, $salt, g % 50, 'new' from generate_series(1, 330) g where g % 7 = $salt % 7 on conflict (id) do update set n = $table.n + 1},
		qq{merge into $table t using (select g from generate_series($salt % 300, $salt % 300 + 20) g) s on t.id = g when matched and n % 2 = 0 then delete when matched then update set n = n + 1, v = null when not matched then insert values (g, 1, 1, 'merged')},
		qq{select count(*) from (select from $table where $where for } . pick('update', 'key share', 'share', 'no key update') . ') l');
}

sub transaction
{
	my ($table) = @_;
	my @parts;

	for (1 .. 1 + int(rand 4))
	{
		push @parts, rand() < 0.3 ? ('savepoint a', change($table), change($table), pick('rollback to a', 'release a')) : change($table);
	}
	return join('; ', 'begin', @parts, rand() < 0.2 ? 'rollback' : 'commit');
}

# What a session sees, by a scan and by each index; locks are given back, for a rewrite not to wait.
sub seen_by
{
	my ($session) = @_;
	my @seen;

	foreach my $table (@tables)
	{
		foreach my $scan ([ 'on', 'true', 'id' ], [ 'off', 'id > -10', 'id' ], [ 'off', 'k > -10', 'k' ])
		{
			my ($seq, $where, $order) = @$scan;

			$session->query_safe("savepoint look; set local enable_seqscan = $seq; set local enable_bitmapscan = $seq; set local enable_sort = $seq");
			push @seen, $session->query_safe(qq{select count(*), md5(string_agg(t::text, '|' order by id)) from (select * from $table where $where order by $order) t});
			$session->query_safe('rollback to look');
		}
		push @seen, "$table differs by index" if $seen[-1] ne $seen[-2] || $seen[-2] ne $seen[-3];
	}
	return "@seen";
}

my @old;
sub take_snapshot
{
	my ($node, $name, $isolation) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("begin isolation level $isolation; select 1 from pg_am");
	push @old, { session => $session, name => $name, seen => seen_by($session) };
	return;
}

sub look_back
{
	my ($when) = @_;
	my @wrong = map { $_->{name} } grep { seen_by($_->{session}) ne $_->{seen} } @old;

	is("@wrong", '', "$when: what " . @old . ' old snapshots see');
	return;
}

sub digests
{
	my ($node) = @_;

	return join(' ', map { table_digest($node, $_) } @tables);
}

foreach my $round (1 .. $rounds)
{
	foreach my $table (@tables)
	{
		$primary->safe_psql('postgres', transaction($table)) for 1 .. 8;
	}
	if ($round % 3 == 1)
	{
		caught_up($primary, $standby);
		take_snapshot($primary, "primary's $round", pick('repeatable read', 'serializable'));
		take_snapshot($standby, "standby's $round", 'repeatable read');
		foreach my $table (@tables)
		{
			$primary->safe_psql('postgres', transaction($table)) for 1 .. 8;
		}
	}
	if ($round == 2)
	{
		$primary->safe_psql('postgres', "begin; create table pause (id int) using zheap; prepare transaction 'in doubt'");
	}
	foreach my $table (@tables)
	{
		my $now = table_digest($primary, $table);
		my $pages = $primary->safe_psql('postgres', qq{select pg_relation_size('$table') / 8192});
		my $rewrite = pick(qq{vacuum full $table}, qq{cluster $table using ${table}_pkey}, qq{cluster $table using ${table}_k},
			'begin; ' . change($table) . qq{; savepoint b; cluster $table using ${table}_pkey; } . change($table) . '; rollback to b; rollback',
			'begin; savepoint b; ' . change($table) . qq{; cluster $table using ${table}_pkey; release b; savepoint c; } . change($table) . '; rollback to c; commit');

		$primary->safe_psql('postgres', $rewrite);
		next if $rewrite =~ /begin/;
		my $after = $primary->safe_psql('postgres', qq{select pg_relation_size('$table') / 8192});
		cmp_ok($after, '<=', $pages, "round $round: $rewrite") if $table eq 'whole';
		is(table_digest($primary, $table), $now, "round $round: rows after $rewrite");
	}
	caught_up($primary, $standby);
	look_back("round $round, rewritten");
	$primary->safe_psql('postgres', join('; ', 'begin', (map { change($_), change($_) } @tables), 'rollback'));
	$primary->safe_psql('postgres', "vacuum $_") foreach @tables;
	caught_up($primary, $standby);
	look_back("round $round, changes rolled back, VACUUM");
	is(digests($standby), digests($primary), "round $round: the standby's tables");
	if ($round == $rounds / 2)
	{
		# what the standby needs is told to the slot's file
		$primary->safe_psql('postgres', 'checkpoint');
		$primary->safe_psql('postgres', transaction($_)) foreach @tables;
		crash($primary);
		$_->{session}->{run}->kill_kill foreach grep { $_->{name} =~ /^primary/ } @old;
		@old = grep { $_->{name} !~ /^primary/ } @old;
		start_again($primary);
		$primary->poll_query_until('postgres', 'select count(*) = 1 from pg_stat_replication');
		caught_up($primary, $standby);
		look_back('after a crash');
	}
}
$primary->safe_psql('postgres', "rollback prepared 'in doubt'");
btrees_agree($primary, 'at the end', map { ("${_}_pkey", "${_}_k") } @tables);
unlike(slurp_file($standby->logfile), qr/inconsistent page found|PANIC/, 'no page differs');
$_->{session}->quit foreach @old;
$standby->stop;
$primary->stop;
no_crash_in_log($_, 'to the end') foreach $primary, $standby;
done_testing();
