# Rows that change columns of hash, GiST and SP-GiST indexes, as a standby sees them: each of its snapshots, old and new, finds by each index
# the rows that a scan of the table finds, once, with the same values and in the order of distances; also after it was promoted.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

seed();
my $node = new_server('primary', [ 'autovacuum = off', 'max_wal_size = 1GB', "wal_consistency_checking = 'all, zheap'" ], allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
create table r (id int primary key, h int, p point, c circle, s point, g int4range, t text) using zheap with (fillfactor = 70);
insert into r select x, x % 5, point(x, 0), circle(point(x, 0), 1), point(x, 0), int4range(x, x + 1), 't' || x from generate_series(1, 300) x;
create index r_h on r using hash (h); create index r_p on r using gist (p); create index r_c on r using gist (c);
create index r_s on r using spgist (s); create index r_g on r using gist (g); create index r_t on r using spgist (t);
select pg_create_physical_replication_slot('s');
SQL
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = -1', 'hot_standby_feedback = on', 'primary_slot_name = s');

# queries, and whether the order of their rows is part of the answer
my @queries = (
	(map { [ "select id, h from r where h = $_", 0 ] } 0 .. 4),
	[ "select id, p::text from r where p <@ box '(0,-1e9),(1e9,1e9)'", 0 ],
	[ "select id, s::text from r where s <@ box '(0,-1e9),(1e9,1e9)'", 0 ],
	[ "select id, p::text from r where p <@ box '(0,-5),(200,5)'", 0 ],
	[ "select id, s::text from r where s <@ box '(0,-5),(200,5)'", 0 ],
	[ "select id, c::text from r where c && circle '((150,0),60)'", 0 ],
	[ "select id, g from r where g && int4range(50, 2000)", 0 ],
	[ "select g from r where g && int4range(0, 100000000)", 0 ],
	[ "select t from r where t ^@ 't1'", 0 ],
	[ "select p[0], p[1] from r where p <@ box '(0,-1e9),(1e9,1e9)'", 0 ],
	[ "select p <-> point '(100,50)' from r order by p <-> point '(100,50)'", 1 ],
	[ "select s <-> point '(100,50)' from r order by s <-> point '(100,50)'", 1 ],
	[ "select c <-> point '(100,50)' from r order by c <-> point '(100,50)' limit 50", 1 ]);

# What the session's snapshot sees: the rows of a scan of the table, and which queries answer otherwise by index or bitmap.
sub look
{
	my ($session) = @_;
	my @wrong;

	foreach my $query (@queries)
	{
		my ($sql, $ordered) = @$query;
		my %answer;

		foreach my $way (qw(seq index bitmap))
		{
			next if $way eq 'bitmap' && $ordered;
			my @set = map { "set enable_${_}scan = " . ($way eq $_ || $way eq 'index' && $_ eq 'indexonly' ? 'on' : 'off') } qw(seq index indexonly bitmap);
			my @rows = split /\n/, $session->query_safe(join('; ', @set, $sql));

			$answer{$way} = join("\n", $ordered ? @rows : sort @rows);
			push @wrong, "$sql by $way" if $answer{$way} ne $answer{seq};
		}
	}
	is(join("\n", @wrong), '', 'by each index as by a scan of the table');
	return $session->query_safe('set enable_seqscan = on; select count(*), md5(string_agg(r::text, \' \' order by id)) from r');
}

sub change
{
	my $id = 'id % 7 = ' . int(rand 7);
	my $y = int(rand 40) - 20;
	my @changes = (
		"update r set p = point(id, $y), s = point(id, -($y)) where $id",
		"update r set h = (h + 1) % 5, c = circle(point(id, $y), 1) where $id",
		"update r set g = int4range(id + 1000 * abs($y), id + 1000 * abs($y) + 1), t = 't' || $y || '.' || id where $id",
		"update r set p = point(id, 1 - p[1]), s = point(id, 1 - s[1]), g = int4range(id, id + 1), t = 't' || id where $id",
		"update r set h = h, id = id where $id",
		"delete from r where $id and id % 5 = 1",
		"insert into r select x, x % 5, point(x, $y), circle(point(x, $y), 1), point(x, $y), int4range(x, x + 1), 't' || x from generate_series(1, 300, 6) x on conflict do nothing");

	return join('; ', 'begin', (map { $changes[ int(rand @changes) ] } 1 .. 3), rand() < 0.2 ? 'rollback' : 'commit');
}

my @old;
foreach my $round (1 .. short() ? 6 : 15)
{
	$node->safe_psql('postgres', change()) foreach 1 .. 5;
	$node->safe_psql('postgres', 'vacuum r') if $round % 3 == 0;
	$node->safe_psql('postgres', 'reindex index r_p; reindex index r_s; reindex index r_h') if $round % 5 == 0;
	# scans mark the entries of dead rows
	my $primary = session($node);
	my $now = look($primary);
	$primary->quit;
	caught_up($node, $standby);

	my $reader = session($standby);
	$reader->query_safe('begin isolation level repeatable read');
	is(look($reader), $now, "round $round: the standby sees what the primary sees");
	push @old, [ $reader, $now ];
	is(look($_->[0]), $_->[1], "round $round: an old snapshot sees what it saw") foreach @old;
	shift(@old)->[0]->quit if @old > 2;
}
is($node->safe_psql('postgres', q{select count(*) from zheap.zheap_verify('r')}), '0', 'verified');
cmp_ok($node->safe_psql('postgres', q{select updated_several_keys from zheap.zheap_stat_tables where relname = 'r'}), '>', 0, 'rows have had several keys');

$node->stop;
$standby->promote;
is(look($_->[0]), $_->[1], 'promoted: an old snapshot sees what it saw') foreach @old;
my $last = session($standby);
is(look($last), $old[-1][1], 'promoted: a new one sees the same as the last');
$standby->safe_psql('postgres', change()) foreach 1 .. 5;
look($last);
is(look($_->[0]), $_->[1], 'changed: an old snapshot sees what it saw') foreach @old;
$_->quit foreach $last, map { $_->[0] } @old;
no_crash_in_log($_, 'to the end') foreach $node, $standby;
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page differs');
done_testing();
