# Every block that an operation changes, of tables and of undo, is named by a WAL record: pg_rewind and incremental backups rely on it.
# Files are copied before each operation, compared with those after it block by block, and what differs is looked for in the WAL.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

use constant BLCKSZ => 8192;

# with checksums, as with wal_log_hints, even hints are to be logged
my $node = new_server('blocks', [ 'zheap.max_changed_indexes = 0', 'autovacuum = off', 'shared_buffers = 64MB', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h',
		'zheap.undo_workers = 0', 'wal_keep_size = 1GB', 'max_prepared_transactions = 10' ],
	extra => ['--data-checksums']);
my $rows = 3000;

sub make
{
	$node->safe_psql('postgres', <<"SQL");
drop table if exists t, child;
create table t (id int primary key, k int, v text) using zheap;
create index t_k on t (k);
insert into t select g, g, repeat('v', 60) from generate_series(1, $rows) g;
create table child (id int references t) using zheap;
SQL
	return;
}

# path => file name, of the main forks of all zheap tables and undo, in segments
sub files
{
	my $paths = $node->safe_psql('postgres', "select pg_relation_filepath(c.oid) from pg_class c join pg_am a on a.oid = relam where amname in ('zheap', 'zheap_undo') and relpersistence = 'p'");

	return map { glob $node->data_dir . "/$_ " . $node->data_dir . "/$_.[0-9]" } split /\n/, $paths;
}

sub contents
{
	my ($path) = @_;

	return -e $path ? slurp_file($path) : '';
}

# Blocks that the records name, as "file/block".
sub named_blocks
{
	my ($from, $to) = @_;
	# segments by name, lest it look at one that was made in advance
	my @segments = split /\|/, $node->safe_psql('postgres', "select pg_walfile_name('$from'::pg_lsn + 1), pg_walfile_name('$to')");
	my ($out, $err) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $from, '-e', $to, @segments ]);
	my %named;

	die $err if $err =~ /error/;
	$named{"$1/$2"} = 1 while $out =~ m{rel \d+/\d+/(\d+)(?: fork main)? blk (\d+)}g;
	return \%named;
}

