# A snapshot's xmin may be the xid of a transaction that runs in another database, from before which VACUUM has removed toasted values
# already.  CREATE INDEX and rewrites keep what that xmin may see, and find that the values of some versions are gone: no snapshot sees
# these, and they are left out.  What a snapshot does see, they keep.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('gone', [ 'autovacuum = off', 'zheap.undo_workers = 0' ]);
$node->safe_psql('postgres', 'create database other');

my %rewrite = (
	'create index' => 'create index on t (left(w, 10))',
	'unique index' => 'create unique index on t (left(w, 10), id)',
	'partial index' => "create index on t (v) where w like 'm%'",
	'brin' => 'create index on t using brin (left(w, 10))',
	'cluster' => 'cluster t using t_pkey',
	'cluster by sorting' => 'create index tw on t (left(w, 10)); set enable_indexscan = off; cluster t using tw',
	'vacuum full' => 'vacuum full t',
	'new type' => 'alter table t alter v type bigint');

sub chunks
{
	my $toast = $node->safe_psql('postgres', "select reltoastrelid::regclass from pg_class where relname = 't'");

	return $node->safe_psql('postgres', "select count(distinct chunk_id) from $toast");
}

foreach my $what (sort keys %rewrite)
{
	$node->safe_psql('postgres', <<'SQL');
drop table if exists t;
create table t (id int primary key, v int, w text) using zheap;
alter table t alter w set storage external;
insert into t select g, 0, repeat('l', 3000) from generate_series(1, 6) g;
SQL
	my $elsewhere = $node->background_psql('other');
	$elsewhere->query_safe('begin; select pg_current_xact_id()');

	# Rows 1 to 3: versions that nobody sees, whose values go.
	$node->safe_psql('postgres', "update t set w = repeat('m', 3000) where id in (1, 2)");
	$node->safe_psql('postgres', "update t set v = 1 where id = 1; delete from t where id = 3");
	$node->safe_psql('postgres', 'vacuum ' . $node->safe_psql('postgres', "select reltoastrelid::regclass from pg_class where relname = 't'"));
	is(chunks(), 5, "$what: values of versions that nobody sees are gone");

	# Rows 4 and 5: versions that a snapshot sees.
	my $reader = session($node);
	my $digest = 'select string_agg(id || left(w, 1) || length(w), chr(32) order by id) from t';
	my $seen = $node->safe_psql('postgres', $digest);
	$reader->query_safe('begin isolation level repeatable read; select 1');
	$node->safe_psql('postgres', "update t set w = repeat('n', 3000) where id = 4; delete from t where id = 5");

	my ($rc, $out, $err) = $node->psql('postgres', $rewrite{$what});
	is($err, '', "$what: succeeds");
	is($node->safe_psql('postgres', $digest), '1m3000 2m3000 4n3000 6l3000', "$what: the rows are right");
	is($reader->query_safe($digest), $seen, "$what: an old snapshot sees what it saw") unless $what eq 'new type';
	$reader->quit;
	$elsewhere->quit;
	is($node->safe_psql('postgres', "set enable_seqscan = off; select count(*) from t where left(w, 10) = 'mmmmmmmmmm'"), 2, "$what: an index finds them");
}
no_crash_in_log($node, 'gone');
$node->stop;
done_testing();
