# What a standby does with transaction slots that change hands on one full page, while its readers are there.
# A slot that putting back sets free tells readers that are too old; readers and replay never wait for each other in a circle.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

# nobody but the statements below puts anything back
my $primary = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 1' ],
	allows_streaming => 1);
my $fill = <<'SQL';
create table TABLE (id int primary key, n int, pad text) using zheap;
do $$
begin
	for i in 1 .. 1000 loop
		insert into TABLE values (i, 0, repeat('p', 16));
		exit when exists (select from TABLE where ctid >= '(1,0)');
	end loop;
end $$;
delete from TABLE where ctid >= '(1,0)';
SQL
# the row takes what is left of the page, too little for another slot
$primary->safe_psql('postgres', $fill =~ s/TABLE/$_/gr) foreach qw(crowd push);

# room enough for transactions that tell standbys nothing
$primary->safe_psql('postgres', 'set zheap.initial_slots = 16; create table other (n int) using zheap; insert into other values (0)');

my $standby = new_standby($primary, 'standby', 'hot_standby_feedback = off', 'max_standby_streaming_delay = 0');
caught_up($primary, $standby);

# 1. A slot that was pushed and comes back once its first owner is visible to all of the primary, but not of the standby.
my $old = $standby->background_psql('postgres', on_error_stop => 0);
caught_up($primary, $standby);
$old->query_safe('begin isolation level repeatable read');
is($old->query_safe('select sum(n) from push'), '0', 'the old snapshot of the standby');
my $writer = $primary->background_psql('postgres');
my $hold = $primary->background_psql('postgres');
$hold->query_safe('begin isolation level repeatable read; select 1');
$writer->query_safe('update push set n = 1 where id = 1');
$writer->query_safe('begin; update push set n = 1000 where id = 2; rollback');
$hold->query_safe('commit');
$hold->quit;
# the horizon moves on, which the WAL does not tell yet
$writer->query_safe('insert into other values (1)'), usleep(100_000) for 1 .. 3;
$writer->query_safe('update push set n = 1 where id = 3');
$writer->quit;
caught_up($primary, $standby);
my $now = eval { $old->query_safe('select sum(n) from push') };
ok(!defined $now || $now eq '0', 'keeps its view, or ends') or diag("sum is $now");
eval { $old->quit };
is($standby->safe_psql('postgres', 'select sum(n) from push'), '2', 'a new snapshot');

# 2. Slots on the overflow page: holders keep those of the table page.
my @holders;
foreach my $id (1 .. 6)
{
	my $holder = $primary->background_psql('postgres');
	$holder->query_safe("begin; update crowd set n = 1 where id = $id");
	push @holders, $holder;
}
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/undone.sql", "\\set id random(10, 100)\nbegin; update crowd set n = 1 where id = :id; rollback;\n");
append_to_file("$dir/read.sql", "\\set id random(1, 100)\nselect n from crowd where id = :id;\nselect sum(n) from crowd;\n");
my $readers = pgbench_start($standby, '-c', 6, '-T', 3600, '-f', "$dir/read.sql");
my ($rc, $out, $err) = pgbench_run($primary, '-c', 2, '-T', short() ? 5 : 15, '-f', "$dir/undone.sql");
is($rc, 0, 'load on the primary') or diag($err);
caught_up($primary, $standby);
pass('replay is not stuck behind readers');
pgbench_stop($readers);
is($standby->safe_psql('postgres', 'select sum(n) from crowd'), '0', 'nobody has committed');
$_->query_safe('rollback'), $_->quit foreach @holders;
$standby->stop;
$primary->stop;
no_crash_in_log($standby, 'standby');
no_crash_in_log($primary, 'primary');
done_testing();
