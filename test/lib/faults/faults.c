/*
 * faults.c
 *	  A library to preload (LD_PRELOAD) into a server: calls of the operating system and
 *	  allocations fail at random, as the rules tell that faults.py writes into a file.
 *
 * The file $FAULTS is mapped by all processes, so rules hold at once, and hits are counted
 * there.  The postmaster is spared.  An fsync that does not fail does nothing, so that the test
 * does not wait for the disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RULES 32
#define SMALLEST 1024			/* blocks of the server's contexts, not what libc is lost without */
#define SLOWEST 50000			/* microseconds */

/* faults.py: OPERATIONS */
enum Operation
{
	READ = 1, WRITE, EXTEND, SYNC, TRUNCATE, MEMORY
};

/* faults.py: RULE */
typedef struct Rule
{
	int32_t		operation;		/* 0: none */
	int32_t		error;			/* errno; 0: the call is only slow */
	int32_t		per_million;
	int32_t		process;		/* 0: any */
	uint64_t	hits;
	uint64_t	limit;			/* of hits; 0: none */
	char		path[96];		/* pattern that the file's path must match */
} Rule;

static volatile Rule *rules;
static pid_t postmaster;

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

/* Call the function of libc that ours has replaced. */
#define LIBC(type, name, args) \
	static type (*real) args; \
	if (real == NULL) \
		real = (type (*) args) dlsym(RTLD_NEXT, name)

__attribute__((constructor))
static void
faults_init(void)
{
	const char *path = getenv("FAULTS");
	int			fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void	   *map;

	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(Rule) * RULES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	rules = map == MAP_FAILED ? NULL : map;
	postmaster = getpid();
}

static uint32_t
random_number(void)
{
	static pid_t owner;
	static uint64_t state;
	struct timespec t;

	if (owner != getpid())
	{
		owner = getpid();
		clock_gettime(CLOCK_MONOTONIC, &t);
		state = (t.tv_nsec * UINT64_C(2654435761)) ^ ((uint64_t) owner << 32) ^ 1;
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static int
file_matches(int fd, const char *pattern)
{
	char		link[64],
				path[1024];
	ssize_t		n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return fnmatch(pattern, path, 0) == 0;
}

/* Whether this call fails; errno is set then. */
static int
fails(enum Operation operation, int fd)
{
	int			saved_errno = errno;

	if (rules == NULL || getpid() == postmaster)
		return 0;
	for (volatile Rule *rule = rules; rule < rules + RULES && rule->operation != 0; rule++)
	{
		if (rule->operation != (int32_t) operation ||
			(rule->process != 0 && rule->process != getpid()) ||
			(rule->limit != 0 && rule->hits >= rule->limit) ||
			random_number() % 1000000 >= (uint32_t) rule->per_million ||
			(operation != MEMORY && !file_matches(fd, (const char *) rule->path)))
			continue;
		__atomic_fetch_add(&rule->hits, 1, __ATOMIC_RELAXED);
		if (rule->error == 0)
		{
			usleep(random_number() % SLOWEST);
			continue;
		}
		errno = rule->error;
		return 1;
	}
	errno = saved_errno;
	return 0;
}

ssize_t
pread(int fd, void *data, size_t length, off_t offset)
{
	LIBC(ssize_t, "pread", (int, void *, size_t, off_t));
	return fails(READ, fd) ? -1 : real(fd, data, length, offset);
}

ssize_t
pwrite(int fd, const void *data, size_t length, off_t offset)
{
	struct stat st;

	LIBC(ssize_t, "pwrite", (int, const void *, size_t, off_t));
	if (fails(WRITE, fd))
		return -1;
	if (rules && fstat(fd, &st) == 0 && offset >= st.st_size && fails(EXTEND, fd))
		return -1;
	return real(fd, data, length, offset);
}

int
fsync(int fd)
{
	return fails(SYNC, fd) ? -1 : 0;
}

int
fdatasync(int fd)
{
	return fsync(fd);
}

int
ftruncate(int fd, off_t length)
{
	LIBC(int, "ftruncate", (int, off_t));
	return fails(TRUNCATE, fd) ? -1 : real(fd, length);
}

/* By path, as md.c does with a file that it is about to unlink. */
int
truncate(const char *path, off_t length)
{
	int			fd = open(path, O_RDWR | O_CLOEXEC);
	int			result,
				saved_errno;

	if (fd < 0)
		return -1;
	result = ftruncate(fd, length);
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return result;
}

/*
 * The server takes a snapshot that has memory for transactions, but none for subtransactions, for
 * complete: the next GetSnapshotData() writes to address 0.
 */
static int
is_spared(void *caller)
{
	Dl_info		info;

	return dladdr(caller, &info) && info.dli_sname != NULL && strcmp(info.dli_sname, "GetSnapshotData") == 0;
}

void *
malloc(size_t size)
{
	if (size >= SMALLEST && fails(MEMORY, -1) && !is_spared(__builtin_return_address(0)))
		return NULL;
	return __libc_malloc(size);
}

void *
realloc(void *old, size_t size)
{
	return size >= SMALLEST && fails(MEMORY, -1) ? NULL : __libc_realloc(old, size);
}
