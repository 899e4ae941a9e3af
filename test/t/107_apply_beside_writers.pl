# The apply worker of a subscriber finds rows by their values while sessions there change and lock them: as on a heap table it waits for
# a version that is about to be replaced, and changes no row that is another by then.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $from = new_server('from', ['autovacuum = off'], allows_streaming => 'logical');
my $to = new_server('to', [ 'autovacuum = off', 'wal_retrieve_retry_interval = 100ms' ], allows_streaming => 'logical');
my @methods = qw(heap zheap);

foreach my $am (@methods)
{
	$_->safe_psql('postgres', "create table t_$am (a int, b text, c text) using $am") foreach $from, $to;
	$from->safe_psql('postgres', "alter table t_$am replica identity full");
	$to->safe_psql('postgres', "alter table t_$am replica identity full");
}
$from->safe_psql('postgres', 'create publication p for table ' . join(', ', map { "t_$_" } @methods));
$to->safe_psql('postgres', "create subscription s connection '" . $from->connstr . " dbname=postgres application_name=s' publication p");
$to->wait_for_subscription_sync($from, 's');

sub there { return $to->safe_psql('postgres', "select string_agg(concat_ws(',', a, b, c), ' ' order by a, b, c) from t_$_[0]"); }

# The rows are as given on both sides.  A session of the subscriber does "before" in a transaction; the publisher does its change, for which
# the worker waits; the session does "after", which ends the transaction.  Returns the subscriber's rows.
sub beside
{
	my ($am, $rows, $before, $change, $after) = @_;
	my $session;

	$from->safe_psql('postgres', "delete from t_$am; insert into t_$am values $rows");
	$from->wait_for_catchup('s');
	$session = session($to);
	$session->query_safe("begin; $_") foreach map { s/\bt\b/t_$am/gr } $before;
	$from->safe_psql('postgres', $change =~ s/\bt\b/t_$am/gr);
	ok(wait_until(sub { $to->safe_psql('postgres', "select count(*) from pg_stat_activity where backend_type like 'logical replication%worker' and wait_event_type = 'Lock'") > 0 }),
		"$am: the worker waits: $before; $change");
	$session->query_safe($after =~ s/\bt\b/t_$am/gr);
	$session->quit;
	$from->wait_for_catchup('s');
	return there($am);
}

my @cases = (
	# rows, before, change, after
	[ "(1, 'x', '')", "update t set b = 'local' where a = 1", "update t set b = 'y' where a = 1", 'rollback' ],
	[ "(1, 'x', '')", "update t set b = 'local' where a = 1", "update t set b = 'y' where a = 1", 'commit' ],
	[ "(1, 'x', '')", "update t set b = 'local' where a = 1", 'delete from t where a = 1', 'rollback' ],
	[ "(1, 'x', '')", "update t set b = repeat('local', 500) where a = 1", "update t set b = 'y' where a = 1", 'rollback' ],
	[ "(1, 'x', '')", 'delete from t where a = 1', "update t set b = 'y' where a = 1", 'rollback' ],
	[ "(1, 'x', '')", "update t set b = 'one'; savepoint s; update t set b = 'two'; update t set b = 'three'; rollback to s; update t set b = 'four'", 'delete from t where a = 1', 'rollback' ],
	# the version that it looks for is between two of the transaction
	[ "(1, 'x', '')", "update t set b = 'x', c = 'z'; update t set c = ''; savepoint s; update t set c = 'q'", 'delete from t where a = 1', 'rollback to s; commit' ],
	# two rows alike
	[ "(1, 'x', ''), (1, 'x', '')", "update t set b = 'local' where ctid = (select min(ctid) from t)", "delete from t where ctid = (select min(ctid) from t)", 'rollback' ],
	# locked, then changed
	[ "(1, 'x', '')", 'select 1 from t for update', 'delete from t where a = 1', "update t set b = 'local'; commit" ],
	[ "(1, 'x', '')", 'select 1 from t for update', "update t set b = 'y' where a = 1", "update t set b = 'local'; commit" ],
	[ "(1, 'x', '')", 'select 1 from t for update', "update t set b = 'y' where a = 1", "update t set b = 'local'; update t set b = 'x'; commit" ],
	[ "(1, 'x', '')", 'select 1 from t for update', "update t set b = 'y' where a = 1", 'commit' ],
	[ "(1, 'x', '')", 'select 1 from t for update', "update t set b = 'y' where a = 1", 'delete from t; commit' ]);

