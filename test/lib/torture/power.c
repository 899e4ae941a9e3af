/*
 * power.c
 *	  A library to preload (LD_PRELOAD) into a server: it records what a failure of the power
 *	  could take back.  power.py does so, once all processes are gone.
 *
 * Each process appends records to a log of its own in $POWER_LOG.  They are written before the
 * change, with the bytes as they were, in whole sectors; that of an fsync when it has succeeded,
 * with the time when it began.  So if a process is killed between record and change, the old
 * bytes are those that the file has.
 *
 * Nothing is really synced: a killed process loses no write, and a disk that is only slow costs
 * the test its time.  An fsync sleeps a little instead, so that others write meanwhile.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECTOR 4096				/* the largest that power.py knows */

/* power.py: RECORD */
typedef struct Record
{
	uint64_t	kind;			/* W(rite), F(sync), T(runcate), U(nlink), C(reate), R(ename) */
	uint64_t	inode;
	uint64_t	time;
	uint64_t	offset;			/* W: where; T: the new length */
	uint64_t	length;			/* W: how many bytes, whole sectors */
	uint64_t	size;			/* of the file before */
	uint64_t	data_length;	/* of what follows: W, T: old bytes; U, C: the path */
} Record;

static const char *directory;

/* Call the function of libc that ours has replaced. */
#define LIBC(type, name, args) \
	static type (*real) args; \
	int			saved_errno = errno; \
	if (real == NULL) \
		real = (type (*) args) dlsym(RTLD_NEXT, name)

__attribute__((constructor))
static void
power_init(void)
{
	const char *value = getenv("POWER_LOG");

	/* the server writes the process's title over its environment */
	directory = value ? strdup(value) : NULL;
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* This process's log; one of its parent's is another's. */
static int
log_file(void)
{
	static int	file = -1;
	static pid_t owner;
	char		path[1024];
	int			opened;

	if (owner == getpid())
		return file;
	if (file >= 0)
		close(file);
	owner = getpid();
	snprintf(path, sizeof(path), "%s/log.%d.%llu", directory, (int) owner,
			 (unsigned long long) now());
	opened = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	/* out of the way of the server's own */
	file = fcntl(opened, F_DUPFD_CLOEXEC, 800);
	close(opened);
	return file;
}

static void
put(Record *record, const void *data)
{
	struct iovec parts[2] = {{record, sizeof(*record)}, {(void *) data, record->data_length}};
	size_t		all = sizeof(*record) + record->data_length;

	record->time = record->time ? record->time : now();
	if (writev(log_file(), parts, 2) != (ssize_t) all)
	{
		perror("cannot record what the power may take back");
		_exit(99);				/* the log must not have gaps */
	}
}

/* A regular file that still has a name. */
static int
is_watched(struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink > 0;
}

/* Bytes of a file, which may be open for writing only. */
static ssize_t
old_bytes(int fd, char **buffer, off_t offset, size_t length)
{
	char		path[64];
	int			readable;
	ssize_t		n;

	*buffer = malloc(length);
	n = *buffer ? pread(fd, *buffer, length, offset) : 0;
	if (n >= 0)
		return n;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	n = pread(readable, *buffer, length, offset);
	close(readable);
	return n < 0 ? 0 : n;
}

static void
note_write(int fd, off_t offset, size_t length)
{
	struct stat st;
	char	   *buffer;
	Record		record = {.kind = 'W'};

	if (directory == NULL || length == 0 || fstat(fd, &st) != 0 || !is_watched(&st))
		return;
	record.inode = st.st_ino;
	record.size = st.st_size;
	record.offset = offset / SECTOR * SECTOR;
	record.length = (offset + length + SECTOR - 1) / SECTOR * SECTOR - record.offset;
	record.data_length = old_bytes(fd, &buffer, record.offset, record.length);
	put(&record, buffer);
	free(buffer);
}

static void
note_truncate(int fd, off_t length)
{
	struct stat st;
	char	   *buffer = NULL;
	Record		record = {.kind = 'T', .offset = length};

	if (directory == NULL || fstat(fd, &st) != 0 || !is_watched(&st))
		return;
	record.inode = st.st_ino;
	record.size = st.st_size;
	if (length < st.st_size)
		record.data_length = old_bytes(fd, &buffer, length, st.st_size - length);
	put(&record, buffer);
	free(buffer);
}

/* The file keeps a name in our directory, by which power.py gives back the one that goes. */
static void
note_unlink(const char *path)
{
	struct stat st;
	char		kept[1024];
	Record		record = {.kind = 'U', .data_length = strlen(path)};

	if (directory == NULL || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return;
	record.inode = st.st_ino;
	snprintf(kept, sizeof(kept), "%s/kept.%llu", directory, (unsigned long long) st.st_ino);
	if (linkat(AT_FDCWD, path, AT_FDCWD, kept, 0) == 0)
		put(&record, path);
}

ssize_t
pwrite(int fd, const void *data, size_t length, off_t offset)
{
	LIBC(ssize_t, "pwrite", (int, const void *, size_t, off_t));
	note_write(fd, offset, length);
	errno = saved_errno;
	return real(fd, data, length, offset);
}

ssize_t
pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
	size_t		length = 0;

	LIBC(ssize_t, "pwritev", (int, const struct iovec *, int, off_t));
	for (int i = 0; i < n; i++)
		length += parts[i].iov_len;
	note_write(fd, offset, length);
	errno = saved_errno;
	return real(fd, parts, n, offset);
}

/* Files that are appended to are the server's log. */
ssize_t
write(int fd, const void *data, size_t length)
{
	off_t		offset;

	LIBC(ssize_t, "write", (int, const void *, size_t));
	if (fd > 2 && (offset = lseek(fd, 0, SEEK_CUR)) >= 0 && !(fcntl(fd, F_GETFL) & O_APPEND))
		note_write(fd, offset, length);
	errno = saved_errno;
	return real(fd, data, length);
}

int
fsync(int fd)
{
	struct stat st;
	Record		record = {.kind = 'F', .time = now()};

	if (directory == NULL)
		return 0;
	if (fstat(fd, &st) != 0)
		return -1;
	record.inode = st.st_ino;
	usleep(record.time / 1000 % 2000);
	put(&record, NULL);
	return 0;
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
	note_truncate(fd, length);
	errno = saved_errno;
	return real(fd, length);
}

int
truncate(const char *path, off_t length)
{
	int			fd = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
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

int
unlink(const char *path)
{
	LIBC(int, "unlink", (const char *));
	note_unlink(path);
	errno = saved_errno;
	return real(path);
}

int
rename(const char *from, const char *to)
{
	Record		record = {.kind = 'R'};
	int			result;

	LIBC(int, "rename", (const char *, const char *));
	note_unlink(to);
	errno = saved_errno;
	result = real(from, to);
	saved_errno = errno;
	if (directory)
		put(&record, NULL);
	errno = saved_errno;
	return result;
}

int
open(const char *path, int flags,...)
{
	struct stat st;
	va_list		args;
	mode_t		mode = 0;
	int			fd,
				is_new;
	Record		record = {.kind = 'C', .data_length = strlen(path)};

	LIBC(int, "open", (const char *, int,...));
	if (flags & O_CREAT)
	{
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	is_new = directory && (flags & O_CREAT) && access(path, F_OK) != 0;
	errno = saved_errno;
	fd = real(path, flags, mode);
	saved_errno = errno;
	if (fd >= 0 && is_new && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		record.inode = st.st_ino;
		put(&record, path);
	}
	errno = saved_errno;
	return fd;
}
