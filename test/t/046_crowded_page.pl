# A full page with a single slot and very many records, beside an old snapshot: what transactions in progress are deleting keeps its
# space, though not all of it can be looked up under the page's lock; copies of the page from before go on to show what they have shown.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('crowded', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 1' ]);

sub sql
{
	return $node->safe_psql('postgres', join(";\n", @_));
}

# A table of one page without room for another row.  Returns how many it has.
sub full_page
{
	my ($table, $pad) = @_;

	sql(<<"SQL", "vacuum $table", "analyze $table");
create table $table (id int, n int, pad text) using zheap;
do \$\$
begin
	for i in 1 .. 1000 loop
		insert into $table values (i, 0, repeat(chr(97 + i % 26), $pad));
		exit when exists (select from $table where ctid >= '(1,0)');
	end loop;
end \$\$;
delete from $table where ctid >= '(1,0)'
SQL
	is(sql("select pg_relation_size('$table')"), '8192', "$table: one page");
	return sql("select max(id) from $table");
}

# An open snapshot of which the tables know nothing.
sub snapshot
{
	my $session = session($node);

	$session->query_safe('begin isolation level repeatable read; select count(*) from pg_am');
	return $session;
}

# ---- deletions that are not known ----

# The page is crowded with deletions of transactions in progress, each under a savepoint of its own: whose they are is told by
# slots that had another owner for each, more than may be read under the page's lock.  Another transaction needs room.  What was deleted must be there again, or for the old
# snapshot, bodies and all.
foreach my $end ('rollback', 'commit')
{
	my $table = "deleted_$end";
	my $rows = full_page($table, 20);
	my $wide = $rows - 1;
	my $old = snapshot();
	my $contents = "select string_agg(id || pad, ' ' order by id) from $table where id <> $wide";

	# room that could be had
	sql("delete from $table where id <= 10");
	my $before = sql($contents);
	my $deleters = 20;
	my @deleters = map { session($node) } 1 .. $deleters;
	foreach my $k (0 .. $#deleters)
	{
		$deleters[$k]->query_safe(<<"SQL");
begin;
do \$\$
begin
	for i in 11 .. $rows - 10 loop
		continue when i % $deleters <> $k;
		begin
			delete from $table where id = i;
		exception when division_by_zero then
		end;
	end loop;
end \$\$
SQL
	}
	cmp_ok($rows, '>', 150, "$end: rows enough");
	# by TID, without a scan, which would remember what it has learned about the page; in the end the row has moved
	sql("update $table set pad = repeat('W', 20 * $_) where ctid = '(0,$wide)'") foreach 2 .. 12, 20, 40, 80, 120;
	is(sql("select count(*), sum(length(pad)) from $table where id <> $wide"), ($rows - 11) . '|' . 20 * ($rows - 11), "$end: all that is being deleted is there");
	is(sql($contents), $before, "$end: and as it was");
	$_->query_safe($end) foreach @deleters;
	is(sql($contents), $before, 'rollback: all that was deleted is there') if $end eq 'rollback';
	is(sql("select count(*) from $table"), 10, 'commit: the rest is there') if $end eq 'commit';
	is($old->query_safe("select count(*), sum(length(pad)), count(*) filter (where pad <> repeat(chr(97 + id % 26), 20)) from $table"), "$rows|" . 20 * $rows . '|0', "$end: the old snapshot sees all rows");
	my $left = sql($contents);
	sql("update $table set n = n + 1");
	is(sql($contents), $left, "$end: all can be changed");
	is(sql("select rtrim(pad, 'W') || (length(pad) > 20) from $table where id = $wide"), 'true', "$end: the row that grew");
	$old->query_safe('commit');
	$_->quit foreach $old, @deleters;
}

# ---- directories beside older copies of the page ----

my $rows = full_page('copied', 150);
my $before = snapshot();
my $session = session($node);
my $changes = 0;

# What all rows are like now, by id.
sub rows_now
{
	return { map { split /\|/, $_, 2 } split /\n/, $session->query_safe('select id, n, md5(pad) from copied') };
}

sub state_is
{
	my ($state, $what) = @_;
	my $sum = 0;

	$sum += (split /\|/)[0] foreach values %$state;
	is(scalar(keys %$state), $rows, "$what: all rows are there");
	is($sum, $changes, "$what: as changed");
	return;
}

# So many changes of the page, spread over its rows.
sub change
{
	my ($n) = @_;

	$session->query_safe("do \$\$ begin for i in 1 .. $n loop update copied set n = n + 1, pad = repeat(chr(97 + i % 26), 140 + i % 10) where id = i * 7 % $rows + 1; end loop; end \$\$");
	$changes += $n;
	return;
}

# A cursor, which is to see the rows as they are now.
sub cursor
{
	my ($name) = @_;

	$session->query_safe("declare $name cursor for select id, n, md5(pad) from copied");
	return { name => $name, sees => rows_now() };
}

sub fetch
{
	my ($cursor, $n, $what) = @_;
	my @fetched = split /\n/, $session->query_safe("fetch $n from $cursor->{name}");
	my @wrong = grep { my ($id, $row) = split /\|/, $_, 2; ($cursor->{sees}{$id} // '') ne $row || $cursor->{seen}{$id}++ } @fetched;

	cmp_ok(scalar @fetched, '>', 0, "$what: the cursor $cursor->{name} has rows");
	is("@wrong", '', "$what: they are as they were when it was opened");
	return;
}

$session->query_safe('begin');
change(100);
my $first = cursor('a');
fetch($first, 3, 'at first');
change(5_000);
my $second = cursor('b');
fetch($second, 3, 'after 5000 changes');
fetch($first, 3, 'after 5000 changes');

# a scan that itself changes what it reads, a row at a time
$session->query_safe(<<"SQL");
do \$\$
declare
	reading cursor for select id, n from copied;
	was int[] := (select array_agg(n order by id) from copied);
	r record;
begin
	open reading;
	for k in 1 .. $rows loop
		fetch reading into r;
		if r.n <> was[r.id] then
			raise exception 'row % is %, not %', r.id, r.n, was[r.id];
		end if;
		for i in 1 .. 10000 / $rows loop
			update copied set n = n + 1 where id = (r.id + i) % $rows + 1;
		end loop;
	end loop;
	close reading;
end \$\$
SQL
$changes += $rows * int(10_000 / $rows);
state_is(rows_now(), 'after a scan with 10000 changes');
fetch($first, 3, 'after a scan with 10000 changes');
fetch($second, 3, 'after a scan with 10000 changes');

my $kept = rows_now();
my $counted = $changes;
$session->query_safe('savepoint s');
change(3_000);
my $third = cursor('c');
fetch($third, 3, 'under a savepoint');
change(3_000);
fetch($_, 3, 'under a savepoint') foreach $first, $second, $third;
$session->query_safe('rollback to s');
$changes = $counted;
is_deeply(rows_now(), $kept, 'rolled back to the savepoint: the rows are as they were then');
fetch($_, 3, 'rolled back to the savepoint') foreach $first, $second;
# other records where those have been
change(1_000);
state_is(rows_now(), 'changed again');
foreach my $cursor ($first, $second)
{
	fetch($cursor, 'all', 'in the end');
	is(join(' ', sort { $a <=> $b } keys %{ $cursor->{seen} }), join(' ', 1 .. $rows), "the cursor $cursor->{name} has shown each row");
}
$session->query_safe('rollback');
$changes = 0;
state_is(rows_now(), 'rolled back');
is($before->query_safe('select count(*), sum(n), count(*) filter (where pad = repeat(chr(97 + id % 26), 150)) from copied'), "$rows|0|$rows", 'rolled back: the old snapshot sees all rows');
sql('update copied set n = n + 1');
is(sql('select count(*), sum(n), count(*) filter (where pad = repeat(chr(97 + id % 26), 150)) from copied'), "$rows|$rows|$rows", 'rolled back: all rows can be changed');
$before->query_safe('commit');
$_->quit foreach $before, $session;

no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
