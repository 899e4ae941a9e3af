# Entries that come and go in a range that scans pass by, at each turn another: looks stay cheap, and every snapshot sees what it
# sees without ranges.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $turns = short() ? 100 : 300;
my $plain = 'set enable_seqscan = off; set enable_bitmapscan = off';
my $all = 'select count(*), sum(id), min(k), max(k), string_agg(k::text, \',\' order by n) from (select id, k, row_number() over () n from (select id, k from q where k > 0 order by k %s) x) y';
my $node = new_server('holes', ['autovacuum = off', 'zheap.max_changed_indexes = 100']);

$node->safe_psql('postgres', <<'SQL');
create table q (id int primary key, k int, pad text) using zheap;
create index q_k on q (k);
insert into q select g, g, repeat('x', 50) from generate_series(1, 6000) g;
vacuum analyze q;
SQL

my $old = session($node);
my $new = session($node);

$old->query_safe('begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', 'delete from q where k <= 5000');

sub look
{
	return $new->query_safe("set zheap.skip_dead_entries = on; $plain; select k from q where k > 0 order by k limit 1");
}

# Buffers of a look at the first row.
sub buffers
{
	my ($skip) = @_;
	my $plan = $new->query_safe("set zheap.skip_dead_entries = $skip; $plain; explain (analyze, buffers, timing off, costs off) select k from q where k > 0 order by k limit 1");

	return $plan =~ /Buffers: shared hit=(\d+)/ ? $1 : die $plan;
}

# What the sessions see, with ranges and without, in both directions.
sub same
{
	my ($what, @sessions) = @_;
	my @wrong;

	foreach my $session (@sessions)
	{
		foreach my $direction ('', 'desc')
		{
			my $query = sprintf $all, $direction;
			my $right = $session->query_safe("set zheap.skip_dead_entries = off; $plain; $query");

			foreach (1 .. 3)
			{
				my $got = $session->query_safe("set zheap.skip_dead_entries = on; $plain; $query");

				push @wrong, "$direction: $got, not $right" unless $got eq $right;
			}
		}
	}
	is_deeply(\@wrong, [], $what);
	return;
}

look() foreach 1 .. 4;
my $first = buffers('on');
cmp_ok($first, '<', buffers('off') / 5, 'a range');

# ---- a row comes and goes at each turn, and then the first row is looked at ----
my $sum = 0;
foreach my $turn (1 .. $turns)
{
	my $k = $turn * 7919 % 4900 + 50;

	$node->safe_psql('postgres', "insert into q values ($turn + 10000, $k, 'new')");
	is(look(), $k, "a row is seen, turn $turn") if $turn % 20 == 0;
	$node->safe_psql('postgres', "delete from q where id = $turn + 10000");
	$sum += buffers('on');
}
cmp_ok($sum / $turns, '<', 3 * $first + 20, 'a look takes few buffers: ' . $sum / $turns . " on average, $first before, " . buffers('off') . ' without ranges');
same('afterwards', $new, $old);

# ---- more than there is room for; snapshots from between ----
my @between;
my $id = 20000;
foreach my $round (1 .. 4)
{
	$node->safe_psql('postgres', join ';', map { ++$id; "insert into q values ($id, $_ * 61 + $round, 'many')" } 1 .. 45);
	same("many rows in the range, $round", $new);
	push @between, session($node);
	$between[-1]->query_safe('begin isolation level repeatable read; select 1');
	$node->safe_psql('postgres', join ';', map { my $gone = $id - $_ * 7 % 45; "delete from q where id = $gone" } 1 .. 40);
	look() foreach 1 .. 3;
	same("most of them gone, $round", $new, @between);
}

# ---- a row that a snapshot from between sees, whose place is given to others since ----
$node->safe_psql('postgres', 'delete from q where k <= 5000');
look() foreach 1 .. 4;
$node->safe_psql('postgres', "insert into q values (30000, 2500, 'seen')");
push @between, session($node);
$between[-1]->query_safe('begin isolation level repeatable read; select 1');
$node->safe_psql('postgres', 'delete from q where id = 30000');
look() foreach 1 .. 3;
foreach my $turn (1 .. 70)
{
	$node->safe_psql('postgres', "insert into q values ($turn + 30000, $turn * 31, 'other')");
	$node->safe_psql('postgres', "delete from q where id = $turn + 30000");
	look() foreach 1 .. 2;
}
same('others in its place', $new, @between);

# ---- a row that gets its key again ----
$node->safe_psql('postgres', "insert into q values (40000, 1234, 'again')");
foreach my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'update q set k = 90000 where id = 40000');
	look() foreach 1 .. 3;
	$node->safe_psql('postgres', 'update q set k = 1234 where id = 40000');
	is(look(), 1234, "a row has its key again, $round");
	same("the same, $round", $new, @between);
}
$_->query_safe('commit') foreach $old, @between;
$_->quit foreach $old, @between;
same('without old snapshots', $new);
$node->safe_psql('postgres', 'vacuum q');
same('after VACUUM', $new);
$new->quit;
$node->stop;
done_testing();