foreach my $case (@cases)
{
	my ($heap, $zheap) = map { beside($_, @$case) } @methods;

	is($zheap, $heap, "$case->[1]; $case->[2]; $case->[3]: the subscriber has the same rows");
	$_->safe_psql('postgres', 'truncate ' . join(', ', map { "t_$_" } @methods)) foreach $from;
	$from->wait_for_catchup('s');
	$to->safe_psql('postgres', 'truncate ' . join(', ', map { "t_$_" } @methods));
}
# a row that was another by then is not locked, though the worker's transaction goes on
foreach my $am (@methods)
{
	my ($writer, $holder) = (session($to), session($to));

	$from->safe_psql('postgres', "insert into t_$am values (1, 'x', ''), (2, 'u', '')");
	$from->wait_for_catchup('s');
	$writer->query_safe("begin; select 1 from t_$am where a = 1 for update");
	$holder->query_safe("begin; update t_$am set c = 'held' where a = 2");
	$from->safe_psql('postgres', "begin; update t_$am set b = 'y' where a = 1; update t_$am set b = 'v' where a = 2; commit");
	wait_until(sub { $to->safe_psql('postgres', "select count(*) from pg_stat_activity where backend_type like 'logical replication%worker' and wait_event_type = 'Lock'") > 0 }) or die;
	$writer->query_safe("update t_$am set b = 'local' where a = 1; commit");
	$holder->query_safe("update t_$am set c = 'q' where a = 1; commit");
	is($to->safe_psql('postgres', "select c from t_$am where a = 1"), 'q', "$am: others may change it at once");
	$_->quit foreach $writer, $holder;
	$from->wait_for_catchup('s');
}

# a trigger of the subscriber changes the row that the worker has locked: heap refuses to go on with what is another version by then
$to->safe_psql('postgres', 'create table by_trigger as select true as works; ' . join('; ', map { "alter table t_$_ alter c set storage plain" } @methods));
foreach my $change (
	[ 'update', "update t set b = 'y' where a = 5", 'update public.t set c = c || 1 where a = old.a' ],
	[ 'update', "update t set b = 'y' where a = 5", "update public.t set c = repeat('long', 1000) where a = old.a" ],
	[ 'update', "update t set b = 'y' where a = 5", 'delete from public.t where a = old.a' ],
	[ 'delete', 'delete from t where a = 5', 'update public.t set c = c || 1 where a = old.a' ],
	[ 'delete', 'delete from t where a = 5', 'delete from public.t where a = old.a' ])
{
	my ($kind, $sql, $by_trigger) = @$change;

	foreach my $am (@methods)
	{
		my $size = -s $to->logfile;

		$from->safe_psql('postgres', "delete from t_$am");
		$from->wait_for_catchup('s');
		# a page that has no room for a long value
		$to->safe_psql('postgres', "truncate t_$am; insert into t_$am values (0, '', repeat('f', 5000))");
		$from->safe_psql('postgres', "insert into t_$am values (5, 'x', '')");
		$from->wait_for_catchup('s');
		is($to->safe_psql('postgres', "begin; $by_trigger returning ctid; rollback" =~ s/public\.t\b/t_$am/r =~ s/old\.a/5/r), '(1,1)', "$am: the row has to move") if $by_trigger =~ /long/;
		$to->safe_psql('postgres', <<"SQL" =~ s/\bt\b/t_$am/gr);
create or replace function change_again() returns trigger language plpgsql as \$\$
begin
	begin
		$by_trigger;
		raise division_by_zero;
	exception when division_by_zero then
	end;
	if (select works from public.by_trigger) then
		$by_trigger;
	end if;
	return coalesce(new, old);
end\$\$;
create trigger again before $kind on t for each row when (pg_trigger_depth() = 0) execute function change_again();
alter table t enable always trigger again
SQL
		$from->safe_psql('postgres', $sql =~ s/\bt\b/t_$am/gr);
		ok($to->wait_for_log(qr/ERROR:  attempted to $kind invisible tuple/, $size), "$am: $kind, and in a trigger: $by_trigger");
		# what a savepoint took back does not count
		$to->safe_psql('postgres', "update by_trigger set works = false");
		$from->wait_for_catchup('s');
		is($to->safe_psql('postgres', "select concat_ws(',', a, b, c) from t_$am where a = 5"), $kind eq 'delete' ? '' : '5,y,', "$am: what was rolled back does not matter");
		$to->safe_psql('postgres', "update by_trigger set works = true; drop trigger again on t_$am");
	}
}
no_crash_in_log($_, 'to the end') foreach $from, $to;
done_testing();
