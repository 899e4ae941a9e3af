# VACUUM FULL and CLUSTER beside an old snapshot never make a table larger, whatever was done to its rows since, and keep what all
# snapshots see, after a crash as well.  A rewrite for which toasting turns out differently succeeds.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $turns = short() ? 2000 : 6000;
my $node = new_server('rewrite', [ 'autovacuum = off', 'shared_buffers = 64MB', 'max_wal_size = 2GB', 'max_prepared_transactions = 2' ]);

sub sql
{
	my ($statements) = @_;

	return $node->safe_psql('postgres', $statements);
}

sub pages
{
	my ($table) = @_;

	return sql("select pg_relation_size('$table') / 8192");
}

# What a session's snapshot sees, by a scan and by the index.  The savepoint gives the table's lock back, for a rewrite not to wait.
sub seen_by
{
	my ($session, $table) = @_;
	my @seen;

	foreach my $scan (qw(on off))
	{
		$session->query_safe("savepoint look; set local enable_seqscan = $scan; set local enable_bitmapscan = off");
		push @seen, $session->query_safe("select count(*), md5(string_agg(t::text, '|' order by id)) from $table t where id > -10");
		$session->query_safe('rollback to look');
	}
	return "@seen";
}

# ---- shapes ----

# Of each: the table's rows, and what transaction number i does.
my %shapes = (
	each_row_once => [ "select g, 0, 'v' from generate_series(1, $turns) g", 'update %1$s set n = n + 1 where id = i' ],
	each_row_often => [ "select g, 0, 'v' from generate_series(1, $turns / 20) g", "update %1\$s set n = n + 1 where id = i %% ($turns / 20) + 1" ],
	one_hot_row => [ "select g, 0, 'v' from generate_series(1, 300) g", 'update %1$s set n = n + 1 where id = 150' ],
	long_rows => [ "select g, 0, repeat('v', 1500) from generate_series(1, $turns / 10) g", "update %1\$s set n = n + 1, v = repeat(chr(97 + i %% 26), 1500) where id = i %% ($turns / 10) + 1" ],
	longer_rows => [ "select g, 0, 'v' from generate_series(1, $turns / 10) g", "update %1\$s set v = repeat(chr(97 + i %% 26), i %% 300) where id = i %% ($turns / 10) + 1" ],
	deleted_rows => [ "select g, 0, repeat('v', 200) from generate_series(1, $turns + 300) g", 'delete from %1$s where id = i' ],
	queue => [ "select g, 0, repeat('v', 200) from generate_series(1, 20) g", 'insert into %1$s values (i + 20, 0, repeat(chr(97 + i %% 26), 200)); delete from %1$s where id = i' ],
	moved_rows => [ "select g, 0, repeat('v', 200) from generate_series(1, 40) g", 'update %1$s set k = k + 1, n = n + 1 where id = i %% 40 + 1' ],
	new_rows => [ "select g, 0, 'v' from generate_series(1, 20) g", "insert into %1\$s select 100 * i + g, 0, 'n' from generate_series(1, i %% 4) g" ]);

foreach my $shape (sort keys %shapes)
{
	my ($rows, $change) = @{ $shapes{$shape} };

	$change = sprintf($change, $shape);
	sql(<<"SQL");
create table $shape (id int primary key, n int, v text, k int default 0) using zheap;
create index ${shape}_k on $shape (k);
insert into $shape $rows;
create procedure ${shape}_turns(first int, last int) language plpgsql as \$\$
begin
	for i in first..last loop
		$change;
		commit;
	end loop;
end \$\$;
SQL
}

my %old = map { $_ => $node->background_psql('postgres') } qw(first middle);
my (%seen, %now);
sub look_back
{
	my ($when) = @_;

	foreach my $which (sort keys %old)
	{
		my @wrong = grep { seen_by($old{$which}, $_) ne $seen{$which}{$_} } sort keys %shapes;

		is("@wrong", '', "the $which snapshot sees what it saw $when");
	}
	my @wrong = grep { table_digest($node, $_) ne $now{$_} } sort keys %shapes;
	is("@wrong", '', "a new snapshot sees all $when");
	return;
}

sub take_snapshot
{
	my ($which) = @_;

	$old{$which}->query_safe('begin isolation level repeatable read; select 1 from pg_am');
	$seen{$which}{$_} = seen_by($old{$which}, $_) foreach sort keys %shapes;
	return;
}

take_snapshot('first');
sql("call ${_}_turns(1, $turns / 2)") foreach sort keys %shapes;
take_snapshot('middle');
sql("call ${_}_turns($turns / 2 + 1, $turns)") foreach sort keys %shapes;
$now{$_} = table_digest($node, $_) foreach keys %shapes;


# ---- the size ----

my %size = map { $_ => pages($_) } keys %shapes;
foreach my $rewrite ('vacuum full %1$s', 'cluster %1$s using %1$s_pkey', 'cluster %1$s using %1$s_k', 'vacuum full %1$s')
{
	my @larger;

	foreach my $shape (sort keys %shapes)
	{
		sql(sprintf($rewrite, $shape));
		push @larger, "$shape: $size{$shape} pages, then " . pages($shape) if pages($shape) > $size{$shape};
	}
	my $what = sprintf($rewrite, 'table');
	is(join('; ', @larger), '', "$what: no table becomes larger");
	look_back("after $what");
}

