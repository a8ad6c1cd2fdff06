/* Faults at system calls, for tests: loaded before the C library (LD_PRELOAD), armed by the test itself.
 *
 * Counts the calls that change files below one folder and, at the n-th of them, kills the process, writes half
 * and kills it, or fails with an error. It can also set the clock that the process sees.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { COUNT, KILL, TORN, FULL, BROKEN, READONLY };

static char root[PATH_MAX];
static long at, seen, shift;
static int kind, armed;

void fault_arm(const char *folder, long number, int what) {
    strncpy(root, folder, sizeof root - 1);
    at = number, kind = what, seen = 0, armed = 1;
}
long fault_seen(void) { armed = 0; return seen; }
void fault_clock(long seconds) { shift = seconds; }

static int below(const char *path) { return path && strncmp(path, root, strlen(root)) == 0; }

static int mine(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

/* 0: go on. 1: write half, then die. -1: fail with errno. A full or read-only disk stays so. */
static int strike(int takes_room) {
    seen++;
    if (kind == COUNT || seen < at) return 0;
    if (seen == at && kind == KILL) kill(getpid(), SIGKILL);
    if (seen == at && kind == TORN) { if (takes_room) return 1; kill(getpid(), SIGKILL); }
    if (kind == FULL && takes_room) { errno = ENOSPC; return -1; }
    if (kind == BROKEN && seen == at) { errno = EIO; return -1; }
    if (kind == READONLY) { errno = EROFS; return -1; }
    return 0;
}

#define REAL(name, ret, ...) static ret (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

#define WRITES(fname, offtype)                                                                   \
    ssize_t fname(int fd, const void *data, size_t size, offtype where) {                        \
        REAL(#fname, ssize_t, int, const void *, size_t, offtype);                               \
        if (!armed || !mine(fd)) return real(fd, data, size, where);                             \
        int hit = strike(1);                                                                     \
        if (hit < 0) return -1;                                                                  \
        if (hit > 0) { real(fd, data, size / 2, where); kill(getpid(), SIGKILL); }               \
        return real(fd, data, size, where);                                                      \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
    REAL("write", ssize_t, int, const void *, size_t);
    if (!armed || !mine(fd)) return real(fd, data, size);
    int hit = strike(1);
    if (hit < 0) return -1;
    if (hit > 0) { real(fd, data, size / 2); kill(getpid(), SIGKILL); }
    return real(fd, data, size);
}

#define ON_FD(fname, room)                                              \
    int fname(int fd) {                                                 \
        REAL(#fname, int, int);                                         \
        if (armed && mine(fd) && strike(room)) return -1;               \
        return real(fd);                                                \
    }
ON_FD(fsync, 0)
ON_FD(fdatasync, 0)

#define TRUNCATES(fname, offtype)                                       \
    int fname(int fd, offtype size) {                                   \
        REAL(#fname, int, int, offtype);                                \
        if (armed && mine(fd) && strike(0)) return -1;                  \
        return real(fd, size);                                          \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int unlink(const char *path) {
    REAL("unlink", int, const char *);
    if (armed && below(path) && strike(0)) return -1;
    return real(path);
}

int rename(const char *from, const char *to) {
    REAL("rename", int, const char *, const char *);
    if (armed && below(to) && strike(0)) return -1;
    return real(from, to);
}

int mkdir(const char *path, mode_t mode) {
    REAL("mkdir", int, const char *, mode_t);
    if (armed && below(path) && access(path, F_OK) && strike(1)) return -1;
    return real(path, mode);
}

#define OPENS(fname)                                                                             \
    int fname(const char *path, int flags, ...) {                                                \
        REAL(#fname, int, const char *, int, ...);                                               \
        mode_t mode = 0;                                                                         \
        if (flags & O_CREAT) { va_list more; va_start(more, flags); mode = va_arg(more, int); va_end(more); } \
        if (armed && (flags & O_CREAT) && below(path) && access(path, F_OK) && strike(1)) return -1; \
        return real(path, flags, mode);                                                          \
    }
OPENS(open)
OPENS(open64)

int clock_gettime(clockid_t which, struct timespec *now) {
    REAL("clock_gettime", int, clockid_t, struct timespec *);
    int failed = real(which, now);
    if (!failed && which == CLOCK_REALTIME) now->tv_sec += shift;
    return failed;
}
