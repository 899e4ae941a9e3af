# pg_upgrade --check refuses a new cluster that does not preload the library, with the hint, and accepts one that does: the upgrade would fail half-way.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
my $old = new_server('old', [ 'autovacuum = off' ]);
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;

$old->safe_psql('postgres', 'create table t (id int primary key) using zheap; insert into t values (1)');
$old->stop;

# Returns whether the clusters are compatible, and what is said.
sub check
{
	my $cwd = PostgreSQL::Test::Utils::tempdir();

	chdir $cwd or die $!;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'pg_upgrade', '--check', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
			'-s', $new->host, '-p', $old->port, '-P', $new->port ], '>', \$out, '2>', \$err);
	chdir $FindBin::RealBin;
	return ($ok, $out . $err . join('', map { slurp_file($_) } glob($new->data_dir . '/pg_upgrade_output.d/*/loadable_libraries.txt')));
}

$new->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
my ($ok, $said) = check();
ok(!$ok, 'a new cluster without the library is refused');
like($said, qr/could not load library "[^"]*zheap": ERROR:  zheap must be loaded by "shared_preload_libraries".*HINT:  .*new cluster before the upgrade/s, 'with the hint');
$new->append_conf('postgresql.conf', "shared_preload_libraries = 'zheap'\n");
($ok, $said) = check();
ok($ok, 'one with the library is accepted');
like($said, qr/Clusters are compatible/, 'which is said');
# nothing else is refused because of it
$new->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$new->start;
is($new->safe_psql('postgres', "load 'zheap'; select 1"), '1', 'LOAD on a server that runs for its users');
$new->stop;
done_testing();
