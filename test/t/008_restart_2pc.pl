# Prepared transactions survive clean restarts and crashes: unseen, their rows locked, then committed or rolled back.
# Waiting sessions go on with the right version; undo of a prepared transaction stays while it is in doubt.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $node = new_server('twophase', [ 'max_prepared_transactions = 10', 'shared_buffers = 16MB' ]);
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
create index on t (n);
insert into t select g, g, 'old ' || g from generate_series(1, 2000) g;
SQL
my $state = "select count(*), sum(n), md5(string_agg(t::text, ',' order by id)) from t";
my $old = $node->safe_psql('postgres', $state);

sub restart
{
	my ($how) = @_;

	if ($how eq 'crash')
	{
		crash($node);
		start_again($node);
	}
	else
	{
		$node->stop($how);
		$node->start;
	}
	return;
}

sub by_index
{
	return $node->safe_psql('postgres',
		'set enable_seqscan = off; set enable_bitmapscan = off; select count(v), sum(n) from t where n between -100000 and 100000');
}

# others that push the undo along
sub load
{
	my ($times) = @_;

	$node->safe_psql('postgres', <<"SQL");
do \$\$
begin
	for i in 1..$times loop
		update t set v = v where id > 1500;
		commit;
		update t set v = 'undone' where id > 1500;
		rollback;
	end loop;
end \$\$;
SQL
	return;
}

foreach my $how (qw(fast immediate crash))
{
	foreach my $outcome (qw(commit rollback))
	{
		my $what = "$how, $outcome";
		$node->safe_psql('postgres', <<'SQL');
begin;
update t set v = 'prepared ' || id where id between 1 and 300;
update t set n = n + 10000 where id between 200 and 400;
delete from t where id between 401 and 450;
savepoint s;
update t set v = 'undone' where id <= 1000;
rollback to s;
insert into t select g, g, 'prepared' from generate_series(5001, 5100) g;
prepare transaction 'a';
begin; update t set v = 'b' where id between 451 and 460; prepare transaction 'b';
SQL
		is($node->safe_psql('postgres', $state), $old, "$what: unseen before the restart");
		load(20);
		restart($how);
		is($node->safe_psql('postgres', $state), $old, "$what: unseen after the restart");
		is(by_index(), join('|', (split /\|/, $old)[ 0, 1 ]), "$what: nor by the index");
		load(20);
		my ($rc, $out, $err) = $node->psql('postgres', "set lock_timeout = '100ms'; update t set v = 'x' where id = 1");
		like($err, qr/lock timeout/, "$what: an updated row is locked");
		($rc, $out, $err) = $node->psql('postgres', "set lock_timeout = '100ms'; delete from t where id = 410");
		like($err, qr/lock timeout/, "$what: a deleted row is locked");
		($rc, $out, $err) = $node->psql('postgres', "set lock_timeout = '100ms'; insert into t values (5001, 1, 'x')");
		like($err, qr/lock timeout/, "$what: an inserted key is taken");
		is($node->psql('postgres', "update t set v = v where id = 1000"), 0, "$what: another row of the table is free");
		$node->safe_psql('postgres', 'vacuum t');
		is($node->safe_psql('postgres', $state), $old, "$what: unseen after vacuum");

		# sessions that wait for the end
		my @waiting;
		foreach my $sql ("update t set v = v || ' waited' where id = 250 returning n, v",
			'delete from t where id = 420 returning id',
			"insert into t values (5050, 1, 'waited') returning id")
		{
			my $session = $node->background_psql('postgres', on_error_stop => 0);
			$session->query_until(qr/started/, "\\echo started\n$sql;\n");
			push @waiting, $session;
		}
		$node->poll_query_until('postgres',
			"select count(*) = 3 from pg_stat_activity where wait_event_type = 'Lock'");
		$node->safe_psql('postgres', "$outcome prepared 'a'");
		my @answers = map { $_->query('select 1'); $_->{stdout} } ();
		my @errors;
		foreach my $session (@waiting)
		{
			$session->query('select 1');
			push @answers, $session->{stdout};
			push @errors, $session->{stderr};
			$session->quit;
		}
		if ($outcome eq 'commit')
		{
			is($node->safe_psql('postgres', 'select n, v from t where id = 250'), '10250|prepared 250 waited',
				"$what: the update built on the committed row");
			is($node->safe_psql('postgres', 'select v from t where id = 5050'), 'prepared',
				"$what: the insert of the committed key failed");
			is($node->safe_psql('postgres', "select count(*) from t where v like 'prepared%'"), '400',
				"$what: all of it is there");
		}
		else
		{
			is($node->safe_psql('postgres', 'select n, v from t where id = 250'), '250|old 250 waited',
				"$what: the update built on the old row");
			is($node->safe_psql('postgres', 'select v from t where id = 5050'), 'waited',
				"$what: the insert of the free key succeeded");
			is($node->safe_psql('postgres', "select count(*) from t where v like 'prepared%'"), '0',
				"$what: nothing of it is there");
		}
		is($node->safe_psql('postgres', 'select count(*) from t where id = 420'), '0', "$what: the deleted row is gone");
		restart($how);
		is($node->safe_psql('postgres', "select count(*) from t where v = 'b'"), '0', "$what: the other is still in doubt");
		$node->safe_psql('postgres', "commit prepared 'b'");
		is($node->safe_psql('postgres', "select count(*) from t where v = 'b'"), '10', "$what: and then committed");
		wait_undone($node, "$what: rolled back");
		btrees_agree($node, $what, 't_pkey', 't_n_idx');
		$node->safe_psql('postgres',
			"truncate t; insert into t select g, g, 'old ' || g from generate_series(1, 2000) g");
	}
}

# a restart in between does not let a later transaction take over rows or keys
$node->safe_psql('postgres', "begin; update t set v = 'first' where id = 1; prepare transaction 'c'");
restart('fast');
$node->safe_psql('postgres', "begin; update t set v = 'second' where id = 2; prepare transaction 'd'");
restart('crash');
$node->safe_psql('postgres', "rollback prepared 'c'; update t set v = v || ' then' where id = 1; commit prepared 'd'; update t set v = v || ' then' where id = 2");
is($node->safe_psql('postgres', 'select v from t where id <= 2 order by id'), "old 1 then\nsecond then", 'ended in another order');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