sub all_named
{
	my ($what, @steps) = @_;

	$node->safe_psql('postgres', 'checkpoint');
	my %before = map { $_ => contents($_) } files();
	my $from = $node->lsn('insert');
	foreach my $step (@steps)
	{
		ref $step ? $step->() : $node->safe_psql('postgres', $step);
	}
	$node->safe_psql('postgres', 'checkpoint');
	my $to = $node->lsn('insert');
	# what workers have written since the checkpoint is to be on disk, too
	$node->safe_psql('postgres', "select pg_logical_emit_message(true, 'test', 'flush')");
	my $named = named_blocks($from, $to);
	my ($changed, @missing) = (0);
	foreach my $path (files())
	{
		my $after = contents($path);
		my $before = $before{$path} // '';
		my ($file, $segment) = $path =~ m{/(\d+)(?:\.(\d+))?$};

		foreach my $block (0 .. length($after) / BLCKSZ - 1)
		{
			my $page = substr($after, $block * BLCKSZ, BLCKSZ);

			next if length($before) >= ($block + 1) * BLCKSZ && substr($before, $block * BLCKSZ, BLCKSZ) eq $page;
			next if $page =~ /^\0+$/;
			$changed++;
			my $number = $block + ($segment // 0) * 131072;
			push @missing, "$file/$number" unless $named->{"$file/$number"};
		}
	}
	cmp_ok($changed, '>', 0, "$what: $changed blocks have changed") unless $what =~ /read/;
	is(join(' ', @missing), '', "$what: all of them are named in the WAL");
	return;
}

my @sessions;
sub open_session
{
	my (@statements) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe($_) foreach @statements;
	push @sessions, $session;
	return;
}

sub close_sessions
{
	my ($how) = @_;

	foreach my $session (splice @sessions)
	{
		$session->query_safe($how);
		$session->quit;
	}
	return;
}

my $seq = 'set enable_indexscan = off; set enable_bitmapscan = off;';
my $idx = 'set enable_seqscan = off; set enable_bitmapscan = off;';

make();
all_named('insert', "insert into t select g, g, repeat('n', 60) from generate_series(10001, 11000) g");
all_named('single inserts', "do \$\$ begin for i in 20001..20100 loop insert into t values (i, i, 'one'); commit; end loop; end \$\$");
all_named('copy', "copy t from program 'seq 30001 30500 | sed \"s/.*/&\\t1\\tcopied/\"'");
all_named('insert on conflict', "insert into t select g, g, 'c' from generate_series(2900, 3100) g on conflict (id) do update set v = excluded.v");
all_named('update in place', "update t set v = repeat('u', 60)");
all_named('read after it', "$seq select count(v) from t", "$idx select count(v) from t where id > 0");
all_named('update that moves rows', 'update t set k = k + 1 where id <= 1000');
all_named('update that makes rows longer', "update t set v = repeat('long', 60) where id > 1000 and id < 2000");
all_named('update that makes rows shorter', "update t set v = 's' where id < 2000");
all_named('row locks', map { "begin; select count(*) from (select from t for $_) x; commit" } 'update', 'no key update', 'share', 'key share');
all_named('row locks of several', sub { open_session('begin', "select count(*) from (select from t for $_) x") foreach 'key share', 'share'; close_sessions('commit') });
all_named('foreign keys', 'insert into child select g from generate_series(1, 1000) g', 'update t set v = v || 1 where id <= 1000');
all_named('delete', 'delete from t where id > 10000');
all_named('read of deleted rows', "$seq select count(v) from t", "$idx select count(v) from t where id > 0", "$idx select count(v) from t where k > 0");
all_named('vacuum', 'vacuum (index_cleanup on) t');
all_named('insert into their space', "insert into t select g, g, 'again' from generate_series(10001, 11000) g");

make();
all_named('rolled back', "begin; update t set v = 'x', k = -1; insert into t select -g, g, 'gone' from generate_series(1, 500) g; delete from t where id % 2 = 0; rollback");
all_named('read of rolled back rows', "$seq select count(v) from t", "$idx select count(v) from t where id > 0");
all_named('rolled back by writers', 'update t set v = v || 2 where id % 100 = 0', "insert into t select -g, g, 'n' from generate_series(1, 100) g");
all_named('rolled back by vacuum of the undo relation', 'vacuum zheap.undo');
all_named('rolled back to a savepoint', "begin; savepoint a; update t set v = 'y' where id < 1500; delete from t where id > 2000; rollback to a; update t set v = v || 3 where id < 500; commit", 'vacuum zheap.undo');
all_named('rolled back by vacuum', "begin; update t set v = 'z', k = 0 where id % 3 = 0; rollback", 'vacuum t');
all_named('rolled back by SET TABLESPACE', "begin; update t set v = 'z' where id % 3 = 0; rollback", sub {
		my $dir = PostgreSQL::Test::Utils::tempdir();
		$node->safe_psql('postgres', "create tablespace ts location '$dir'");
		$node->safe_psql('postgres', 'alter table t set tablespace ts; alter table t set tablespace pg_default') });
all_named('prepared', "begin; update t set v = 'p' where id < 1000; delete from t where id > 2500; prepare transaction 'p'");
all_named('rollback prepared', "rollback prepared 'p'", 'vacuum zheap.undo');

# many transactions on few pages: slots are taken over, added, and get a page of their own
make();
all_named('slots', sub { open_session('begin', "update t set v = 'o' || v where id = $_ * 2") foreach 1 .. 45; close_sessions('commit') },
	"do \$\$ begin for i in 1..200 loop update t set v = 'x' || i where id = i; commit; end loop; end \$\$");
# beside an old snapshot: pushed owners, bodies that go to undo
all_named('beside an old snapshot', sub { open_session('begin isolation level repeatable read', 'select count(*) from t') },
	'delete from t where id > 1000',
	"do \$\$ begin for i in 1..300 loop update t set v = i || v where id = i % 50; insert into t values (40000 + i, 0, repeat('q', 60)); delete from t where id = 40000 + i - 1; commit; end loop; end \$\$",
	sub { close_sessions('commit') });
all_named('vacuum and truncation', 'vacuum (index_cleanup on) t');
all_named('undo goes', 'select pg_current_xact_id()', 'vacuum zheap.undo', 'update t set v = v', 'vacuum zheap.undo');
all_named('cluster', 'cluster t using t_k', 'vacuum full t', 'vacuum full zheap.undo', 'alter table t add column x int default 7, alter k type bigint');
all_named('workers', "alter system set zheap.undo_workers = 3; ", 'select pg_reload_conf()', "begin; update t set v = 'w'; rollback", sub { wait_undone($node, 'rolled back by workers') });
$node->stop;
$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums of all pages');
no_crash_in_log($node, 'to the end');
done_testing();