# ---- changes of the new file ----

sql("begin; update $_ set n = n + 1; delete from $_ where id % 3 = 0; rollback") foreach keys %shapes;
look_back('after changes that are rolled back');
sql("begin; savepoint a; update $_ set v = 'aborted'; rollback to a; update $_ set n = n + 1 where id % 2 = 0; delete from $_ where id % 7 = 0; commit") foreach keys %shapes;
$now{$_} = table_digest($node, $_) foreach keys %shapes;
look_back('after more changes');
sql("begin; update $_ set n = n + 1 where id % 5 = 0; cluster $_ using ${_}_pkey; savepoint a; update $_ set n = n + 1000; rollback to a; update $_ set n = n + 1 where id % 5 = 1; commit") foreach keys %shapes;
$now{$_} = table_digest($node, $_) foreach keys %shapes;
look_back('after a rewrite among changes of one transaction');

# ---- a crash ----

# keeps the old versions in use
sql("begin; create table pause (id int) using zheap; prepare transaction 'holds the horizon back'");
sql("update $_ set n = n + 1 where id % 11 = 0; vacuum full $_; begin; update $_ set n = -1; rollback") foreach keys %shapes;
$now{$_} = table_digest($node, $_) foreach keys %shapes;
crash($node);
$_->{run}->kill_kill foreach values %old;
%old = ();
start_again($node);
look_back('after a crash');
sql("update $_ set n = n + 1; vacuum $_") foreach keys %shapes;
btrees_agree($node, 'after a crash', map { ("${_}_pkey", "${_}_k") } sort keys %shapes);
sql("rollback prepared 'holds the horizon back'");
$now{$_} = table_digest($node, $_) foreach keys %shapes;
sql("vacuum full $_") foreach keys %shapes;
look_back('when nothing is old any more');

# ---- toasting turns out differently ----

# Values of about a page, that had been stored out of line, come into their rows.  Two of them differ by more than an undo record holds.
sql(<<'SQL');
create table toasted (id int primary key, n int, v text) using zheap;
alter table toasted alter v set storage external;
create function value(length int, salt text) returns text language sql as $$ select left(string_agg(md5(salt || g), ''), length) from generate_series(1, 300) g $$;
insert into toasted select g, 0, value(g, 'first') from generate_series(7972, 8052) g;
SQL
my $rows = sql('select count(*) from toasted');
my @salts = qw(next last);
%shapes = (toasted => []);
%seen = ();
foreach my $which (qw(first middle))
{
	$old{$which} = $node->background_psql('postgres');
	take_snapshot($which);
	sql($_) foreach 'update toasted set n = n + 1 where id % 3 = 0', "update toasted set v = value(id, '" . shift(@salts) . "'), n = n + 1", 'update toasted set n = n + 1 where id % 2 = 0';
}
sql('delete from toasted where id % 5 = 0; alter table toasted alter v set storage main');
$now{toasted} = table_digest($node, 'toasted');
look_back('before it is rewritten');
my ($rc, $out, $err) = $node->psql('postgres', 'vacuum (full, verbose) toasted');
is($rc, 0, 'a table whose versions differ by more than an undo record holds is rewritten') or diag($err);
my ($kept) = $err =~ /found \d+ removable, (\d+) nonremovable row versions/;
cmp_ok($kept, '>', $rows, 'some of its rows become two');
look_back('after that');
sql("begin; update toasted set v = 'aborted'; rollback; cluster toasted using toasted_pkey");
look_back('and once more');
sql("update toasted set n = n + 1 where id % 2 = 0; update toasted set v = value(id - 100, 'new') where id % 3 = 0");
$now{toasted} = table_digest($node, 'toasted');
look_back('and after changes');
btrees_agree($node, 'then', 'toasted_pkey');
$_->quit foreach values %old;
%old = ();
sql('vacuum full toasted');
look_back('when nothing is old any more');

# A row that becomes three, of two updates of one transaction: each part leads on to the next.
sql("create table twice (id int primary key, v text) using zheap; alter table twice alter v set storage external; insert into twice values (1, value(8050, 'first'))");
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("begin isolation level repeatable read; savepoint look; select count(*) from twice; rollback to look");
sql("begin; update twice set v = value(8050, 'next'); update twice set v = value(8050, 'last'); commit; alter table twice alter v set storage main; vacuum full twice");
$session->query_safe("savepoint look; set local statement_timeout = '300s'; declare c cursor for select * from twice; fetch c");
$session->query('update twice set id = id where current of c');
like($session->{stderr}, qr/could not serialize access due to concurrent update/, 'the way from an old version leads to the newest');
$session->{stderr} = '';
$session->query_safe('rollback');
$session->quit;
is(sql("update twice set id = id returning v = value(8050, 'last')"), 't', 'which is right');

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
