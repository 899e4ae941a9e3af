# Foreign keys while the referenced rows move: updates of an indexed column and growing rows beside KEY SHARE locks of the children,
# deletes and key updates that have to find those locks.  No child may lose its parent, nothing may deadlock, no row be damaged.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('parents', [ 'zheap.undo_worker_naptime = 10ms' ]);
$node->safe_psql('postgres', <<'SQL');
create table parent (id int primary key, n int, t text) using zheap;
alter table parent alter t set storage plain;
create index parent_n on parent (n);
create table child (id int primary key, p int references parent on delete cascade on update cascade) using zheap;
create index child_p on child (p);
insert into parent select g, g, 'x' from generate_series(1, 30) g;
create function add_child(c int, of int) returns void language plpgsql as $$
begin insert into child values (c, of) on conflict do nothing; exception when foreign_key_violation then null; end $$;
create function rename(a int, b int) returns void language plpgsql as $$
begin update parent set id = b where id = a; exception when unique_violation then null; end $$;
SQL
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/load.sql", <<'SQL');
\set p random(1, 30)
\set k random(1, 100)
\set c random(1, 1000000)
BEGIN;
\if :k <= 40
SELECT add_child(:c, :p);
\elif :k <= 75
UPDATE parent SET n = n + 1 WHERE id = :p;
\elif :k <= 82
UPDATE parent SET t = repeat('z', 1 + :c % 3000) WHERE id = :p;
\elif :k <= 88
DELETE FROM parent WHERE id = :p;
\elif :k <= 94
INSERT INTO parent VALUES (:p, 0, 'x') ON CONFLICT DO NOTHING;
\elif :k <= 97
SELECT rename(:p, 1 + :c % 30);
\else
SELECT * FROM parent WHERE id = :p FOR UPDATE;
\endif
\if :c % 7 = 0
ROLLBACK;
\else
COMMIT;
\endif
SQL
my ($rc, $out, $err) = pgbench_run($node, '-c', 12, '-j', 2, '-T', short() ? 8 : 30, '-f', "$dir/load.sql");
is($rc, 0, 'the load runs') or diag($err);
unlike($err, qr/ERROR/, 'no statement fails') or diag(substr($err, 0, 1000));
for my $scan ('seqscan', 'indexscan')
{
	my $other = $scan eq 'seqscan' ? 'indexscan' : 'seqscan';
	is( $node->safe_psql('postgres', "set enable_bitmapscan = off; set enable_$other = off;
			select count(*) from child c where not exists (select 1 from parent p where p.id = c.p)"),
		0, "no child without its parent, by $scan");
}
cmp_ok($node->safe_psql('postgres', 'select count(*) from parent'), '>', 0, 'there are parents');
btrees_agree($node, "after the load", qw(parent_pkey parent_n child_pkey child_p));

# Rows that leave their page with every update, beside transactions that lock them FOR KEY SHARE and then update them, too.  A lock that comes while the row
# is on its way must not be waited for: its holder may wait already.
$node->safe_psql('postgres', <<'SQL');
create table far (id int primary key, n int, t text) using zheap;
alter table far alter t set storage plain;
create index far_n on far (n);
insert into far select g, 0, repeat('y', 5000) from generate_series(1, 2) g;
SQL
append_to_file("$dir/mover.sql", <<'SQL');
\set p random(1, 2)
UPDATE far SET n = n + 1 WHERE id = :p;
SQL
append_to_file("$dir/sharer.sql", <<'SQL');
\set p random(1, 2)
BEGIN;
SELECT n FROM far WHERE id = :p FOR KEY SHARE;
UPDATE far SET n = n + 1 WHERE id = :p;
COMMIT;
SQL
my $times = short() ? 1000 : 3000;
($rc, $out, $err) = pgbench_run($node, '-c', 6, '-j', 2, '-t', $times, '-f', "$dir/mover.sql", '-f', "$dir/sharer.sql");
is($rc, 0, 'the second load runs') or diag($err);
unlike($err, qr/ERROR/, 'no statement of it fails') or diag(substr($err, 0, 1000));
is($node->safe_psql('postgres', 'select sum(n) from far'), 6 * $times, 'all updates are there');
btrees_agree($node, "after the second load", qw(far_pkey far_n));
no_crash_in_log($node);
$node->stop;
done_testing();
